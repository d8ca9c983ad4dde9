import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import {
  constants,
  copyFile,
  link,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Writes a file under another name and renames it: the file has the old content or the new, never a part, also on a full disk or after a kill. Only a
 * stream, or a file that cannot be replaced, is written in place. An existing file keeps its owner and permissions, and symbolic links to it stay.
 */
export async function writeWhole(file: string, content: string | Uint8Array): Promise<void> {
  await naming(file, async () => {
    const { target, old, isStream } = await targetOf(file)
    if (isStream) return writeFile(file, content, { flag: 'a' })
    await withDraft(target, content, { mode: 0o666, old }, (draft) => rename(draft, target)).catch(
      (error: NodeJS.ErrnoException) => {
        if (old && IN_PLACE.has(String(error.code))) return writeFile(target, content)
        throw error
      },
    )
  })
}

interface Target {
  readonly target: string
  /** Its status; undefined if it does not exist. */
  readonly old: Stats | undefined
  /** Whether it is a pipe, a device, or an open file of a process: it cannot be replaced, only written to. */
  readonly isStream: boolean
}

/** Whether a path is that of the standard output of this process. Opened again, it would have another position, and outputs would overwrite each other. */
export function isStandardOutput(path: string): boolean {
  return /^\/(?:dev\/(?:stdout|fd\/1)|proc\/self\/fd\/1)$/.test(path)
}

/** The paths of open files, such as /dev/stderr. Other programs may write to the same file. */
const OPEN_FILE = /^\/(?:dev\/(?:std(?:in|out|err)|fd\/\d+)|proc\/(?:self|\d+)\/fd\/\d+)$/

/** Finds the file to replace, so that symbolic links to it stay. */
export async function targetOf(file: string): Promise<Target> {
  const target = await realpath(file).catch(() => file)
  const old = await stat(target).catch(() => undefined)
  return { target, old, isStream: OPEN_FILE.test(file) || old?.isFile() === false }
}

/** The errors for a file that can be written but not replaced: it is a mount by itself, or its folder is read-only. */
const IN_PLACE: ReadonlySet<string> = new Set(['EBUSY', 'EACCES', 'EPERM', 'EROFS', 'EXDEV'])

/** Writes a new file in the same way. @throws an error with the code EEXIST if the file exists */
export async function createWhole(
  file: string,
  content: string | Uint8Array,
  { mode = 0o666 }: { readonly mode?: number } = {},
): Promise<void> {
  await naming(file, () =>
    withDraft(file, content, { mode }, (draft) =>
      link(draft, file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') throw error
        // The file system has no hard links.
        return copyFile(draft, file, constants.COPYFILE_EXCL)
      }),
    ),
  )
}

interface DraftOptions {
  /** The permissions of a new file. */
  readonly mode: number
  /** The owner and the permissions that the file keeps. */
  readonly old?: { readonly uid: number; readonly gid: number; readonly mode: number } | undefined
}

async function withDraft(
  file: string,
  content: string | Uint8Array,
  { mode, old }: DraftOptions,
  place: (draft: string) => Promise<void>,
): Promise<void> {
  const folder = dirname(file)
  await removeAbandoned(folder)
  const draft = join(folder, `.${basename(file)}.snippetctl-${randomUUID()}`)
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
  } finally {
    await rm(draft, { force: true })
  }
}

const DRAFT = /^\..+\.snippetctl-[0-9a-f-]{36}$/
/** A process that writes a draft has placed or removed it long before. */
const ABANDONED_AFTER_MS = 60_000

/** Removes the drafts of killed processes from a folder. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!DRAFT.test(name)) continue
    const path = join(folder, name)
    const found = await lstat(path).catch(() => undefined)
    if (found?.isFile() === true && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS)
      await rm(path, { force: true }).catch(() => {})
  }
}

/** Runs `work` and sets the path in its errors to `file`, which users know: a failed write has no path, and other errors have the path of the draft. */
export async function naming<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { path: file }) : error
  }
}
