import { isDeepStrictEqual } from 'node:util'
import type { Connection, Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import { type MigrationFolder, nameIn } from '../files/files.js'
import { createJournal, type Entry, JOURNAL, type MigrationStatus, readEntries, rejectNewer } from '../files/journal.js'
import { asOnlyMigrator } from './lock.js'
import {
  type Contradiction,
  createVerify,
  type JournalState,
  readJournalState,
  type Resolution,
  type Verify,
} from './verify-resolution.js'

interface ResolveRequest extends Resolution {
  /** Whether to go on where the database cannot confirm the change, or where a difference remains that can be settled later. */
  readonly certain: boolean
  /** An empty database to run the files in. */
  readonly scratch: Database
}

/**
 * Changes only the journal. First compares the database with the schema of the files that the changed journal will list.
 * @returns sentences on what could not be verified
 * @throws MigrationError if the database contradicts the change, or another disagreement would remain; then nothing has changed
 */
export async function resolveJournal(
  database: Database,
  folder: MigrationFolder,
  request: ResolveRequest,
): Promise<readonly string[]> {
  const state = await readJournalState(database, folder)
  const resolution = named(request)
  rejectUnknown(state, resolution)
  rejectRest(state, resolution)
  const { contradictions, unverified } = await createVerify(database, state, request.scratch)(resolution)
  const rejected = contradictions.filter(({ leavable }) => !(request.certain && leavable))
  if (rejected.length > 0) throw contradicted(contradictions, resolution)
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

/** The disagreements of the journal and the files, and a resolution of all of them. The database may contradict it. */
export interface Diagnosis {
  readonly findings: readonly string[]
  readonly resolution: Resolution
  /** The reasons against the resolution; none if the database confirms it. */
  readonly contradictions: readonly Contradiction[]
  /** Migrations that an earlier version of the project can still apply: a squashed file replaces them. */
  readonly behind: readonly string[]
}

/** Finds what the journal and the files disagree about, and what would settle it. Changes nothing. */
export async function diagnoseJournal(
  database: Database,
  folder: MigrationFolder,
  scratch: Database,
): Promise<Diagnosis> {
  const state = await readJournalState(database, folder)
  const { statuses, entries, files } = state
  const changed = statuses.filter((status) => status.state === 'changed').map(({ name }) => name)
  const missing = statuses.filter((status) => status.state === 'missing').map(({ name }) => name)
  const renamed = missing.flatMap((name) => renamedTo(entries.get(name), state))
  const partial = statuses.filter((status) => status.state === 'partial')
  const marked = [...renamed, ...partial.map(({ name }) => name)]
  const rest: Resolution = { applied: marked, notApplied: missing, edited: changed }
  const verify = createVerify(database, state, scratch)
  const unrecorded = await recordable(state, rest, { renamed, verify })
  const resolution = { ...rest, applied: unrecorded.length > marked.length ? unrecorded : marked }
  const findings = [
    ...changed.map((name) => `${name} was changed on disk since it was applied`),
    ...missing.map((name) => `${name} was applied to this database, and its file is missing`),
    ...partial.map(
      ({ name, lacks = [] }) =>
        `${name} replaces ${lacks.join(', ')}, which this database has not applied as they were`,
    ),
    ...resolution.applied
      .filter((name) => !marked.includes(name))
      .map((name) => `${name} is pending, and its objects exist in the database`),
  ]
  if (findings.length === 0) return { findings, resolution, contradictions: [], behind: [] }
  const isComplete = files.length > 0 || missing.length > 0
  const { contradictions } = isComplete ? await verify(resolution) : { contradictions: [] }
  const behind = partial.flatMap(({ lacks = [] }) => lacks)
  return { findings, resolution, contradictions, behind }
}

function named({ applied, notApplied, edited }: Resolution): Resolution {
  return {
    applied: applied.map(nameIn),
    notApplied: notApplied.map(nameIn),
    edited: edited.map(nameIn),
  }
}

function rejectUnknown(state: JournalState, { applied, notApplied, edited }: Resolution): void {
  const { statuses, entries } = state
  const renamed = notApplied.flatMap((name) => renamedTo(entries.get(name), state))
  const stateOf = (name: string) => statuses.find((status) => status.name === name)?.state
  const errors = [
    ...applied
      .filter((name) => !['pending', 'partial'].includes(stateOf(name) ?? ''))
      .map((name) => `${name} is not a pending migration`),
    ...notApplied.filter((name) => !entries.has(name)).map((name) => `${name} is not recorded as applied`),
    ...edited
      .filter((name) => stateOf(name) !== 'changed')
      .map((name) => `${name} was not changed since it was applied`),
    ...applied.flatMap((name) => {
      // A renamed file stays applied, as after `migrate renumber --journal`.
      if (renamed.includes(name)) return []
      const earlier = statuses.find(
        (other) => other.state === 'pending' && other.name < name && !applied.includes(other.name),
      )
      return earlier ? [`${earlier.name} comes before ${name} and is pending`] : []
    }),
  ]
  if (errors.length > 0)
    throw new MigrationError(errors, ['See the state of each migration: snippetctl migrate status'])
}

const REST: Readonly<Partial<Record<MigrationStatus['state'], string>>> = {
  changed: 'changed on disk',
  missing: 'missing on disk',
  partial: 'applied in part',
}

/** Files can only be compared with the database if all disagreements are settled at once. */
function rejectRest({ statuses }: JournalState, { applied, notApplied, edited }: Resolution): void {
  const rest = statuses.filter(
    ({ name, state }) =>
      (state === 'partial' && !applied.includes(name)) ||
      (state === 'changed' && !edited.includes(name) && !notApplied.includes(name)) ||
      (state === 'missing' && !notApplied.includes(name)),
  )
  if (rest.length > 0)
    throw new MigrationError(
      rest.map(({ name, state }) => `${name} is ${REST[state] ?? state} as well`),
      ['Settle all in one command; this shows it: snippetctl migrate resolve'],
    )
  rejectNewer(
    statuses.filter(({ name }) => !notApplied.includes(name)),
    'change the journal',
  )
}

/** Pending files with the text of a missing one. */
function renamedTo(entry: Entry | undefined, { files, statuses }: JournalState): readonly string[] {
  const pending = files.filter(({ name }) =>
    statuses.some((status) => status.name === name && status.state === 'pending'),
  )
  return pending.filter(({ checksum }) => checksum === entry?.checksum).map(({ name }) => name)
}

/** The renamed files, with the other pending and partial files whose tables, columns and rules the database already has, from the first of them on. */
async function recordable(
  { statuses }: JournalState,
  rest: Resolution,
  { renamed, verify }: { readonly renamed: readonly string[]; readonly verify: Verify },
): Promise<readonly string[]> {
  const pending = statuses
    .filter(({ name, state }) => ['pending', 'partial'].includes(state) && !renamed.includes(name))
    .map(({ name }) => name)
  for (let count = pending.length; count > 0; count--) {
    const resolution = { ...rest, applied: [...renamed, ...pending.slice(0, count)].toSorted() }
    const { contradictions, unverified } = await verify(resolution)
    if (contradictions.length === 0 && !unverified.includes(pending[count - 1] ?? '')) return resolution.applied
  }
  return []
}

function contradicted(contradictions: readonly Contradiction[], { applied }: Resolution): MigrationError {
  const mayApply = applied.length > 0 && contradictions.some(({ leavable }) => !leavable)
  return new MigrationError(
    contradictions.map(({ text }) => `the database says otherwise: ${text}`),
    [
      ...contradictions.map(({ help }) => help),
      ...(mayApply ? ['Or, if the database has nothing of the migration, apply it: snippetctl migrate up'] : []),
    ],
  )
}

const ADD = `
  insert into ${JOURNAL} (name, batch, migration_time, checksum)
  values ($1, (select coalesce(max(batch), 0) + 1 from ${JOURNAL}), current_timestamp, $2)`

async function write(
  session: Connection,
  state: JournalState,
  { applied, notApplied, edited }: Resolution,
): Promise<void> {
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
