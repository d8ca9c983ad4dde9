import type { Connection } from '../db/database.js'
import { type Catalog, readCatalog } from './catalog.js'
import { runPart } from './code.js'
import type { Migration } from './files.js'
import { respell } from './spelling.js'

/** The schemas of a scratch database: what the files make, and what resources.yaml wants. */
export const FROM = 'made_by_files'
export const TO = 'wanted'

/** Makes a schema, fills it, and reads what is there then. */
export async function build(session: Connection, schema: string, fill: () => Promise<void>): Promise<Catalog> {
  await runAll(session, [`create schema ${schema}`, `set local search_path = ${schema}`])
  await fill()
  return catalogOf(session, schema)
}

/**
 * The search path is set anew, because a file may have changed it; without it, definitions would name the schema. What is read
 * here becomes SQL of the plan, so it has the spelling that comes back when it is run.
 */
export async function catalogOf(session: Connection, schema: string): Promise<Catalog> {
  await runAll(session, [`set local search_path = ${schema}`])
  return respell(session, await readCatalog(session, schema))
}

/** Runs the up parts of files, as if each had a transaction of its own. */
export async function replay(session: Connection, files: readonly Migration[]): Promise<void> {
  for (const file of files) {
    await runAll(session, [`set local search_path = ${FROM}`])
    await runPart(session, file, 'up')
    // What would have happened at the end of the migration's own transaction.
    await runAll(session, ['set constraints all immediate'])
  }
}

/** Runs statements one after the other. */
export async function runAll(session: Connection, statements: readonly string[]): Promise<void> {
  for (const text of statements) await session.query({ text, values: [] })
}
