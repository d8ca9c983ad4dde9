import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { appendMembers } from '../../config/edit/append-members.js'
import { checkConfig } from '../../config/parse/check.js'
import { readConfig } from '../../config/yaml/document.js'
import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { openScratch } from '../../db/open.js'
import { readCatalog } from './catalog.js'
import { type Choice, chooseModels } from './choose.js'
import { MigrationError } from '../files/error.js'
import { type MigrationFolder, pathOf, readMigrations } from '../files/files.js'
import { planMigration, writeNext } from '../plan/generate.js'
import { refuseUnlessAllApplied } from '../files/journal.js'
import { renderStatement } from '../files/render.js'
import { spellOwned } from '../plan/ownership.js'
import { recordTables } from './record.js'
import { recordMigration } from '../run/run.js'
import { onReplayed } from '../run/scratch.js'
import { comment, renderModel, renderResource } from './render-models.js'
import { wantedTables } from '../plan/sql.js'
import { type SchemaInspection, inspectSchema } from './inspect.js'

/** The options of an introspection. */
export interface IntrospectOptions {
  /** The path of resources.yaml. */
  readonly file: string
  /** Its text, to which models are added; if left out, a new file is written. */
  readonly text?: string | undefined
  /** The folder of the migrations. */
  readonly directory: MigrationFolder
  /** The tables to introspect, by default all. */
  readonly tables?: readonly string[] | undefined
  /** Whether to add a read-only resource for each model. */
  readonly resources?: boolean | undefined
  /** An empty database to test the result in; by default a new one. */
  readonly scratch?: Database
}

/** The result of an introspection, before anything is written. */
export interface Introspected {
  /** The whole text of resources.yaml. */
  readonly text: string
  /** The tables that have a new model. */
  readonly models: readonly string[]
  /** The text of the next migration, which creates the tables that no file creates; undefined if there are none. */
  readonly migration: string | undefined
  /** Parts of the database that the files do not describe, one sentence each. */
  readonly left: readonly string[]
  /** Changes that the next plan would still make; any is a bug of this program. */
  readonly remaining: readonly string[]
}

/**
 * Derives models and a first migration from the current schema of a database. The result is tested in an empty database: the migration runs
 * there, and the plan for the models is empty.
 * @throws MigrationError if migrations are pending, a requested table does not exist, the file cannot be extended, or the result fails the test
 */
export async function introspect(database: Database, options: IntrospectOptions): Promise<Introspected> {
  const own = options.scratch ? undefined : await openScratch()
  try {
    return await read(database, options, options.scratch ?? own ?? (await openScratch()))
  } finally {
    await own?.close()
  }
}

async function read(database: Database, options: IntrospectOptions, scratch: Database): Promise<Introspected> {
  const { directory, text, file, tables } = options
  const inspected = await inspectSchema(database)
  const absent = tables?.filter((name) => !inspected.tables.some((table) => table.name === name)) ?? []
  if (absent.length > 0)
    throw new MigrationError(
      absent.map((name) => `there is no table ${name} in the schema ${inspected.schema}`),
      [`There is: ${inspected.tables.map(({ name }) => name).join(', ')}`],
    )
  const known = await tablesOfFiles(database, directory, scratch)
  const existing = text === undefined ? new Map<string, string>() : tablesOfModels(specOf(text, file))
  const choice = chooseModels(inspected, await readCatalog(database), { existing, only: tables })
  const { statements, left } = recordTables(inspected, known)
  const written = writeText(choice, options)
  const spec = specOf(written, file)
  const migration =
    statements.length === 0 ? undefined : renderMigrationFile(statements, ownedOf(spec, inspected, known))
  return {
    text: written,
    models: choice.models.map(({ table }) => table),
    migration,
    left: [...choice.left, ...choice.models.flatMap((model) => model.left), ...left],
    remaining: await remainingPlan(spec, { directory, migration, scratch }),
  }
}

/** All files must be applied; otherwise the new file would not be the next one. */
async function tablesOfFiles(
  database: Database,
  directory: MigrationFolder,
  scratch: Database,
): Promise<readonly string[]> {
  const files = await readMigrations(directory)
  await refuseUnlessAllApplied(database, files)
  if (files.length === 0) return []
  return onReplayed(scratch, files, async (_session, made) => made.map(({ name }) => name))
}

const tablesOfModels = ({ models }: AppSpec): ReadonlyMap<string, string> =>
  new Map(models.map(({ table, name }) => [table, name]))

/** @throws MigrationError with the errors of the text */
function specOf(text: string, file: string): AppSpec {
  const document = readConfig(new TextEncoder().encode(text), file)
  const spec = Array.isArray(document) ? document : checkConfig(document)
  if (!('models' in spec))
    throw new MigrationError(spec.map(({ range, message }) => `${file}:${range.start.line}: ${message}`))
  return spec
}

function writeText({ models, left }: Choice, { text, file, resources, tables }: IntrospectOptions): string {
  const start = text ?? ['version: 1', ...(tables ? [] : left.map(comment)), ''].join('\n')
  const parts = [
    { key: 'models', members: models.map(renderModel) },
    { key: 'resources', members: resources ? models.map(renderResource) : [] },
  ]
  return parts
    .filter(({ members }) => members.length > 0)
    .reduce((before, { key, members }) => {
      const after = appendMembers(before, file, { key, members })
      if (after === undefined)
        throw new MigrationError(
          [`${file}: \`${key}\` is written on one line, and nothing can be added to it`],
          [`Write \`${key}\` as a block, one line for each, or remove it`],
        )
      return after
    }, start)
    .replace(/\n\n+$/, '\n')
}

const HEADER = '-- The tables as they were when they were taken over. There is no part that drops them.'

function renderMigrationFile(statements: readonly string[], owned: readonly string[]): string {
  const up = statements.map(renderStatement).join('\n')
  return `${HEADER}\n-- up\n\n${up}\n${spellOwned(owned)}`
}

/** The constraints and indexes of new tables whose names are those that the models generate: from now on, resources.yaml owns them. */
function ownedOf(spec: AppSpec, { tables }: SchemaInspection, known: readonly string[]): readonly string[] {
  const wanted = wantedTables(spec).flatMap(({ constraints, indexes }) => [...constraints, ...indexes])
  const names = new Set(wanted.map(({ name }) => name))
  return tables
    .filter(({ name }) => !known.includes(name))
    .flatMap(({ constraints, indexes }) => [...constraints, ...indexes].map(({ name }) => name))
    .filter((name) => names.has(name))
}

interface Proposed {
  readonly directory: MigrationFolder
  readonly migration: string | undefined
  readonly scratch: Database
}

/** Plans as if the new files were written already. */
async function remainingPlan(spec: AppSpec, { directory, migration, scratch }: Proposed): Promise<readonly string[]> {
  const copy = await mkdtemp(join(tmpdir(), 'introspect-'))
  try {
    if ((await readMigrations(directory)).length > 0) await cp(pathOf(directory), copy, { recursive: true })
    if (migration !== undefined) await writeNext(asIf(directory, copy), MIGRATION_NAME, migration)
    const { steps, refusals } = await planMigration(spec, asIf(directory, copy), scratch)
    return [...steps.map(({ change, subject, detail }) => `${change} ${subject}: ${detail}`), ...refusals]
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/** Copies a folder. Imports of TypeScript migrations are resolved from the original folder. */
function asIf(directory: MigrationFolder, copy: string): MigrationFolder {
  if (typeof directory === 'string') return copy
  return { path: copy, load: (file) => directory.load(join(directory.path, basename(file))) }
}

const MIGRATION_NAME = 'introspected'

/**
 * Writes the migration as the next file, and records it as applied, because its tables exist already.
 * @returns its path
 */
export async function writeIntrospected(
  database: Database,
  directory: MigrationFolder,
  migration: string,
): Promise<string> {
  const { length } = await readMigrations(directory)
  const file = await writeNext(directory, MIGRATION_NAME, migration)
  try {
    await recordMigration(database, directory, `${String(length + 1).padStart(4, '0')}_${MIGRATION_NAME}`)
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
  return file
}
