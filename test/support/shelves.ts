import { makeProject, type Outcome, type Project, runInHost } from './cli.js'
import { ddlOf, specOf } from './config.js'
import { envOf, openOnlyOnServer, type TestDatabase } from './database.js'

/** A field of every type, relations, custom keys, and server-set and private fields. */
export const SHELVES = `version: 1
models:
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, min: 1, max: 80, unique: true }
      mentor: { type: belongs_to, model: author, nullable: true }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      author: { type: belongs_to, model: author, nullable: true }
      title: { type: text }
      isbn: { type: string, max: 20, nullable: true, unique: true }
      shelf: { type: string, max: 20, default: A }
      price: { type: decimal, precision: 38, scale: 2, nullable: true }
      weight: { type: float, nullable: true }
      copies: { type: bigint, nullable: true }
      printed: { type: date, nullable: true }
      lent: { type: boolean, default: false }
      state: { type: choice, choices: [draft, published], default: draft }
      extra: { type: json, nullable: true }
      token: { type: uuid, nullable: true }
      remark: { type: text, private: true, default: none }
      created_at: { type: timestamp, auto: on_create }
      updated_at: { type: timestamp, auto: on_update }
    indexes:
      - { fields: [shelf, title], unique: true }
resources:
  book: { model: book, path: /books/ }
  author: { model: author, path: /authors/ }
`

/** A project of SHELVES with its tables, in the kind of database that the tests use. */
export interface Shelves {
  readonly project: Project
  /** Undefined for the embedded database of the project. */
  readonly database: TestDatabase | undefined
  /** Runs the command in the project. */
  run(...args: readonly string[]): Promise<Outcome>
  remove(): Promise<void>
}

/**
 * Creates the project, or one of other models; `embedded` selects an embedded database whatever the tests use. Its commands keep an embedded database
 * open, unless other processes or commands that move its folder use it.
 */
export async function openShelves({ embedded = false, yaml = SHELVES, keep = true } = {}): Promise<Shelves> {
  const migration = `-- up\n\n${ddlOf(specOf(yaml))}`
  const project = await makeProject({ 'resources.yaml': yaml, 'migrations/0001_all.sql': migration })
  const database = embedded ? undefined : await openOnlyOnServer()
  const env = envOf(database)
  const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder, env, keep })
  const { code, stderr } = await run('migrate', 'up')
  if (code !== 0) throw new Error(stderr)
  return {
    project,
    database,
    run,
    async remove() {
      await database?.close()
      await project.remove()
    },
  }
}
