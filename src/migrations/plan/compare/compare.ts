import type { Connection } from '../../../db/database.js'
import { tableSql } from '../../../fields/table-name.js'
import { ownedBy } from '../../files/render.js'
import type { Step } from '../../files/steps.js'
import type { Catalog } from '../../introspect/catalog/catalog.js'
import { catalogOf, FROM, type Partitioning, runAll, runSteps } from '../../run/scratch.js'
import { attempt, rolledBack, sqlState } from '../../run/session.js'
import { checkConversions } from '../prove/check-conversions.js'
import type { WantedTable } from '../sql.js'
import { enumSteps, irreversible } from '../steps/enum-steps.js'
import { findRenames } from '../steps/renames.js'
import type { Swap } from '../steps/swaps.js'
import type { GivenConversion } from '../steps/type-change.js'
import { viewSteps } from '../steps/view-steps.js'
import { type CatalogView, createViews, readViews, type WantedView } from '../views.js'
import { compareSchemas, type Difference } from './diff.js'
import type { Ownership } from './ownership.js'
import { type FormerNames, find, has } from './pair.js'
import { keyEnumRejections } from './key-enums.js'
import { reconcile } from './reconcile.js'

/** The schemas to compare. */
export interface Compared {
  readonly wanted: readonly WantedTable[]
  readonly dropped: readonly string[]
  readonly from: Catalog
  /** The views of the files; undefined if only the session knows them. */
  readonly fromViews: readonly CatalogView[] | undefined
  readonly to: Catalog
  /** The wanted views, as the same server describes them. */
  readonly views: { readonly wanted: readonly WantedView[]; readonly to: readonly CatalogView[] }
  /** Objects that other programs created, and that only their database has. */
  readonly known: readonly string[]
  readonly owns: Ownership
  readonly partitioning: Partitioning
  /** The conversions of columns that a person gives. */
  readonly conversions: readonly GivenConversion[]
  readonly swaps: readonly Swap[]
}

/** A difference, and the wanted tables as the files spell them. */
export interface Comparison extends Difference {
  readonly to: Catalog
  readonly former: FormerNames
  /** The tables and the names of the views that the files make, after the renames of the plan. */
  readonly existing: { readonly tables: Catalog; readonly views: readonly string[] }
}

/** Compares the sides. */
export async function differ(session: Connection, compared: Compared): Promise<Difference> {
  const { steps, rejections, notes } = await compareSettled(session, compared)
  return { steps, rejections, notes }
}

/** The tables and views of the migration files. */
export interface Schema {
  readonly tables: Catalog
  readonly views: readonly CatalogView[]
}

export async function readSchema(session: Connection): Promise<Schema> {
  return { tables: await catalogOf(session, FROM), views: await readViews(session, FROM) }
}

/**
 * The tables after some steps in the schema of the files, where definitions use the new names.
 * @param compared its tables and views before
 */
async function schemaAfter(
  session: Connection,
  { from, fromViews }: Pick<Compared, 'from' | 'fromViews'>,
  steps: readonly Step[],
): Promise<Schema> {
  if (steps.length === 0) return { tables: from, views: fromViews ?? (await readViews(session, FROM)) }
  return rolledBack(session, async () => {
    await runSteps(session, steps)
    return readSchema(session)
  })
}

/** Runs the renames and adds the choices of enums, to read the resulting catalogue. */
export async function compareSettled(session: Connection, compared: Compared): Promise<Comparison> {
  const { wanted, dropped, to, views, known, owns, conversions, swaps, partitioning } = compared
  const renames = findRenames(wanted, compared.from, swaps)
  const settled = await schemaAfter(session, compared, renames.steps)
  const original = { tables: compared.from, views: compared.fromViews ?? (await readViews(session, FROM)) }
  const choices = await withoutDown(session, enumSteps({ wanted, from: settled.tables, to, original }))
  const before = [...choices, ...renames.steps]
  const { tables: from, views: fromViews } =
    choices.length === 0 ? settled : await schemaAfter(session, compared, before)
  const { former } = renames
  const target = reconcile({ wanted, from, to, former, owns, dropped })
  const { partitions } = partitioning
  const added = new Map(choices.map((step) => [step.subject, step.choices ?? []]))
  const sides = { ...target, dropped, from, former, owns, conversions, partitions, choices: added }
  const { steps, rejections, notes } = compareSchemas(sides)
  await checkConversions(session, conversions, { from, to: target.to, before })
  const ofTables = [...renames.steps, ...steps]
  const toViews = await viewsAfter(session, views, fromViews, [...choices, ...ofTables])
  const { first, last } = viewSteps(
    { wanted: views.wanted, to: toViews, from: fromViews, original: original.views, owned: owns.recorded },
    ofTables,
  )
  const all = [...choices, ...first, ...ofTables, ...last]
  const existing = { tables: from, views: fromViews.map(({ name }) => name) }
  const allRejections = [
    ...renames.rejections,
    ...rejections,
    ...keyEnumRejections(target),
    ...knownAlready(all, known),
  ]
  return { steps: all, rejections: allRejections, notes, to: target.to, former, existing }
}

/** Leaves out the down part of steps that cannot be reverted, because another object depends on the enum. */
async function withoutDown(session: Connection, steps: readonly Step[]): Promise<readonly Step[]> {
  const tried: Step[] = []
  for (const step of steps) {
    const error = await attempt(session, () => rolledBack(session, () => runAll(session, [...step.up, ...step.down])))
    tried.push(error ? irreversible(step) : step)
  }
  return tried
}

/**
 * The wanted views after the steps of the tables. There, `*` stands for the columns in the order of the table, which can differ from the order of the
 * fields. If the steps fail, their own test or a rejection explains the error.
 * @param from the views of the files
 */
async function viewsAfter(
  session: Connection,
  { wanted, to }: Compared['views'],
  from: readonly CatalogView[],
  steps: readonly Step[],
): Promise<readonly CatalogView[]> {
  if (wanted.every(({ name }) => find(from, name)?.query === find(to, name)?.query)) return to
  const replaced = from.filter(({ name }) => has(wanted, name))
  return rolledBack(session, async () => {
    await runAll(
      session,
      replaced.map(({ name }) => `drop view if exists ${tableSql(name)} cascade`),
    )
    await runSteps(session, steps)
    await createViews(session, wanted)
    return readViews(session, FROM)
  }).catch((error: unknown) => {
    if (sqlState(error) === undefined) throw error
    return to
  })
}

/** Additions whose names belong to objects that others made. */
function knownAlready(steps: readonly Step[], known: readonly string[]): readonly string[] {
  return steps
    .filter(({ change, subject }) => (change === 'add' || change === 'change') && known.includes(subject))
    .map(
      ({ subject }) =>
        `${subject} already exists in the database: another program created it, and a migration lists it as known; give the new one another name`,
    )
}

/** The comparison after steps were run, which records what they own. */
export function after(compared: Compared, steps: readonly Step[]): Compared {
  const { recorded } = compared.owns
  return {
    ...compared,
    fromViews: undefined,
    conversions: [],
    swaps: [],
    owns: { ...compared.owns, recorded: new Set([...recorded, ...ownedBy(steps)]) },
  }
}
