import { randomUUID } from 'node:crypto'
import { existsSync, openAsBlob } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'

/** The files of an empty database, which take PGlite seconds to make and a fraction of one to load. */
export interface Template {
  /** undefined when none is kept yet. */
  load(): Promise<Blob | undefined>
  /** Keeps the files of an empty database for the next time. */
  keep(pglite: PGlite): Promise<void>
}

/**
 * The template of the installed PGlite. It lies where tools keep what they can make again: `node_modules/.cache`, which is as
 * trustworthy as the code beside it. Its name says which version made it.
 */
export async function findTemplate(): Promise<Template> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const modules = entry.slice(0, entry.lastIndexOf(`node_modules${sep}`) + 'node_modules'.length)
  const manifest = await readFile(join(modules, '@electric-sql', 'pglite', 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { readonly version: string }
  const file = join(modules, '.cache', 'snippetctl', `pglite-${version}.tar`)
  return {
    load: async () => (existsSync(file) ? openAsBlob(file) : undefined),
    async keep(pglite) {
      const dump = await pglite.dumpDataDir('none')
      const own = `${file}.${randomUUID()}`
      await mkdir(dirname(file), { recursive: true })
      await writeFile(own, Buffer.from(await dump.arrayBuffer()))
      // All or nothing: another process may look for it at any moment.
      await rename(own, file)
    },
  }
}
