import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach } from '@jest/globals'
import type { AppSpec } from '../../src/config/spec.js'
import type { Connection } from '../../src/db/database.js'
import type { Json } from '../../src/foundation/json.js'
import { specOf as specOfText } from './config.js'
import { openTestDatabase, type TestDatabase } from './database.js'

/** A temporary folder of migrations. */
export interface Folder {
  readonly path: string
  write(name: string, text: string): Promise<void>
  /** @param file its path or name */
  remove(file: string): Promise<void>
  names(): Promise<readonly string[]>
}

const made: string[] = []

afterEach(async () => {
  for (const path of made.splice(0)) await rm(path, { recursive: true })
})

/** Creates a folder with these files. */
export async function makeFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'migrations-'))
  made.push(path)
  const write = (name: string, text: string) => writeFile(join(path, name), text)
  for (const [name, text] of Object.entries(files)) await write(name, text)
  return {
    path,
    write,
    remove: (file) => rm(join(path, basename(file))),
    names: async () => (await readdir(path)).sort(),
  }
}

/** The spec of a configuration with only these models; JSON is YAML. */
export function specOf(models: { readonly [name: string]: Json }, dropped: readonly string[] = []): AppSpec {
  const tables = dropped.length > 0 ? { dropped } : {}
  return specOfText(JSON.stringify({ version: 1, models, ...tables }))
}

/** The tables of the public schema, without the journal. */
export async function tablesOf(database: Connection): Promise<readonly string[]> {
  const text = `select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    and relname not like 'snippetctl%' order by 1`
  return (await database.query({ text, values: [] })).rows.map(([name]) => name ?? '')
}

/** The message of an action that must fail, without the folder's path. */
export async function failureOf(work: Promise<unknown>, folder?: Folder): Promise<string> {
  return work.then(
    () => 'it did not fail',
    (error: Error) => (folder ? error.message.replaceAll(`${folder.path}/`, '') : error.message),
  )
}

/** Opens two empty databases for each test, and closes them afterwards: one to migrate, and one for its plans. */
export function openForEach(): { readonly database: TestDatabase; readonly scratch: TestDatabase } {
  let opened: { readonly database: TestDatabase; readonly scratch: TestDatabase } | undefined
  const current = () => {
    if (!opened) throw new Error('databases are opened for tests only')
    return opened
  }
  beforeEach(async () => {
    opened = { database: await openTestDatabase(''), scratch: await openTestDatabase('') }
  })
  afterEach(async () => {
    await opened?.database.close()
    await opened?.scratch.close()
    opened = undefined
  })
  return {
    get database() {
      return current().database
    },
    get scratch() {
      return current().scratch
    },
  }
}
