import { types } from 'node:util'

/** The errors of PGlite's file system that users can do something about, by its own numbers. */
const FILE_ERRORS: ReadonlyMap<unknown, string> = new Map([
  [2, 'permission denied (EACCES)'],
  [19, 'the disk quota is exceeded (EDQUOT)'],
  [22, 'a file would be too large (EFBIG)'],
  [29, 'a disk failed (EIO)'],
  [33, 'too many files are open (EMFILE)'],
  [51, 'no space left on device (ENOSPC)'],
  [63, 'operation not permitted (EPERM)'],
  [69, 'the file system is read-only (EROFS)'],
])

/** Why PGlite failed. Its file system throws objects that are not errors and have no message. */
export function reasonOf(error: unknown): string {
  if (types.isNativeError(error)) return error.message
  const number = typeof error === 'object' && error !== null && 'errno' in error ? error.errno : undefined
  if (number === undefined) return String(error)
  return FILE_ERRORS.get(number) ?? `a file or folder cannot be written (error ${String(number)} of PGlite)`
}
