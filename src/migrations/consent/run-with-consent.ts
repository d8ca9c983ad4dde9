import { attempt } from '../run/session.js'
import type { MigratingSession } from '../run/lock.js'
import type { Migration } from '../files/files.js'
import { type Inventory, takeInventory } from './inventory.js'
import { type Allows, ConsentNeeded, isAllowed, type Loss } from './loss.js'
import { lossesBetween, type Unclear } from './losses-between.js'
import { keyOf, measureTables } from './measure.js'
import { observeStatements, type Stretch } from './stretches.js'

/** Thrown if tables must be measured before a migration to find out what it destroys. Its transaction is rolled back. */
export class MeasureFirst extends Error {
  readonly tables: readonly Unclear[]

  constructor(tables: readonly Unclear[]) {
    super('the migration must run again')
    this.tables = tables
  }
}

interface Consent {
  readonly file: Migration
  /** The statements of the part that runs. */
  readonly statements: Migration['up']
  /** The objects at the start of the run. */
  readonly start: Inventory
  readonly allows: Allows
  /** The tables to measure before. */
  readonly measure: readonly Unclear[]
}

/**
 * Runs a migration, and compares the database before and after, because a file can destroy objects in ways that its text does not show.
 * @returns new partitions since the start of the run, which may now have rows of older partitions
 * @throws ConsentNeeded for losses without consent, MeasureFirst if the migration must run again
 */
export async function runWithConsent(
  session: MigratingSession,
  { file, statements, start, allows, measure }: Consent,
  run: (session: MigratingSession) => Promise<void>,
): Promise<ReadonlyMap<string, string>> {
  const before = await takeCountingInventory(session, start.schema)
  const measured = await measureTables(session, measure)
  const observed = observeStatements(session, before)
  let stretches: readonly Stretch[] = []
  await run({
    ...session,
    query: (statement) => observed.query(statement),
    async restoreSettings() {
      stretches = await observed.finish()
      await session.restoreSettings()
    },
  })
  const after = await takeInventory(session, start.schema)
  const { losses, unclear, filled } = lossesBetween({
    ...{ migration: file.name, start, before, after, stretches },
    functions: stretches.some(({ kind }) => kind === 'update') ? await functionsOf(session) : [],
    uncounted: stretches.every(isCounted) ? [] : await changedTables(session),
  })
  const isUnconfirmed = (loss: Loss) => !isAllowed(loss, statements, { allows, schema: start.schema })
  const open = unclear.filter(isUnconfirmed)
  const unmeasured = open.filter((each) => !measured.has(keyOf(each)))
  const isRepeated = unmeasured.some((each) => measure.some((one) => keyOf(one) === keyOf(each)))
  if (unmeasured.length > 0 && !isRepeated) throw new MeasureFirst([...measure, ...unmeasured])
  const found: Loss[] = []
  for (const each of open) {
    const lost = await measured.get(keyOf(each))?.(each)
    if (lost !== 0 && !found.some(({ object }) => object === each.object))
      found.push({ ...each, count: lost?.toLocaleString('en-US') })
  }
  const unconfirmed = [...losses.filter(isUnconfirmed), ...found]
  if (unconfirmed.length > 0) throw new ConsentNeeded(unconfirmed)
  return filled
}

async function takeCountingInventory(session: MigratingSession, schema: string): Promise<Inventory> {
  const inventory = await takeInventory(session, schema)
  if (inventory.counts) return inventory
  // Only superusers may do so.
  await attempt(session, () => session.query({ text: 'set local track_counts = on', values: [] }))
  return takeInventory(session, schema)
}

function isCounted({ texts, before, after }: Stretch): boolean {
  return before.counts && after.counts && !texts.some((text) => /track_counts/i.test(text))
}

/** The functions of users, which an update may call. */
async function functionsOf(session: MigratingSession): Promise<readonly string[]> {
  const { rows } = await session.query({
    text: `select distinct proname from pg_proc where provolatile = 'v' and pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`,
    values: [],
  })
  return rows.map(([name]) => name ?? '')
}

/** The tables whose rows the transaction may have changed, by the locks that it holds. */
async function changedTables(session: MigratingSession): Promise<readonly string[]> {
  const { rows } = await session.query({
    text: `select distinct relation::text from pg_locks where locktype = 'relation' and pid = pg_backend_pid() and granted
      and mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`,
    values: [],
  })
  return rows.map(([id]) => id ?? '')
}
