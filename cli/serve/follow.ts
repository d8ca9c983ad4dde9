import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Watches files, wherever editors put the next version of each. */
export interface Follower {
  /** From now on these files and folders, and no others. */
  follow(paths: readonly string[]): void
  close(): void
}

interface Wish {
  /** Asked of every change in a folder with followed files: whether it is worth a look though the file is not followed. */
  readonly concerns: (path: string) => boolean
  /** Told once for changes that come together. */
  readonly changed: () => void
  /** Told of a folder that cannot be watched. */
  readonly failed: (error: Error) => void
}

/** Milliseconds for which an editor may go on writing. */
const PAUSE = 25

/**
 * Follows files by watching the folders they lie in: many editors save by putting a new file in the place of the old one, which who
 * watches the file does not see. Never a tree: the embedded database writes all the time.
 */
export function createFollower({ concerns, changed, failed }: Wish): Follower {
  const watchers = new Map<string, FSWatcher>()
  let files: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined

  const look = (folder: string, name: string | null): void => {
    const path = name === null ? undefined : `${folder}/${basename(name)}`
    const isWanted = path === undefined || concerns(path)
    if (!isWanted && !files.has(path) && !files.has(folder)) return
    clearTimeout(timer)
    timer = setTimeout(changed, PAUSE)
  }

  const open = (folder: string): void => {
    try {
      const watcher = watch(folder, (_, name) => look(folder, name))
      watcher.on('error', () => forget(folder))
      watchers.set(folder, watcher)
    } catch (error) {
      // A folder that is not there yet is seen by whoever looks at the one around it.
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

/** Files have extensions here; whatever has none is followed as a folder. */
const isFolder = (path: string): boolean => !basename(path).includes('.')
