import type { Connection, Database } from '../../db/database.js'
import { formattedTable } from '../../fields/table-name.js'
import { type Catalog, readCatalog } from '../introspect/catalog/catalog.js'
import { runPart } from '../files/code.js'
import type { Migration } from '../files/files.js'
import type { Step } from '../files/steps.js'
import { MigrationError } from '../files/error.js'
import { inputsOfFiles, openRecall, type Recall } from './recall.js'
import { attempt, inDiscardedTransaction, runInBlocks, runStatements, sqlState } from './session.js'
import { namesIn, type Ownership, takenOverAfter, type TakenOver } from '../plan/compare/ownership.js'
import { type CatalogView, readViews } from '../plan/views.js'
import { normaliseSql } from '../plan/compare/normalise-sql.js'
import { enumColumns, enumOf, replaceEnum } from '../plan/steps/replace-enum.js'

/** The schemas in a scratch database: one for the files, one for resources.yaml. */
export const FROM = 'made_by_files'
export const TO = 'wanted'

/**
 * Runs the up parts of files in a scratch database, then `work` with the resulting catalogue, and rolls back. If the catalogue is known, the files
 * run only when `work` sends a statement.
 */
export function onReplayed<T>(
  scratch: Database,
  files: readonly Migration[],
  work: (session: Connection, made: Catalog, recall: Recall) => Promise<T>,
): Promise<T> {
  return inScratch(scratch, files, async (own, recall) => {
    const { session, made } = await replayWhenUsed(own, recall, files)
    return work(session, made.tables, recall)
  })
}

/** Runs `work` in a scratch database that has the extensions of the files, and rolls back. */
export async function inScratch<T>(
  scratch: Database,
  files: readonly Migration[],
  work: (session: Connection, recall: Recall) => Promise<T>,
): Promise<T> {
  await loadExtensionsOf(scratch, files)
  return inDiscardedTransaction(scratch, async (session) => {
    // The timeouts of a server are meant for requests.
    await runAll(session, ["set local statement_timeout = '0'", "set local idle_in_transaction_session_timeout = '0'"])
    // Planning a query of the catalogue takes longer than running it. Most are planned while there are few tables, when reading a whole catalogue seems cheap.
    await runAll(session, ['set local plan_cache_mode = force_generic_plan', 'set local enable_seqscan = off'])
    return work(session, await openRecall(session, scratch.results))
  })
}

/** Loads the extensions that files create, if they come with the database. */
export async function loadExtensionsOf(database: Database, files: readonly Migration[]): Promise<void> {
  await database.loadExtensions?.(files.flatMap(({ extensions }) => extensions))
}

/** Creates a schema, fills it, and reads its catalogue. */
export async function build(session: Connection, schema: string, fill: () => Promise<void>): Promise<Catalog> {
  await runAll(session, [`create schema ${schema}`, `set local search_path = ${schema}`])
  await fill()
  return catalogOf(session, schema)
}

/**
 * Sets the search path again, because a file may have changed it; otherwise definitions would name the schema. The catalogue becomes SQL of the
 * plan, so it is normalised to what PostgreSQL prints after running that SQL.
 */
export async function catalogOf(session: Connection, schema: string): Promise<Catalog> {
  await runAll(session, [`set local search_path = ${schema}`])
  return normaliseSql(session, await readCatalog(session, schema))
}

/** The tables that files partition, and the partitions. */
export interface Partitioning {
  readonly partitioned: readonly string[]
  readonly partitions: readonly string[]
}

/** The schema that files create. */
export interface Made extends Partitioning {
  readonly tables: Catalog
  readonly views: readonly CatalogView[]
  /** The constraints and indexes from before the first file that lists those of resources.yaml. */
  readonly unrecorded: readonly string[]
  /** The constraints and indexes that each file from the first such list on drops or renames, without those that it creates again. */
  readonly removed: readonly (readonly string[])[]
  /** The checks that files have taken over and not removed. */
  readonly takenOver: readonly TakenOver[]
}

/**
 * Finds out which schema files create. If it is known, they run only when the returned session sends a statement.
 * @param own the session of a scratch database. Its own statements see the schema only after the returned session has sent one
 */
export async function replayWhenUsed(
  own: Connection,
  recall: Recall,
  files: readonly Migration[],
): Promise<{ readonly session: Connection; readonly made: Made }> {
  let running: Promise<Made> | undefined
  const run = () => (running ??= make(own, files))
  const made = await recall(inputsOfFiles(files), run)
  const session: Connection = {
    async query(statement) {
      await run()
      return own.query(statement)
    },
  }
  return { session, made }
}

async function make(session: Connection, files: readonly Migration[]): Promise<Made> {
  const first = firstListing(files)
  let unrecorded: ReadonlySet<string> = new Set()
  const removed: (readonly string[])[] = []
  let takenOver: Awaited<ReturnType<typeof takenOverAfter>> = []
  const tables = await build(session, FROM, async () => {
    await replay(session, files.slice(0, first))
    unrecorded = await namesIn(session, FROM)
    let before = unrecorded
    for (const file of files.slice(first)) {
      await replay(session, [file])
      const names = await namesIn(session, FROM)
      removed.push([...before].filter((name) => !names.has(name)))
      before = names
      takenOver = await takenOverAfter(session, FROM, { before: takenOver, added: file.takenOver })
    }
  })
  const views = await readViews(session, FROM)
  const ownership = {
    unrecorded: [...unrecorded],
    removed,
    takenOver: takenOver.map(({ table, name }) => ({ table, name })),
  }
  return { tables, views, ...ownership, ...(await readPartitioning(session)) }
}

async function readPartitioning(session: Connection): Promise<Partitioning> {
  const name = formattedTable('c', 'n', `'${FROM}'`)
  const text = `
    select jsonb_build_object('partitioned', coalesce(jsonb_agg(${name}) filter (where c.relkind = 'p'), '[]'),
      'partitions', coalesce(jsonb_agg(${name}) filter (where c.relispartition), '[]'))::text
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = '${FROM}' and c.relkind in ('r', 'p')`
  const { rows } = await session.query({ text, values: [] })
  return JSON.parse(rows[0]?.[0] ?? '') as Partitioning
}

/** The number of files before the first that lists what it creates for resources.yaml. */
function firstListing(files: readonly Migration[]): number {
  const first = files.findIndex(({ owns }) => owns !== undefined)
  return first < 0 ? files.length : first
}

/** Determines which constraints and indexes resources.yaml owns. What a file removes is not owned if another one creates it again for somebody else. */
export function ownershipOf(files: readonly Migration[], { unrecorded, removed, takenOver }: Made): Ownership {
  const byTable = new Map<string, Set<string>>()
  for (const { table, name } of takenOver) byTable.set(table, (byTable.get(table) ?? new Set()).add(name))
  const owned = { recorded: new Set<string>(), unrecorded: new Set(unrecorded), takenOver: byTable }
  for (const [place, { owns = [] }] of files.slice(firstListing(files)).entries()) {
    for (const name of removed[place] ?? []) {
      owned.recorded.delete(name)
      owned.unrecorded.delete(name)
    }
    for (const name of owns) owned.recorded.add(name)
  }
  return owned
}

/** Runs one part of a migration in a scratch database. @throws MigrationError with the file and the line */
export function runPartInScratch(session: Connection, migration: Migration, part: 'up' | 'down'): Promise<void> {
  const { file, load } = migration
  if (load) return runPart(session, migration, part)
  return runInBlocks(session, migration[part] ?? [], (statements) => runStatements(session, file, statements))
}

/** Runs the up parts of files as if each had its own transaction. */
export async function replay(session: Connection, files: readonly Migration[]): Promise<void> {
  for (const file of files) {
    await runAll(session, [`set local search_path = ${FROM}`])
    await runPartInScratch(session, file, 'up').catch((error: unknown) => {
      throw isWithoutExtension(error) ? withHelp(error) : isWithoutObject(error) ? withRepair(error, file) : error
    })
    // Checks deferred constraints, as the commit of the migration would.
    await runAll(session, ['set constraints all immediate'])
    await settleEnums(session, file)
  }
}

/** `alter type … add value`, possibly within a block of code. */
const ADDS_VALUE = /\badd\s+value\b/i

/** Whether a file adds values to an enum. Later statements can use them only in another transaction. */
export function addsChoices({ up }: Pick<Migration, 'up'>): boolean {
  return up.some(({ text }) => ADDS_VALUE.test(text))
}

/**
 * PostgreSQL knows the values that it does not accept yet by their numbers, so each gets another one. The number must be odd: even ones have the order of
 * the values. Values that were accepted keep theirs, because rows, defaults and checks may contain them.
 */
const RENUMBER_VALUES = `
  do $$
  declare added record;
  begin
    for added in
      select e.oid, e.enumlabel, format_type(t.oid, null) as name from pg_enum e join pg_type t on t.oid = e.enumtypid
      where t.typnamespace = '${FROM}'::regnamespace
    loop
      begin
        execute format('select %L::%s', added.enumlabel, added.name);
      exception when unsafe_new_enum_value_usage then
        update pg_enum set oid = (pg_nextoid('pg_enum', 'oid', 'pg_enum_oid_index')::bigint | 1)::oid where oid = added.oid;
      end;
    end loop;
  end $$`

const ENUMS = `
  select format_type(t.oid, null), (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)::text
  from pg_type t
  where t.typtype = 'e' and t.typnamespace = '${FROM}'::regnamespace`

/**
 * Makes the values of enums usable after a part of a file that adds some: PostgreSQL accepts an added value only after the commit, and all files run in
 * one transaction here. A user who is not a superuser can only recreate the enums that nothing but columns and views depends on.
 */
export async function settleEnums(session: Connection, { up }: Pick<Migration, 'up'>): Promise<void> {
  if (!addsChoices({ up })) return
  const error = await attempt(session, () => session.query({ text: RENUMBER_VALUES, values: [] }))
  if (!error) return
  const views = await readViews(session, FROM)
  const all = enumColumns(await catalogOf(session, FROM))
  const { rows } = await session.query({ text: ENUMS, values: [] })
  for (const [type, labels] of rows) {
    const used = all.filter(({ column }) => enumOf(column) === type)
    const statements = replaceEnum(type ?? '', JSON.parse(labels ?? '[]') as string[], { used, views })
    await attempt(session, () => runAll(session, statements))
  }
}

/** The errors of PostgreSQL for an extension that is not installed: from version 15 on, and earlier. */
const UNAVAILABLE: ReadonlySet<string | undefined> = new Set(['0A000', '58P01'])

function isWithoutExtension(error: unknown): error is MigrationError {
  return error instanceof MigrationError && UNAVAILABLE.has(sqlState(error)) && /\bextension\b/.test(error.message)
}

function withHelp({ errors, cause }: MigrationError): MigrationError {
  const help = [
    'Migrations are tested in an embedded database, which has only the extensions that PostgreSQL itself ships',
    'Name an empty PostgreSQL database whose server has the extension: --scratch URL, or DATABASE_SCRATCH_URL',
  ]
  return new MigrationError(errors, help, cause)
}

/** The errors of PostgreSQL for a type or an index, a table, a column and a function that does not exist. */
const UNKNOWN: ReadonlySet<string | undefined> = new Set(['42704', '42P01', '42703', '42883'])

function isWithoutObject(error: unknown): error is MigrationError {
  return error instanceof MigrationError && UNKNOWN.has(sqlState(error))
}

function withRepair({ errors, help, cause }: MigrationError, { name }: Migration): MigrationError {
  const repairs = [
    'Migrations must also run in an empty database, after those before them: correct the file, for example with `if exists`',
    `Then, if a database has applied it, accept the edit there: snippetctl migrate resolve --edited ${name}`,
  ]
  return new MigrationError(errors, [...help, ...repairs], cause)
}

/** Runs the up parts of steps as if those that add choices to an enum were committed. */
export async function runSteps(session: Connection, steps: readonly Step[]): Promise<void> {
  for (const { up } of steps) {
    await runAll(session, up)
    await settleEnums(session, { up: up.map((text) => ({ text, line: 1 })) })
  }
}

export async function runAll(session: Connection, statements: readonly string[]): Promise<void> {
  await runInBlocks(
    session,
    statements.map((text) => ({ text })),
    async (part) => {
      for (const { text } of part) await session.query({ text, values: [] })
    },
  )
}
