import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { MigrationError } from './error.js'
import { type Migration, numberOf, type Replaced } from './files.js'

/** The table of applied migrations: the columns of Knex's table, and the checksum of each file. */
export const JOURNAL = 'snippetctl_migrations'

/** One line of `migrate status`. */
export interface MigrationStatus {
  readonly name: string
  /**
   * A `newer` migration has no file here: a later version of the project applied it after all migrations with files. A `partial` one replaces
   * others, and only some of them are applied.
   */
  readonly state: 'applied' | 'pending' | 'changed' | 'missing' | 'newer' | 'partial'
  /** RFC 3339, UTC; undefined for pending and partial migrations. */
  readonly appliedAt: string | undefined
  /** Undefined for missing and newer migrations. */
  readonly file: string | undefined
  /** The replaced migrations that this database lacks, or has with another text; only for `partial`. */
  readonly lacks?: readonly string[]
}

/** A line of the journal. */
export interface Entry {
  readonly name: string
  readonly checksum: string | null
  readonly appliedAt: string
}

const CREATE = `
  create table if not exists ${JOURNAL} (
    id integer generated always as identity primary key,
    name text not null unique,
    batch integer not null,
    migration_time timestamptz not null,
    checksum text
  )`

const ENTRIES = `
  select name, checksum, to_char(migration_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
  from ${JOURNAL} order by id`

const ACCESS = `
  select j::text, has_table_privilege(j, 'select')::text, current_user::text
  from to_regclass('${JOURNAL}') as j where j is not null`

/** Creates the journal if it does not exist. */
export async function createJournal(connection: Connection): Promise<void> {
  const { rows } = await connection.query({ text: ACCESS, values: [] })
  if (rows.length === 0) await connection.query({ text: CREATE, values: [] })
}

/** Returns all migrations of a folder and the journal, by name. Changes nothing, and works without a journal. */
export async function compareJournal(
  connection: Connection,
  files: readonly Migration[],
): Promise<readonly MigrationStatus[]> {
  const entries = await readEntries(connection)
  const known = files.map((file) => statusOf(file, entries))
  const names = new Set(files.flatMap(({ name, replaces }) => [name, ...replaces.map((each) => each.name)]))
  const last = numberOf(files.at(-1)?.name ?? '')
  // Migrations are only newer if all those with files are applied.
  const isWhole = files.length > 0 && known.every(({ state }) => state === 'applied')
  const missing = [...entries.values()]
    .filter(({ name }) => !names.has(name))
    .map(({ name, appliedAt }): MigrationStatus => {
      const state = isWhole && numberOf(name) > last ? 'newer' : 'missing'
      return { name, state, appliedAt, file: undefined }
    })
  return [...known, ...missing].sort((one, other) => (one.name < other.name ? -1 : 1))
}

function statusOf(migration: Migration, entries: ReadonlyMap<string, Entry>): MigrationStatus {
  const { name, file, checksum, replaces } = migration
  const entry = entries.get(name)
  const replaced = replaces.flatMap((each) => entries.get(each.name) ?? [])
  if (!entry && replaced.length > 0) return replacingStatus(migration, entries)
  if (!entry) return { name, state: 'pending', appliedAt: undefined, file }
  return { name, state: entry.checksum === checksum ? 'applied' : 'changed', appliedAt: entry.appliedAt, file }
}

/** A database that has applied all replaced migrations has the schema of the file. Its journal stays, for versions with the old files. */
function replacingStatus({ name, file, replaces }: Migration, entries: ReadonlyMap<string, Entry>): MigrationStatus {
  const isApplied = (one: Replaced): boolean => {
    const parts = replaces.filter(({ by }) => by === one.name)
    return entries.get(one.name)?.checksum === one.checksum || (parts.length > 0 && parts.every(isApplied))
  }
  const lacks = replaces.filter((one) => one.by === undefined && !isApplied(one)).map((one) => one.name)
  const last = replaces
    .flatMap((one) => entries.get(one.name)?.appliedAt ?? [])
    .sort()
    .at(-1)
  if (lacks.length === 0) return { name, state: 'applied', appliedAt: last, file }
  return { name, state: 'partial', appliedAt: undefined, file, lacks }
}

/**
 * Returns the lines of the journal by name; none without a journal.
 * @throws MigrationError if the role may not read it
 */
export async function readEntries(connection: Connection): Promise<ReadonlyMap<string, Entry>> {
  if (!(await hasReadableJournal(connection))) return new Map()
  const { rows } = await connection.query({ text: ENTRIES, values: [] })
  return new Map(
    rows.map(([name, checksum, at]) => [
      name ?? '',
      { name: name ?? '', checksum: checksum ?? null, appliedAt: at ?? '' },
    ]),
  )
}

/** The checksum of an applied migration. */
export async function recordedChecksum(connection: Connection, name: string): Promise<string | undefined> {
  return (await readEntries(connection)).get(name)?.checksum ?? undefined
}

/** @throws MigrationError if the role may not read the journal */
async function hasReadableJournal(connection: Connection): Promise<boolean> {
  const { rows } = await connection.query({ text: ACCESS, values: [] })
  const [table, readable, role] = rows[0] ?? []
  if (table == null) return false
  if (readable === 'true') return true
  throw new MigrationError(
    [`the role ${role} may not read the table ${table}, the journal of applied migrations`],
    [`as the owner of the table: grant select on ${table} to ${identifier(role ?? '')}`],
  )
}

/**
 * @throws MigrationError naming each migration that was changed since it was applied, has no file, or replaces migrations of which only some are
 * applied
 */
export function rejectDisagreement(statuses: readonly MigrationStatus[]): void {
  const changed = statuses.filter(({ state }) => state === 'changed')
  const missing = statuses.filter(({ state }) => state === 'missing')
  const partial = statuses.filter(({ state }) => state === 'partial')
  if (changed.length + missing.length + partial.length === 0) return
  throw new MigrationError(
    [
      ...changed.map(({ file, name }) => `${file ?? name} was changed on disk since it was applied`),
      ...missing.map(({ name }) => `${name} was applied to this database, and its file is missing`),
      ...partial.map(
        ({ name, lacks = [] }) =>
          `${name} replaces several migrations, but this database has applied only some of them: ${lacks.join(', ')} not at all, or with another text`,
      ),
    ],
    [
      ...(changed.length > 0 ? ['Put the applied text back, and make the change in a new migration'] : []),
      ...(missing.length > 0 ? ['Put the file back, or run the version of the project that has it'] : []),
      ...(partial.length > 0
        ? ['Apply them first, with the version of the project that still has their files: snippetctl migrate up']
        : []),
      'Or see whether the journal can be corrected: snippetctl migrate resolve',
    ],
  )
}

/** The names of migrations that a later version of the project applied. */
export function newerIn(statuses: readonly MigrationStatus[]): readonly string[] {
  return statuses.filter(({ state }) => state === 'newer').map(({ name }) => name)
}

/** Describes newer migrations, and names the version of the project that has their files. */
export function describeNewer(newer: readonly string[]): { readonly applied: string; readonly version: string } {
  const [verb, files] = newer.length === 1 ? ['was', 'the file'] : ['were', 'the files']
  return {
    applied: `${newer.join(', ')} ${verb} applied by a later version of the project`,
    version: `the version of the project that has ${files}`,
  }
}

/** @throws MigrationError if a later version of the project has applied newer migrations */
export function rejectNewer(statuses: readonly MigrationStatus[], work: string): void {
  const newer = newerIn(statuses)
  if (newer.length === 0) return
  const { applied, version } = describeNewer(newer)
  throw new MigrationError([`${applied}, so this version cannot ${work}`], [`Run ${version}`])
}

/** @throws MigrationError if the journal and the files disagree, or a migration is pending or newer */
export async function rejectUnlessAllApplied(connection: Connection, files: readonly Migration[]): Promise<void> {
  const statuses = await compareJournal(connection, files)
  rejectDisagreement(statuses)
  rejectNewer(statuses, 'write the next migration')
  const pending = statuses.filter(({ state }) => state === 'pending').map(({ name }) => name)
  if (pending.length > 0)
    throw new MigrationError([`${pending.join(', ')} must be applied first`], ['Apply them: snippetctl migrate up'])
}
