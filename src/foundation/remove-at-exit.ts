import { rmSync } from 'node:fs'

const ATTEMPTS = 3

/**
 * Removes a file or folder that no later process needs, at the latest when this process exits.
 * @returns a function that removes it now, and no longer at exit
 */
export function removeAtExit(path: string): () => void {
  const remove = () => {
    process.off('exit', remove)
    removeNow(path, ATTEMPTS)
  }
  process.on('exit', remove)
  return remove
}

/** Threads may still be writing into a folder when the process exits. `maxRetries` waits for them, but leaves what they have added. */
function removeNow(path: string, attempts: number): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 1 })
  } catch (error) {
    if (attempts === 1) throw error
    removeNow(path, attempts - 1)
  }
}
