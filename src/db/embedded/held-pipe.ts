import { spawnSync } from 'node:child_process'
import { closeSync, constants, lstatSync, openSync, unlinkSync } from 'node:fs'
import { types } from 'node:util'

/** A named pipe that this process reads until it ends or releases the pipe. */
export interface HeldPipe {
  readonly path: string
  release(): void
}

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/**
 * Creates a named pipe and reads it. The kernel closes it when the process ends, even by a kill -9, and tells every process that can see the file,
 * also those of other containers, where a pid says nothing.
 * @returns undefined if the system or the folder has no named pipes
 */
export function holdPipe(path: string): HeldPipe | undefined {
  if (process.platform === 'win32') return undefined
  // Node.js has no function for this.
  if (spawnSync('mkfifo', ['-m', '600', path], { stdio: 'ignore' }).status !== 0) return undefined
  let file: number
  try {
    file = openSync(path, O_RDONLY | O_NONBLOCK)
  } catch {
    removeFile(path)
    return undefined
  }
  return {
    path,
    release() {
      removeFile(path)
      closeSync(file)
    },
  }
}

/** Whether a process on this machine reads a named pipe; undefined if that cannot be found out. */
export function isHeld(path: string): boolean | undefined {
  try {
    // A copy of the folder may have a plain file in its place.
    if (!lstatSync(path).isFIFO()) return undefined
    closeSync(openSync(path, O_WRONLY | O_NONBLOCK))
    return true
  } catch (error) {
    return isSystemError(error, 'ENXIO') ? false : undefined
  }
}

export function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isSystemError(error, 'ENOENT')) throw error
  }
}

export function isSystemError(error: unknown, code: string): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === code
}
