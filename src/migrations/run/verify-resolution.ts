import { isDeepStrictEqual } from 'node:util'
import type { Connection, Database } from '../../db/database.js'
import { shellWord } from '../../foundation/shell-word.js'
import { findDrift, readBoth } from '../drift/drift.js'
import type { Drift } from '../drift/drifted-object.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import { compareJournal, type Entry, type MigrationStatus, readEntries } from '../files/journal.js'
import { type Catalog, readLiveCatalog } from '../introspect/catalog/catalog.js'
import { build, catalogOf, FROM, inScratch, replay } from './scratch.js'

/** Changes of the journal, by the names of migrations. */
export interface Resolution {
  /** Pending files to record as applied, because the database has the objects that they create. */
  readonly applied: readonly string[]
  /** Recorded migrations to remove from the journal, because the database lacks the objects that they create. */
  readonly notApplied: readonly string[]
  /** Recorded files to accept as they are on disk now. */
  readonly edited: readonly string[]
}

/** A reason why a resolution is wrong, as far as the database shows. */
export interface Contradiction {
  readonly text: string
  readonly help: string
  /** Whether the project can be repaired after the change all the same. */
  readonly leavable: boolean
}

/** The files, the journal, and their differences. */
export interface JournalState {
  readonly files: readonly Migration[]
  readonly entries: ReadonlyMap<string, Entry>
  readonly statuses: readonly MigrationStatus[]
}

/** Reads files and journal. */
export async function readJournalState(database: Connection, folder: MigrationFolder): Promise<JournalState> {
  const files = await readMigrations(folder)
  return { files, entries: await readEntries(database), statuses: await compareJournal(database, files) }
}

const DISAGREEING: ReadonlySet<string> = new Set(['changed', 'missing', 'partial'])

/** The comparison of a resolution with the database. */
export interface Verification {
  readonly contradictions: readonly Contradiction[]
  /** Files that change nothing that could be compared. */
  readonly unverified: readonly string[]
}

/** Finds the differences that exist without a resolution. Returns none while the journal and the files disagree, because they cannot be compared then. */
async function knownDrift(
  database: Database,
  { files, statuses }: JournalState,
  scratch: Database,
): Promise<readonly string[]> {
  if (statuses.some(({ state }) => DISAGREEING.has(state))) return []
  const recorded = recordedIn(statuses)
  const now = files.filter(({ name }) => recorded.has(name))
  return (await driftOf(database, now, scratch)).map(({ text }) => text)
}

function recordedIn(statuses: JournalState['statuses']): ReadonlySet<string> {
  return new Set(statuses.filter(({ state }) => state === 'applied' || state === 'changed').map(({ name }) => name))
}

/** Compares the database with the result of the files that a resolution leaves as applied. */
export type Verify = (resolution: Resolution) => Promise<Verification>

/** @param scratch an empty database to run the files in */
export function createVerify(database: Database, state: JournalState, scratch: Database): Verify {
  let known: Promise<readonly string[]> | undefined
  return async (resolution) => {
    known ??= knownDrift(database, state, scratch)
    return verify(database, state, { resolution, known: await known, scratch })
  }
}

interface Claim {
  readonly resolution: Resolution
  /** The differences that the resolution does not cause. */
  readonly known: readonly string[]
  readonly scratch: Database
}

async function verify(
  database: Database,
  { files, entries, statuses }: JournalState,
  { resolution, known, scratch }: Claim,
): Promise<Verification> {
  const { applied, notApplied } = resolution
  const recorded = recordedIn(statuses)
  const isThen = ({ name }: Migration) => applied.includes(name) || (recorded.has(name) && !notApplied.includes(name))
  const then = files.filter(isThen)
  const drift = (await driftOf(database, then, scratch)).filter(({ text }) => !known.includes(text))
  const undone = files.filter(({ name }) => notApplied.includes(name))
  const effects = await effectsOf(
    scratch,
    files.filter((file) => isThen(file) || undone.includes(file)),
  )
  const live = new Set((await readLiveCatalog(database)).map(({ name }) => name))
  const tables = undone.flatMap(({ name }) => (effects.get(name)?.tables ?? []).filter((table) => live.has(table)))
  const moved = new Set(notApplied.flatMap((name) => entries.get(name)?.checksum ?? []))
  const marked = files.filter(
    ({ name, checksum }) => (applied.includes(name) || notApplied.includes(name)) && !moved.has(checksum),
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

/** A file that becomes pending would fail because its objects exist, and nothing can be adopted while it is pending. */
function contradictionOf({ text, repair }: Drift, undone: readonly Migration[]): Contradiction {
  if ('sql' in repair) return { text, help: `restore it: ${repair.sql}`, leavable: false }
  if ('migrate' in repair)
    return {
      text,
      help: `keep it: write a migration with \`${repair.migrate}\`, and add the value to the \`choices\` of its fields`,
      leavable: false,
    }
  if (undone.length > 0) return { text, help: 'remove it, or leave the migration as applied', leavable: false }
  return { text, help: `keep it, after --yes: snippetctl migrate adopt ${shellWord(repair.adopt)}`, leavable: true }
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
