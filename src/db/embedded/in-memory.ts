import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MemoryFS, PGlite } from '@electric-sql/pglite'
import { moveLargeFiles } from './large-files.js'

interface Entry {
  /** Relative to the folder of the database, with a slash before each name. */
  readonly path: string
  /** Undefined for a folder. */
  readonly bytes: Buffer | undefined
}

/**
 * Copies the files of a database into memory, for PGlite, which discards them when it is closed and creates them without a folder. PostgreSQL opens a dozen
 * files for each new table, which takes a third of the time of a plan if they are on a disk. Only files that become large are moved to one.
 * @throws if the folder cannot be read
 */
export async function filesInMemory(folder?: string): Promise<MemoryFS> {
  const { MemoryFS } = await import('@electric-sql/pglite')
  const entries = folder === undefined ? [] : [{ path: '', bytes: undefined }, ...readEntries(folder, '')]
  return new (class extends MemoryFS {
    #closeLarge = () => {}

    override async initialSyncFs() {
      await super.initialSyncFs()
      const { FS, WASM_PREFIX } = (this.pg as PGlite).Module
      const data = `${WASM_PREFIX}/data`
      for (const { path, bytes } of entries) {
        if (bytes === undefined) FS.mkdir(data + path)
        else FS.writeFile(data + path, bytes, { canOwn: true })
      }
      this.#closeLarge = moveLargeFiles(FS)
    }

    override async closeFs() {
      await super.closeFs()
      this.#closeLarge()
    }
  })()
}

function readEntries(folder: string, path: string): readonly Entry[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry): readonly Entry[] => {
    const [found, name] = [join(folder, entry.name), `${path}/${entry.name}`]
    if (entry.isDirectory()) return [{ path: name, bytes: undefined }, ...readEntries(found, name)]
    return [{ path: name, bytes: readFileSync(found) }]
  })
}
