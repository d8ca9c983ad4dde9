import { rmSync } from 'node:fs'

/**
 * Removes a file or folder that no later process needs, at the latest when this process exits.
 * @returns a function that removes it now, and no longer at exit
 */
export function removeAtExit(path: string): () => void {
  const remove = () => {
    process.off('exit', remove)
    // Threads may still be writing into a folder when the process exits.
    rmSync(path, { recursive: true, force: true, maxRetries: 3 })
  }
  process.on('exit', remove)
  return remove
}
