import { type FSWatcher, lstatSync, realpathSync, statSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Watches files, even if an editor replaces them. */
export interface FileWatcher {
  /** Replaces the set of watched files and folders; has no effect once closed. */
  watch(paths: readonly string[]): void
  close(): void
}

interface FileWatcherOptions {
  /** Whether a change of another file in a watched folder matters. */
  readonly concerns: (path: string) => boolean
  /** Called once for changes in quick succession. */
  readonly changed: () => void
  /** Called for a folder that cannot be watched. */
  readonly failed: (error: Error) => void
}

/** Editors may need several writes for one save. */
const SETTLE_MS = 25

/**
 * Watches files through their folders: many editors save by replacing the file, which a watch on the file itself misses. Never watches
 * recursively, because the embedded database writes all the time.
 */
export function createFileWatcher({ concerns, changed, failed }: FileWatcherOptions): FileWatcher {
  const watchers = new Map<string, { readonly watcher: FSWatcher; readonly identity: string | undefined }>()
  let files: ReadonlySet<string> = new Set()
  let folders: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  /** Whether a path is a watched folder or a folder above one. */
  const leads = (path: string) => [...folders].some((folder) => folder === path || folder.startsWith(`${path}/`))

  const onChange = (folder: string, event: string, name: string | null): void => {
    const path = name === null ? undefined : `${folder}/${basename(name)}`
    const isWanted = path === undefined || concerns(path) || (event === 'rename' && leads(path))
    if (!isWanted && !files.has(path) && !files.has(folder)) return
    clearTimeout(timer)
    timer = setTimeout(changed, SETTLE_MS)
  }

  const open = (folder: string): void => {
    try {
      const watcher = watch(folder, (event, name) => onChange(folder, event, name))
      watcher.on('error', () => forget(folder))
      watchers.set(folder, { watcher, identity: identityOf(folder) })
    } catch (error) {
      // A folder that has just been deleted is watched again after the reload.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') failed(error as Error)
    }
  }

  const forget = (folder: string): void => {
    watchers.get(folder)?.watcher.close()
    watchers.delete(folder)
  }

  return {
    watch: (given) => {
      if (closed) return
      const paths = [...given, ...given.flatMap(targetOf)]
      files = new Set(paths)
      folders = new Set([...paths.map((path) => dirname(path)), ...paths.filter(isFolder)])
      const wanted = new Set([...folders].map(nearest))
      // A watch on a deleted folder does not notice a new folder at its path.
      for (const [folder, { identity }] of watchers)
        if (!wanted.has(folder) || identityOf(folder) !== identity) forget(folder)
      for (const folder of wanted) if (!watchers.has(folder)) open(folder)
    },
    close: () => {
      closed = true
      clearTimeout(timer)
      for (const folder of [...watchers.keys()]) forget(folder)
    },
  }
}

/** The file to which a link leads: a save of that file changes nothing in the folder of the link. */
function targetOf(path: string): readonly string[] {
  try {
    return lstatSync(path).isSymbolicLink() ? [realpathSync(path)] : []
  } catch {
    // A missing file, or a link without a target, is an error of the reload.
    return []
  }
}

/** Watched files have extensions; a path without one is a folder. */
function isFolder(path: string): boolean {
  return !basename(path).includes('.')
}

/** The folder, or the nearest one above it that exists. */
function nearest(folder: string): string {
  return identityOf(folder) === undefined && dirname(folder) !== folder ? nearest(dirname(folder)) : folder
}

/** Identifies the folder at a path: a folder that is created again is another one. Undefined if the path does not exist. */
function identityOf(folder: string): string | undefined {
  const found = statSync(folder, { throwIfNoEntry: false })
  return found && `${found.ino} ${found.birthtimeMs}`
}
