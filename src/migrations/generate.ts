import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { AppSpec } from '../config/spec.js'
import type { Connection, Database } from '../db/database.js'
import { openScratch } from '../db/open.js'
import { type Catalog, readCatalog } from './catalog.js'
import { compareSchemas, type Difference } from './diff.js'
import { MigrationError } from './error.js'
import { type Migration, parseMigration, readMigrations } from './files.js'
import { inDiscardedTransaction, runStatements } from './session.js'
import { createAll, nameClashes, type WantedTable, wantedTables } from './sql.js'
import type { Step } from './steps.js'

/** What would bring the migration files to what resources.yaml says. */
export interface Plan extends Difference {
  /** The text of the next file; undefined when there is nothing to do, or something is refused. */
  readonly text: string | undefined
  /** A name for it. */
  readonly name: string
  /** How many files the plan was made from. */
  readonly files: number
}

const FROM = 'made_by_files'
const TO = 'wanted'

/**
 * Compares the migration files with a configuration, in a scratch database that is left as it was. The planned text has been
 * run there, both ways: up gives what is wanted, and down gives back what was.
 * @param scratch left out, one in memory
 * @throws MigrationError when a file cannot be read or run.
 */
export async function planMigration(spec: AppSpec, directory: string, scratch?: Database): Promise<Plan> {
  const files = await readMigrations(directory)
  if (scratch) return compare(spec, files, scratch)
  const own = await openScratch()
  try {
    return await compare(spec, files, own)
  } finally {
    await own.close()
  }
}

async function compare(spec: AppSpec, files: readonly Migration[], scratch: Database): Promise<Plan> {
  const wanted = wantedTables(spec)
  const clashes = nameClashes(wanted)
  if (clashes.length > 0) throw new MigrationError(clashes)
  return inDiscardedTransaction(scratch, async (session) => {
    const to = await build(session, TO, () => runAll(session, createAll(wanted)))
    const from = await build(session, FROM, () => replay(session, files))
    const difference = compareSchemas(wanted, from, to)
    const plan = { ...difference, name: planName(difference.steps), files: files.length }
    if (difference.refusals.length > 0 || difference.steps.length === 0) return { ...plan, text: undefined }
    const text = render(difference.steps)
    await prove(session, { text, wanted, from, to })
    return { ...plan, text }
  })
}

/**
 * Writes the planned migration as the next file.
 * @returns its path
 * @throws MigrationError when there is nothing to write, when the name is none, or when the files changed since the plan.
 */
export async function writeMigration(plan: Plan, directory: string, name = plan.name): Promise<string> {
  if (plan.refusals.length > 0) throw new MigrationError(plan.refusals)
  if (plan.text === undefined)
    throw new MigrationError(['the migration files make what resources.yaml wants; there is nothing to write'])
  if (!/^[a-z0-9_]+$/.test(name)) {
    throw new MigrationError([
      `${JSON.stringify(name)} is no name of a migration: lower-case letters, digits and _ make one`,
    ])
  }
  const { length } = await readMigrations(directory)
  if (length !== plan.files)
    throw new MigrationError(['the migration files changed since the plan was made'], ['Plan again'])
  const file = join(directory, `${String(length + 1).padStart(4, '0')}_${name}.sql`)
  await mkdir(directory, { recursive: true })
  await writeFile(file, plan.text, { flag: 'wx' })
  return file
}

async function build(session: Connection, schema: string, fill: () => Promise<void>): Promise<Catalog> {
  await runAll(session, [`create schema ${schema}`, `set local search_path = ${schema}`])
  await fill()
  return catalogOf(session, schema)
}

/** The search path is set anew, because a file may have changed it; without it, definitions would name the schema. */
async function catalogOf(session: Connection, schema: string): Promise<Catalog> {
  await runAll(session, [`set local search_path = ${schema}`])
  return readCatalog(session, schema)
}

async function replay(session: Connection, files: readonly Migration[]): Promise<void> {
  for (const { file, up } of files) {
    await runAll(session, [`set local search_path = ${FROM}`])
    await runStatements(session, file, up)
    // What would have happened at the end of the migration's own transaction.
    await runAll(session, ['set constraints all immediate'])
  }
}

async function runAll(session: Connection, statements: readonly string[]): Promise<void> {
  for (const text of statements) await session.query({ text, values: [] })
}

interface Proof {
  readonly text: string
  readonly wanted: readonly WantedTable[]
  readonly from: Catalog
  readonly to: Catalog
}

/** Runs the text as it will be read from its file. */
async function prove(session: Connection, { text, wanted, from, to }: Proof): Promise<void> {
  const migration = parseMigration('plan', 'the planned migration', Buffer.from(text))
  if ('faults' in migration) throw new MigrationError(migration.faults)
  await runStatements(session, migration.file, migration.up)
  const left = compareSchemas(wanted, await catalogOf(session, FROM), to)
  if (left.steps.length + left.refusals.length > 0) {
    throw new MigrationError(['the planned migration does not lead to what resources.yaml wants'], left.refusals)
  }
  await runStatements(session, migration.file, migration.down ?? [])
  if (!isDeepStrictEqual(await catalogOf(session, FROM), from)) {
    throw new MigrationError(['the down part of the planned migration does not lead back'])
  }
}

function render(steps: readonly Step[]): string {
  const part = (statements: readonly string[]) => statements.map((statement) => `${statement};\n`).join('\n')
  const up = part(steps.flatMap((step) => step.up))
  const down = part(steps.toReversed().flatMap((step) => step.down))
  return `-- up\n\n${up}\n-- down\n\n${down}`
}

/** `create_books`, `add_subtitle_to_books`, and `change_books` for all that is more. */
function planName(steps: readonly Step[]): string {
  const created = steps
    .filter((step) => step.change === 'add' && !step.subject.includes('.'))
    .map((step) => step.subject)
  const touched = [...new Set(steps.map((step) => step.subject.split('.')[0] ?? ''))]
  const [only] = steps
  const [table = '', column] = only?.subject.split('.') ?? []
  if (created.length > 0) return wordsOf(`create_${created.slice(0, 3).join('_')}`)
  if (steps.length === 1 && only?.change === 'add' && column !== undefined) return wordsOf(`add_${column}_to_${table}`)
  return wordsOf(`change_${touched.slice(0, 3).join('_')}`)
}

function wordsOf(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '_')
}
