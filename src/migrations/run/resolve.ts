import { isDeepStrictEqual } from 'node:util'
import type { Connection, Database } from '../../db/database.js'
import { type Drift, findDrift, readBoth } from '../drift/drift.js'
import { MigrationError } from '../files/error.js'
import { type Migration, type MigrationFolder, nameIn, readMigrations } from '../files/files.js'
import {
  compareJournal,
  createJournal,
  type Entry,
  JOURNAL,
  type MigrationStatus,
  readEntries,
  refuseNewer,
} from '../files/journal.js'
import { type Catalog, readCatalog } from '../introspect/catalog.js'
import { asOnlyMigrator } from './lock.js'
import { build, catalogOf, FROM, inScratch, replay } from './scratch.js'

/** Changes of the journal, by the names of migrations. */
export interface Resolution {
  /** Pending files to record as applied, because the database has what they make. */
  readonly applied: readonly string[]
  /** Recorded migrations to remove from the journal, because the database does not have what they make. */
  readonly notApplied: readonly string[]
  /** Recorded files to accept as they are on disk now. */
  readonly edited: readonly string[]
}

interface ResolveRequest extends Resolution {
  /** Whether to go on where the database cannot confirm the change, or where a difference remains that can be settled later. */
  readonly certain: boolean
  /** An empty database to run the files in. */
  readonly scratch: Database
}

/** A reason why a resolution is wrong, as far as the database shows. */
interface Contradiction {
  readonly text: string
  readonly help: string
  /** Whether the project can be repaired after the change all the same. */
  readonly leavable: boolean
}

/**
 * Changes the journal, and nothing else, after comparing the database with what the files make that the journal then lists.
 * @returns sentences on what could not be verified
 * @throws MigrationError if the database contradicts the change, or another disagreement would remain; then nothing has changed
 */
export async function resolveJournal(
  database: Database,
  folder: MigrationFolder,
  request: ResolveRequest,
): Promise<readonly string[]> {
  const state = await readState(database, folder)
  const resolution = named(request)
  rejectUnknown(state, resolution)
  rejectRest(state, resolution)
  const { contradictions, unverified } = await verify(database, state, { resolution, scratch: request.scratch })
  const refused = contradictions.filter(({ leavable }) => !(request.certain && leavable))
  if (refused.length > 0) throw contradicted(contradictions, resolution)
  if (unverified.length > 0 && !request.certain)
    throw new MigrationError(
      unverified.map((name) => `nothing in the schema shows whether ${name} was applied: it changes no table`),
      ['If you know that it is right, add --yes'],
    )
  await asOnlyMigrator(database, (session) => write(session, state, resolution))
  return [
    ...contradictions.map(({ text, help }) => `${text}; ${help}`),
    ...unverified.map((name) => `${name} could not be verified`),
  ]
}

/** What disagrees, and the resolution that the database confirms. */
export interface Diagnosis {
  readonly findings: readonly string[]
  readonly resolution: Resolution
  /** The reasons against the resolution; none if the database confirms it. */
  readonly contradictions: readonly Contradiction[]
}

/** Finds what the journal and the files disagree about, and what would settle it. Changes nothing. */
export async function diagnoseJournal(
  database: Database,
  folder: MigrationFolder,
  scratch: Database,
): Promise<Diagnosis> {
  const state = await readState(database, folder)
  const { statuses, entries, files } = state
  const changed = statuses.filter((status) => status.state === 'changed').map(({ name }) => name)
  const missing = statuses.filter((status) => status.state === 'missing').map(({ name }) => name)
  const renamed = missing.flatMap((name) => renamedTo(entries.get(name), state))
  const rest: Resolution = { applied: renamed, notApplied: missing, edited: changed }
  const unrecorded = await recordable(database, state, { rest, scratch })
  const resolution = { ...rest, applied: unrecorded.length > renamed.length ? unrecorded : renamed }
  const findings = [
    ...changed.map((name) => `${name} was changed on disk since it was applied`),
    ...missing.map((name) => `${name} was applied to this database, and its file is missing`),
    ...resolution.applied
      .filter((name) => !renamed.includes(name))
      .map((name) => `${name} is pending, and the database has what it makes`),
  ]
  if (findings.length === 0) return { findings, resolution, contradictions: [] }
  const isComplete = files.length > 0 || missing.length > 0
  const { contradictions } = isComplete
    ? await verify(database, state, { resolution, scratch })
    : { contradictions: [] }
  return { findings, resolution, contradictions }
}

interface State {
  readonly files: readonly Migration[]
  readonly entries: ReadonlyMap<string, Entry>
  readonly statuses: readonly MigrationStatus[]
}

async function readState(database: Connection, folder: MigrationFolder): Promise<State> {
  const files = await readMigrations(folder)
  return { files, entries: await readEntries(database), statuses: await compareJournal(database, files) }
}

const named = ({ applied, notApplied, edited }: Resolution): Resolution => ({
  applied: applied.map(nameIn),
  notApplied: notApplied.map(nameIn),
  edited: edited.map(nameIn),
})

function rejectUnknown({ statuses }: State, { applied, notApplied, edited }: Resolution): void {
  const stateOf = (name: string) => statuses.find((status) => status.name === name)?.state
  const errors = [
    ...applied.filter((name) => stateOf(name) !== 'pending').map((name) => `${name} is not a pending migration`),
    ...notApplied
      .filter((name) => [undefined, 'pending'].includes(stateOf(name)))
      .map((name) => `${name} is not recorded as applied`),
    ...edited
      .filter((name) => stateOf(name) !== 'changed')
      .map((name) => `${name} was not changed since it was applied`),
    ...applied.flatMap((name) => {
      const earlier = statuses.find(
        (other) => other.state === 'pending' && other.name < name && !applied.includes(other.name),
      )
      return earlier ? [`${earlier.name} comes before ${name} and is pending`] : []
    }),
  ]
  if (errors.length > 0)
    throw new MigrationError(errors, ['See the state of each migration: snippetctl migrate status'])
}

/** Files can only be compared with the database if all disagreements are settled at once. */
function rejectRest({ statuses }: State, { notApplied, edited }: Resolution): void {
  const rest = statuses.filter(
    ({ name, state }) =>
      (state === 'changed' && !edited.includes(name) && !notApplied.includes(name)) ||
      (state === 'missing' && !notApplied.includes(name)),
  )
  if (rest.length > 0)
    throw new MigrationError(
      rest.map(
        ({ name, state }) => `${name} is ${state === 'changed' ? 'changed on disk' : 'missing on disk'} as well`,
      ),
      ['Settle all in one command; this shows it: snippetctl migrate resolve'],
    )
  refuseNewer(
    statuses.filter(({ name }) => !notApplied.includes(name)),
    'change the journal',
  )
}

/** Pending files with the text of a missing one. */
function renamedTo(entry: Entry | undefined, { files, statuses }: State): readonly string[] {
  const pending = files.filter(({ name }) =>
    statuses.some((status) => status.name === name && status.state === 'pending'),
  )
  return pending.filter(({ checksum }) => checksum === entry?.checksum).map(({ name }) => name)
}

/** The pending files whose tables, columns and rules the database has already, from the first pending one on. */
async function recordable(
  database: Database,
  state: State,
  { rest, scratch }: { readonly rest: Resolution; readonly scratch: Database },
): Promise<readonly string[]> {
  const pending = state.statuses.filter((status) => status.state === 'pending').map(({ name }) => name)
  for (let count = pending.length; count > 0; count--) {
    const resolution = { ...rest, applied: pending.slice(0, count) }
    const { contradictions, unverified } = await verify(database, state, { resolution, scratch })
    if (contradictions.length === 0 && !unverified.includes(pending[count - 1] ?? '')) return resolution.applied
  }
  return []
}

interface Verification {
  readonly contradictions: readonly Contradiction[]
  /** Files that change nothing that could be compared. */
  readonly unverified: readonly string[]
}

async function verify(
  database: Database,
  { files, entries, statuses }: State,
  { resolution, scratch }: { readonly resolution: Resolution; readonly scratch: Database },
): Promise<Verification> {
  const { applied, notApplied } = resolution
  const isThen = ({ name }: Migration) => applied.includes(name) || (entries.has(name) && !notApplied.includes(name))
  const then = files.filter(isThen)
  const now = files.filter(({ name }) => entries.has(name))
  const agrees = statuses.every(({ state }) => state !== 'changed' && state !== 'missing')
  const known = agrees ? (await driftOf(database, now, scratch)).map(({ text }) => text) : []
  const drift = (await driftOf(database, then, scratch)).filter(({ text }) => !known.includes(text))
  const undone = files.filter(({ name }) => notApplied.includes(name))
  const effects = await effectsOf(
    scratch,
    files.filter((file) => isThen(file) || undone.includes(file)),
  )
  const live = new Set((await readCatalog(database)).map(({ name }) => name))
  const tables = undone.flatMap(({ name }) => (effects.get(name)?.tables ?? []).filter((table) => live.has(table)))
  const moved = new Set(notApplied.flatMap((name) => entries.get(name)?.checksum ?? []))
  const marked = files.filter(
    ({ name, checksum }) =>
      (applied.includes(name) || undone.some((file) => file.name === name)) && !moved.has(checksum),
  )
  return {
    contradictions: [
      ...tables.map((table) => ({
        text: `table ${table} exists`,
        help: `drop it, or leave the migration as applied`,
        leavable: false,
      })),
      ...drift.map((each) => contradictionOf(each, undone)),
    ],
    unverified: marked.filter(({ name }) => effects.get(name)?.isVisible === false).map(({ name }) => name),
  }
}

async function driftOf(database: Database, files: readonly Migration[], scratch: Database): Promise<readonly Drift[]> {
  return findDrift(await readBoth(database, files, scratch))
}

/** A file that becomes pending would fail on what it makes, and nothing can be adopted while it is pending. */
function contradictionOf({ text, repair }: Drift, undone: readonly Migration[]): Contradiction {
  if ('sql' in repair) return { text, help: `make it: ${repair.sql}`, leavable: false }
  if (undone.length > 0) return { text, help: 'remove it, or leave the migration as applied', leavable: false }
  return { text, help: `keep it, after --yes: snippetctl migrate adopt ${repair.adopt}`, leavable: true }
}

function contradicted(contradictions: readonly Contradiction[], { applied }: Resolution): MigrationError {
  const isPartial = applied.length > 0 && contradictions.some(({ leavable }) => !leavable)
  return new MigrationError(
    contradictions.map(({ text }) => `the database says otherwise: ${text}`),
    [
      ...contradictions.map(({ help }) => help),
      ...(isPartial ? ['Or, if it has nothing of the migration, apply it: snippetctl migrate up'] : []),
    ],
  )
}

/** The effect of one file on the schema. */
interface Effect {
  readonly isVisible: boolean
  /** The tables that it creates. */
  readonly tables: readonly string[]
}

function effectsOf(scratch: Database, files: readonly Migration[]): Promise<ReadonlyMap<string, Effect>> {
  return inScratch(scratch, files, async (session) => {
    const effects = new Map<string, Effect>()
    let before: Catalog = await build(session, FROM, async () => {})
    for (const file of files) {
      await replay(session, [file])
      const after = await catalogOf(session, FROM)
      const had = new Set(before.map(({ name }) => name))
      effects.set(file.name, {
        isVisible: !isDeepStrictEqual(before, after),
        tables: after.map(({ name }) => name).filter((name) => !had.has(name)),
      })
      before = after
    }
    return effects
  })
}

const ADD = `
  insert into ${JOURNAL} (name, batch, migration_time, checksum)
  values ($1, (select coalesce(max(batch), 0) + 1 from ${JOURNAL}), current_timestamp, $2)`

async function write(session: Connection, state: State, { applied, notApplied, edited }: Resolution): Promise<void> {
  await createJournal(session)
  if (!isDeepStrictEqual(await readEntries(session), state.entries))
    throw new MigrationError(['another process has migrated the database meanwhile'], ['Try again'])
  const checksumOf = (name: string) => state.files.find((file) => file.name === name)?.checksum ?? null
  for (const name of notApplied) await session.query({ text: `delete from ${JOURNAL} where name = $1`, values: [name] })
  for (const name of applied) await session.query({ text: ADD, values: [name, checksumOf(name)] })
  for (const name of edited)
    await session.query({
      text: `update ${JOURNAL} set checksum = $2 where name = $1`,
      values: [name, checksumOf(name)],
    })
}
