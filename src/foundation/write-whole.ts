import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { constants, copyFile, link, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Writes a file under another name and renames it: the file has the old content or the new, never a part, also on a full disk or after a kill. An
 * existing file keeps its owner and permissions, and symbolic links to it stay.
 */
export async function writeWhole(file: string, content: string | Uint8Array): Promise<void> {
  const { target, old } = await targetOf(file)
  if (old && !old.isFile()) return writeFile(target, content)
  await withDraft(target, content, { mode: 0o666, old }, (draft) => rename(draft, target)).catch(
    (error: NodeJS.ErrnoException) => {
      if (old && IN_PLACE.has(String(error.code))) return writeFile(target, content)
      throw error
    },
  )
}

/**
 * Finds the file to replace, so that symbolic links to it stay, and its status if it exists. A pipe or a device, such as /dev/stdout, cannot be
 * replaced, only written to.
 */
export async function targetOf(file: string): Promise<{ readonly target: string; readonly old: Stats | undefined }> {
  const target = await realpath(file).catch(() => file)
  return { target, old: await stat(target).catch(() => undefined) }
}

/** The errors for a file that can be written but not replaced: it is a mount by itself, or its folder is read-only. */
const IN_PLACE: ReadonlySet<string> = new Set(['EBUSY', 'EACCES', 'EPERM', 'EROFS', 'EXDEV'])

/** Writes a new file in the same way. @throws an error with the code EEXIST if the file exists */
export async function createWhole(
  file: string,
  content: string | Uint8Array,
  { mode = 0o666 }: { readonly mode?: number } = {},
): Promise<void> {
  await withDraft(file, content, { mode }, (draft) =>
    link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw error
      // The file system has no hard links.
      return copyFile(draft, file, constants.COPYFILE_EXCL)
    }),
  )
}

interface Kept {
  readonly mode: number
  /** The owner and the permissions that the file keeps. */
  readonly old?: { readonly uid: number; readonly gid: number; readonly mode: number } | undefined
}

async function withDraft(
  file: string,
  content: string | Uint8Array,
  { mode, old }: Kept,
  place: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = join(dirname(file), `.${basename(file)}.${randomUUID()}`)
  try {
    const handle = await open(draft, 'wx', mode)
    try {
      if (old) {
        // Not every user may keep the owner, and not every file system has permissions.
        await handle.chown(old.uid, old.gid).catch(() => {})
        await handle.chmod(old.mode).catch(() => {})
      }
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await place(draft)
  } catch (error) {
    throw ofFile(error, file)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Returns an error of the file system with the file that users know as its path: that of a failed `write` has none. */
export function ofFile(error: unknown, path: string): unknown {
  return error instanceof Error ? Object.assign(error, { path }) : error
}
