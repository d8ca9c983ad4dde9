import { formattedTable } from '../../fields/table-name.js'
import type { Database } from '../../db/database.js'
import { runPart } from '../files/code.js'
import { isOutside } from '../files/concurrent.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import type { Plan } from '../plan/generate.js'
import { compareJournal } from '../files/journal.js'
import { loadExtensionsOf } from './scratch.js'
import { isLockMode, type LockMode, strength, type TableLock } from '../locks/modes.js'
import {
  attempt,
  inDiscardedTransaction,
  runStatements,
  type Session,
  sqlState,
  UNCOMMITTED_CHOICE,
} from './session.js'

/** The measurement of one step. */
export interface Measured {
  /** The step's subject, or the name of the pending file. */
  readonly subject: string
  readonly milliseconds: number
  /** Whether it was skipped, because it cannot run in a transaction and be rolled back. */
  readonly outside: boolean
  /** The locks at the end of this step, the strongest for each table. */
  readonly locks: readonly HeldLock[]
  /** The tables that were read as a whole. */
  readonly scanned: readonly string[]
  /** The tables with a new or rebuilt index. */
  readonly indexed: readonly string[]
  /** The tables that were rewritten. */
  readonly rewritten: readonly string[]
  /** The error, after which no later step was tried. */
  readonly failure: string | undefined
}

/** A lock that the transaction really holds. */
export interface HeldLock extends TableLock {
  /** The step or file that took it: a lock is held until the end of its transaction. */
  readonly since: string
}

interface MeasuredPart {
  readonly subject: string
  readonly outside: boolean
  run(session: Session): Promise<void>
}

/** Measures the pending migrations of a folder on a database, and then the steps of a plan. */
export async function measureMigration(
  database: Database,
  directory: MigrationFolder,
  { steps }: Pick<Plan, 'steps'>,
): Promise<readonly Measured[]> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  const pending = new Set(statuses.filter(({ state }) => state === 'pending').map(({ name }) => name))
  const affected = files.filter(({ name }) => pending.has(name))
  await loadExtensionsOf(database, affected)
  return measureSteps(database, affected, steps)
}

/**
 * Runs pending files and then the steps of a plan in one transaction, measures each, and rolls back.
 * @param database a copy, or a database whose tables may be locked meanwhile
 */
function measureSteps(
  database: Database,
  pending: readonly Migration[],
  steps: Plan['steps'],
): Promise<readonly Measured[]> {
  const parts: readonly MeasuredPart[] = [
    ...pending.map((file) => ({
      subject: file.name,
      outside: database.concurrent && isOutside(file.up),
      run: (session: Session) => runPart(session, file, 'up'),
    })),
    ...steps.map(({ subject, up, outside = false }) => ({
      subject,
      outside,
      run: (session: Session) =>
        runStatements(
          session,
          subject,
          up.map((text) => ({ text, line: 1 })),
        ),
    })),
  ]
  return inDiscardedTransaction(database, async (session) => {
    for (const setting of [
      "statement_timeout = '0'",
      "idle_in_transaction_session_timeout = '0'",
      "lock_timeout = '5s'",
    ])
      await session.query({ text: `set local ${setting}`, values: [] })
    const measured: Measured[] = []
    const start = await readState(session)
    const course: Course = { start, now: start, since: new Map() }
    for (const part of parts) {
      measured.push(await measure(session, part, course))
      if (measured.at(-1)?.failure !== undefined) break
    }
    return measured
  })
}

interface Course {
  /** The database before the first step. */
  readonly start: State
  /** The database after the last step. */
  now: State
  /** The strongest lock of each table so far, with the step that took it. */
  readonly since: Map<string, HeldLock>
}

async function measure(session: Session, { subject, outside, run }: MeasuredPart, course: Course): Promise<Measured> {
  const { start, now: before, since } = course
  const nothing = { locks: [], scanned: [], indexed: [], rewritten: [], failure: undefined }
  const measured = { ...nothing, subject, milliseconds: 0, outside }
  if (outside) return measured
  const began = performance.now()
  // A failed statement would end the transaction before its locks can be read.
  const error = await attempt(session, () => run(session))
  // The choice is in a file before it, which would be committed.
  if (sqlState(error) === UNCOMMITTED_CHOICE) return { ...measured, outside: true }
  const failure = error?.message
  const milliseconds = Math.round(performance.now() - began)
  if (failure !== undefined) return { ...measured, milliseconds, failure }
  const after = await readState(session)
  course.now = after
  const tables = [...start].flatMap(([id, former]): readonly (readonly [string, Relation])[] =>
    // Others wait for what the transaction has dropped until it commits.
    former.owner === undefined ? [[id, after.get(id) ?? { ...former, mode: 'AccessExclusiveLock' }]] : [],
  )
  const locks = tables.flatMap(([id, { name: table, mode }]) => {
    if (mode === undefined) return []
    const held = since.get(id)
    if (held && strength(held.mode) >= strength(mode)) return [{ ...held, table }]
    since.set(id, { table, mode, since: subject })
    return [{ table, mode, since: subject }]
  })
  const files = new Set([...before.values()].map(({ file }) => file))
  // An index that is made again may keep its file.
  const isNew = ([, { file }]: readonly [string, Relation]) => file !== null && !files.has(file)
  const rewritten = new Set(tables.filter(isNew).map(([id]) => id))
  const built = new Set([...after].filter(isNew).flatMap(([, { owner }]) => owner ?? []))
  const named = (isMeant: (id: string, table: Relation) => boolean) =>
    tables.filter(([id, table]) => isMeant(id, table)).map(([, { name }]) => name)
  return {
    ...measured,
    milliseconds,
    locks,
    scanned: named((id, { scans }) => scans > (before.get(id)?.scans ?? 0)),
    indexed: named((id) => built.has(id) && !rewritten.has(id)),
    rewritten: named((id) => rewritten.has(id)),
  }
}

/** A table, a view or an index at one moment of the transaction. */
interface Relation {
  readonly name: string
  /** The table of an index. */
  readonly owner: string | undefined
  /** Its file, which is another one after a rewrite. */
  readonly file: string | null
  /** How often the transaction has read it as a whole. */
  readonly scans: number
  /** The strongest lock that the transaction holds on it. */
  readonly mode: LockMode | undefined
}

type State = ReadonlyMap<string, Relation>

const STATE = `
  select c.oid::text, ${formattedTable('c', 'n')}, i.indrelid::text, pg_relation_filenode(c.oid)::text, pg_stat_get_xact_numscans(c.oid)::text, l.modes
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_index i on i.indexrelid = c.oid
  left join (
    select relation, string_agg(distinct mode, ',') as modes from pg_locks
    where pid = pg_backend_pid() and granted and database = (select oid from pg_database where datname = current_database())
    group by relation
  ) l on l.relation = c.oid
  where c.relkind in ('r', 'p', 'v', 'm', 'i') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`

async function readState(session: Session): Promise<State> {
  const { rows } = await session.query({ text: STATE, values: [] })
  return new Map(
    rows.map(([id, name, owner, file, scans, modes]) => {
      const held = (modes ?? '').split(',').filter(isLockMode)
      const mode = held.toSorted((one, other) => strength(other) - strength(one))[0]
      return [id ?? '', { name: name ?? '', owner: owner ?? undefined, file: file ?? null, scans: Number(scans), mode }]
    }),
  )
}
