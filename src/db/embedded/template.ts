import { randomUUID } from 'node:crypto'
import { cpSync, existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'

/** Makes the files of an empty database in a folder that is not there yet. */
export type MakeFiles = (folder: string) => Promise<void>

/**
 * Puts the files of an empty database into a folder that is not there yet, all or none. PGlite takes seconds to make them and a
 * fraction of one to open a copy, so they are made once and kept.
 * @param folder nobody else may be at it meanwhile
 * @param make makes them the first time
 */
export async function layOut(folder: string, make: MakeFiles): Promise<void> {
  const unfinished = `${folder}.new`
  // Of a process that was killed while it was here.
  await rm(unfinished, { recursive: true, force: true })
  const template = await findTemplate(make).catch(() => undefined)
  if (template === undefined) await make(unfinished)
  else cpSync(template, unfinished, { recursive: true })
  await rename(unfinished, folder)
}

/**
 * The template of the installed PGlite. It lies where tools keep what they can make again: `node_modules/.cache`, which is as
 * trustworthy as the code beside it. Its name says which version made it.
 * @throws when there is none and none can be written there
 */
async function findTemplate(make: MakeFiles): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const modules = entry.slice(0, entry.lastIndexOf(`node_modules${sep}`) + 'node_modules'.length)
  const manifest = await readFile(join(modules, '@electric-sql', 'pglite', 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { readonly version: string }
  const template = join(modules, '.cache', 'snippetctl', `pglite-${version}`)
  if (existsSync(template)) return template
  const own = `${template}.${randomUUID()}`
  await mkdir(dirname(template), { recursive: true })
  try {
    await make(own)
    // Another process may have put its own there meanwhile, which is as good.
    await rename(own, template).catch((error: unknown) => {
      if (!existsSync(template)) throw error
    })
  } finally {
    await rm(own, { recursive: true, force: true })
  }
  return template
}
