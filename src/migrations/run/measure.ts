import type { Database } from '../../db/database.js'
import { runPart } from '../files/code.js'
import { isOutside } from '../files/concurrent.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import type { Plan } from '../plan/generate.js'
import { compareJournal } from '../files/journal.js'
import { loadExtensionsOf } from './scratch.js'
import { attempt, inDiscardedTransaction, runStatements, type Session } from './session.js'

/** The measurement of one step. */
export interface Measured {
  /** The step's subject, or the name of the pending file. */
  readonly subject: string
  readonly milliseconds: number
  /** Whether it was skipped, because it cannot run in a transaction and be rolled back. */
  readonly outside: boolean
  /** The new locks of this step, the strongest for each table. */
  readonly locks: readonly TableLock[]
  /** The tables that were rewritten. */
  readonly rewritten: readonly string[]
  /** The error, after which no later step was tried. */
  readonly failure: string | undefined
}

export interface TableLock {
  readonly table: string
  readonly mode: string
}

/** The lock modes of PostgreSQL from the weakest to the strongest, with their effect on other sessions. */
const LOCKS: readonly (readonly [mode: string, means: string])[] = [
  ['AccessShareLock', 'nobody waits'],
  ['RowShareLock', 'nobody waits'],
  ['RowExclusiveLock', 'nobody waits'],
  ['ShareUpdateExclusiveLock', 'nobody waits'],
  ['ShareLock', 'writes wait'],
  ['ShareRowExclusiveLock', 'writes wait'],
  ['ExclusiveLock', 'writes wait'],
  ['AccessExclusiveLock', 'reads and writes wait'],
]

/** Describes the effect of a lock: `writes wait`. */
export function lockMeaning(mode: string): string {
  return LOCKS.find(([name]) => name === mode)?.[1] ?? mode
}

const strength = (mode: string): number => LOCKS.findIndex(([name]) => name === mode)

interface Work {
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
  const works: readonly Work[] = [
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
    for (const work of works) {
      measured.push(await measure(session, work))
      if (measured.at(-1)?.failure !== undefined) break
    }
    return measured
  })
}

async function measure(session: Session, { subject, outside, run }: Work): Promise<Measured> {
  const nothing = { subject, milliseconds: 0, outside, locks: [], rewritten: [], failure: undefined }
  if (outside) return nothing
  const [held, files] = [await readLocks(session), await readFiles(session)]
  const start = performance.now()
  // A failed statement would end the transaction before its locks can be read.
  const failure = (await attempt(session, () => run(session)))?.message
  const milliseconds = Math.round(performance.now() - start)
  if (failure !== undefined) return { ...nothing, milliseconds, failure }
  const now = await readFiles(session)
  const locks = [...(await readLocks(session))].filter(
    ([table, mode]) => strength(mode) > strength(held.get(table) ?? ''),
  )
  return {
    ...nothing,
    milliseconds,
    locks: locks.map(([table, mode]) => ({ table, mode })),
    rewritten: [...now].flatMap(([id, { table, file }]) => {
      const before = files.get(id)
      return before !== undefined && before.file !== file ? [table] : []
    }),
  }
}

const LOCKED = `
  select c.relname, l.mode from pg_locks l join pg_class c on c.oid = l.relation
  join pg_namespace n on n.oid = c.relnamespace
  where l.pid = pg_backend_pid() and l.granted and c.relkind in ('r', 'p') and n.nspname !~ '^pg_'`

async function readLocks(session: Session): Promise<ReadonlyMap<string, string>> {
  const { rows } = await session.query({ text: LOCKED, values: [] })
  const strongest = new Map<string, string>()
  for (const [table, mode] of rows) {
    if (typeof table !== 'string' || typeof mode !== 'string') continue
    if (strength(mode) > strength(strongest.get(table) ?? '')) strongest.set(table, mode)
  }
  return strongest
}

const FILES = `
  select c.oid::text, c.relname, pg_relation_filenode(c.oid)::text from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`

async function readFiles(
  session: Session,
): Promise<ReadonlyMap<string, { readonly table: string; readonly file: string | null }>> {
  const { rows } = await session.query({ text: FILES, values: [] })
  return new Map(rows.map(([id, table, file]) => [id ?? '', { table: table ?? '', file: file ?? null }]))
}
