import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Watches files, also when an editor replaces them. */
export interface Follower {
  /** Replaces the set of watched files and folders. */
  follow(paths: readonly string[]): void
  close(): void
}

interface FollowerOptions {
  /** Decides whether a change of another file in a watched folder counts. */
  readonly concerns: (path: string) => boolean
  /** Called once for changes that come together. */
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
export function createFollower({ concerns, changed, failed }: FollowerOptions): Follower {
  const watchers = new Map<string, FSWatcher>()
  let files: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined

  const onChange = (folder: string, name: string | null): void => {
    const path = name === null ? undefined : `${folder}/${basename(name)}`
    const isWanted = path === undefined || concerns(path)
    if (!isWanted && !files.has(path) && !files.has(folder)) return
    clearTimeout(timer)
    timer = setTimeout(changed, SETTLE_MS)
  }

  const open = (folder: string): void => {
    try {
      const watcher = watch(folder, (_, name) => onChange(folder, name))
      watcher.on('error', () => forget(folder))
      watchers.set(folder, watcher)
    } catch (error) {
      // The watch on the parent folder reports a folder that is created later.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') failed(error as Error)
    }
  }

  const forget = (folder: string): void => {
    watchers.get(folder)?.close()
    watchers.delete(folder)
  }

  return {
    follow: (paths) => {
      files = new Set(paths)
      const wanted = new Set([...paths.map((path) => dirname(path)), ...paths.filter(isFolder)])
      for (const folder of watchers.keys()) if (!wanted.has(folder)) forget(folder)
      for (const folder of wanted) if (!watchers.has(folder)) open(folder)
    },
    close: () => {
      clearTimeout(timer)
      for (const folder of [...watchers.keys()]) forget(folder)
    },
  }
}

/** Watched files have extensions; a path without one is a folder. */
function isFolder(path: string): boolean {
  return !basename(path).includes('.')
}
