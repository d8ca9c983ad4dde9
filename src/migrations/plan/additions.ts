import type { AppSpec } from '../../config/spec.js'
import type { Connection, Database } from '../../db/database.js'
import type { Difference } from './compare/diff.js'
import type { Migration } from '../files/files.js'
import { after, type Compared, compareSettled, differ } from './compare/compare.js'
import { onBothSides, type Plan, prove } from './generate.js'
import { extra, find, has } from './compare/pair.js'
import { FROM, runSteps } from '../run/scratch.js'
import { attempt, rolledBack } from '../run/session.js'
import { type WantedTable, wantedTables } from './sql.js'
import type { Step } from '../files/steps.js'
import { wantedViews } from './views.js'
import { findLacks } from '../drift/verify.js'

/** A plan of the steps that only add. */
export interface Additions extends Plan {
  /** The other steps, which are not part of it. */
  readonly left: readonly Step[]
  /** Why the configuration cannot be served after the additions alone, one sentence each; empty if it can be. */
  readonly unmet: readonly string[]
  /** Tables that lose their model by this change of the configuration. */
  readonly orphans: readonly string[]
}

/** Whether two configurations need the same tables and views. */
export function wantSameTables(one: AppSpec, other: AppSpec): boolean {
  // JSON leaves out the functions, which are new each time.
  const wants = (spec: AppSpec) => JSON.stringify([wantedTables(spec), wantedViews(spec), spec.dropped])
  return wants(one) === wants(other)
}

/**
 * Plans the additions of a configuration to the schema of the migration files, and leaves other changes out.
 * @param before the previous configuration: a column that it did not have either is not a former name of a new one
 * @param scratch an empty database, which is left unchanged
 * @throws as `planMigration` does
 */
export async function planAdditions(
  spec: AppSpec,
  before: AppSpec,
  files: readonly Migration[],
  scratch: Database,
): Promise<Additions> {
  return onBothSides(spec, files, scratch, async (session, sides) => {
    const known = wantedTables(before)
    const compared = { ...sides, wanted: sides.wanted.map((table) => forgetting(table, sides, known)) }
    const { steps: found, rejections, notes, former } = await compareSettled(session, compared)
    if (sides.isSketch && found.length + rejections.length > 0) return undefined
    const { taken, left } = part(found)
    const lacks = rejections.length > 0 ? [] : await lacksAfter(session, taken, compared.wanted)
    const orphans = extra(known, compared.wanted).filter(({ name }) => has(sides.from, name))
    const rest = { left, unmet: lacks, orphans: orphans.map(({ name }) => name) }
    const difference: Difference = { rejections, notes, steps: lacks.length > 0 ? [] : taken }
    const isWanted = async (from: Compared['from']) => {
      const { steps } = await differ(session, { ...after(compared, difference.steps), from })
      return part(steps).taken.every(({ subject }) => left.some((step) => step.subject === subject))
    }
    return {
      ...(await prove(session, difference, { from: sides.from, former, files: files.length, isWanted })),
      ...rest,
    }
  })
}

/** A table whose columns that were already unused may be dropped: they cannot be meant as renamed. */
function forgetting(table: WantedTable, { from }: Compared, known: readonly WantedTable[]): WantedTable {
  const was = find(known, table.name)
  const made = find(from, table.name)
  if (!was || !made) return table
  return { ...table, dropped: [...table.dropped, ...extra(made.columns, was.columns).map(({ name }) => name)] }
}

/** An addition that replaces something that must be dropped first waits with it. */
function part(steps: readonly Step[]): { readonly taken: readonly Step[]; readonly left: readonly Step[] } {
  const others = new Set(steps.filter((step) => !isAddition(step)).map(({ subject }) => subject))
  const isTaken = (step: Step) => isAddition(step) && !others.has(step.subject)
  return { taken: steps.filter(isTaken), left: steps.filter((step) => !isTaken(step)) }
}

/** An addition where rows exist may fail, and then nothing has changed. A rename needs a migration that somebody has requested. */
function isAddition({ change, safety }: Step): boolean {
  return (change === 'add' && safety !== 'destructive') || (change === 'change' && safety === 'safe')
}

function lacksAfter(
  session: Connection,
  taken: readonly Step[],
  wanted: readonly WantedTable[],
): Promise<readonly string[]> {
  return rolledBack(session, async () => {
    const rejected = await attempt(session, () => runSteps(session, taken))
    if (rejected) return [`the additions cannot be made without the rest: ${rejected.message}`]
    return (await findLacks(wanted, session, FROM)).map(({ text }) => text)
  })
}
