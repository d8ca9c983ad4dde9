import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { removeAtExit } from '../../foundation/remove-at-exit.js'

/** Part of the name of the kept files; change it with what they contain. */
const FORM = 'small-log'

/** Creates the files of an empty database in a folder that does not exist yet. */
export type MakeFiles = (folder: string) => Promise<void>

/**
 * Puts the files of an empty database into a folder that does not exist yet, all or none. PGlite takes seconds to create them but opens a copy in a
 * fraction of a second, so they are created once and kept.
 * @param folder must not be used by anything else meanwhile
 * @param make creates the files the first time
 */
export async function layOut(folder: string, make: MakeFiles): Promise<void> {
  const unfinished = `${folder}.new`
  // Left by a process that was killed here.
  await rm(unfinished, { recursive: true, force: true })
  const template = await findTemplate(make).catch(() => undefined)
  if (template === undefined) await make(unfinished)
  else copyFolder(template, unfinished)
  await rename(unfinished, folder)
}

/** Copies a folder of files and folders. `cpSync` takes twice as long for the many small files of a database, because it inspects each path again. */
function copyFolder(from: string, to: string): void {
  // As PostgreSQL demands: other users of the machine must not read the data.
  mkdirSync(to, { mode: 0o700 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyFolder(source, target)
    else copyFileSync(source, target)
  }
}

/**
 * Returns the template for the installed PGlite, in `node_modules/.cache`, where tools keep files that they can recreate; it is as trustworthy as the
 * code next to it. Its name includes the version and the form.
 * @throws if there is none and none can be written
 */
export async function findTemplate(make: MakeFiles): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const modules = entry.slice(0, entry.lastIndexOf(`node_modules${sep}`) + 'node_modules'.length)
  const manifest = await readFile(join(modules, '@electric-sql', 'pglite', 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { readonly version: string }
  const template = join(modules, '.cache', 'snippetctl', `pglite-${version}-${FORM}`)
  if (existsSync(template)) return template
  const own = `${template}.${randomUUID()}`
  const remove = removeAtExit(own)
  await mkdir(dirname(template), { recursive: true })
  try {
    await make(own)
    // Another process may have created the same template meanwhile.
    await rename(own, template).catch((error: unknown) => {
      if (!existsSync(template)) throw error
    })
  } finally {
    remove()
  }
  return template
}
