import type { AppSpec } from '../../config/spec.js'
import type { Connection, Database } from '../../db/database.js'
import { openScratch } from '../../db/open.js'
import type { Catalog } from '../introspect/catalog/catalog.js'
import { compareSchemas, type Difference } from './compare/diff.js'
import { buildWanted, inputsOfWanted } from './build-wanted.js'
import { blockedTables, onlineSteps } from './steps/online.js'
import { MigrationError } from '../files/error.js'
import { withLocks, withWaits } from '../locks/locks.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import { writeNext } from '../files/write-next.js'
import { type Proof, proveRoundTrip, rejectionByRows } from './prove/prove.js'
import { findRenames } from './steps/renames.js'
import type { FormerNames } from './compare/pair.js'
import { enumChanges } from './steps/enum-steps.js'
import type { Ownership } from './compare/ownership.js'
import { ownedBy, planName, render } from '../files/render.js'
import { catalogOf, FROM, inScratch, ownershipOf, replayWhenUsed, runAll } from '../run/scratch.js'
import { reconcile } from './compare/reconcile.js'
import { rolledBack } from '../run/session.js'
import type { Step } from '../files/steps.js'
import { nameClashes, type WantedTable, wantedTables } from './sql.js'
import { viewSteps } from './steps/view-steps.js'
import { checkConversions } from './prove/check-conversions.js'
import { checkSwaps, type Swap } from './steps/swaps.js'
import type { GivenConversion } from './steps/type-change.js'
import { type CatalogView, readViews, type WantedView, wantedViews } from './views.js'

/** The changes that bring the schema of the migration files to that of resources.yaml. */
export interface Plan extends Difference {
  /** The text of the next file; undefined if there is nothing to do, or if something cannot be planned. */
  readonly text: string | undefined
  /** The text of a second file, for steps outside of transactions, if there are steps of both kinds. */
  readonly outsideText?: string
  /** A suggested name. */
  readonly name: string
  /** The number of files that the plan is based on. */
  readonly files: number
  /** The result of testing the text; undefined without a text. */
  readonly proof: Proof | undefined
}

/**
 * Compares the migration files with a configuration, in a scratch database that is left unchanged. The planned text was
 * tested there in both directions: up produces the wanted schema, and down restores the former one.
 * @param scratch by default a new one
 * @throws MigrationError if a file cannot be read or run.
 */
export async function planMigration(
  spec: AppSpec,
  directory: MigrationFolder,
  scratch?: Database,
  options: PlanOptions = {},
): Promise<Plan> {
  const files = await readMigrations(directory)
  const own = scratch ?? (await openScratch())
  try {
    return await compare(spec, files, own, options)
  } finally {
    if (own !== scratch) await own.close()
  }
}

/** Which tables have so many rows that their requests must not wait, by their names in the database. */
export type FindLarge = (tables: readonly string[]) => Promise<ReadonlySet<string>>

/** The decisions about a plan that the files do not show. */
export interface PlanOptions {
  /** By default no table is large. */
  readonly findLarge?: FindLarge
  readonly conversions?: readonly GivenConversion[]
  readonly swaps?: readonly Swap[]
}

function compare(
  spec: AppSpec,
  files: readonly Migration[],
  scratch: Database,
  { findLarge = async () => new Set(), conversions = [], swaps = [] }: PlanOptions,
): Promise<Plan> {
  return onBothSides(spec, files, scratch, async (session, sides) => {
    checkSwaps(swaps, sides.wanted, sides.from)
    const compared = { ...sides, conversions, swaps }
    const { steps: found, rejections, notes, former, existing } = await compareSettled(session, compared)
    const withLocksAndWaits = (steps: readonly Step[]) =>
      withLocks(steps, existing.tables, existing.views).map(withWaits)
    const blocking = withLocksAndWaits(found)
    const blocked = blockedTables(blocking)
    const large = blocked.length === 0 ? new Set() : await findLarge(blocked.map((table) => former.table(table)))
    const steps =
      large.size === 0
        ? blocking
        : withLocksAndWaits(onlineSteps(blocking, existing.tables, (table) => large.has(former.table(table))))
    const difference = { rejections, notes, steps }
    return prove(session, difference, {
      from: compared.from,
      files: files.length,
      isWanted: async (catalog) => {
        const { steps, rejections } = await differ(session, { ...after(compared, difference.steps), from: catalog })
        return steps.length + rejections.length === 0
      },
    })
  })
}

/** Compares without running the steps, in a scratch database that is left unchanged. */
export function compareOnly(spec: AppSpec, files: readonly Migration[], scratch: Database): Promise<Comparison> {
  return onBothSides(spec, files, scratch, compareSettled)
}

/** The comparison after steps were run, which records what they own. */
export function after(compared: Compared, steps: readonly Step[]): Compared {
  const { recorded, unrecorded } = compared.owns
  return {
    ...compared,
    fromViews: undefined,
    conversions: [],
    swaps: [],
    owns: { recorded: new Set([...recorded, ...ownedBy(steps)]), unrecorded },
  }
}

/**
 * Reads the schemas of the files and of a configuration, on a scratch database that is left unchanged; `work` runs in the
 * schema of the files.
 * @throws MigrationError if a file cannot be run, or if two parts of the schema would have the same name
 */
export async function onBothSides<T>(
  spec: AppSpec,
  files: readonly Migration[],
  scratch: Database,
  work: (session: Connection, compared: Compared) => Promise<T>,
): Promise<T> {
  const wanted = wantedTables(spec)
  const clashes = nameClashes(wanted)
  if (clashes.length > 0) throw new MigrationError(clashes)
  return inScratch(scratch, files, async (own, recall) => {
    // Rolled back, because each created table takes several locks, and the server has room for a limited number.
    const { to, toViews } = await recall(inputsOfWanted(spec, { wanted, files }), () =>
      rolledBack(own, () => buildWanted(own, spec, { wanted, files })),
    )
    const { session, made } = await replayWhenUsed(own, recall, files)
    const known = files.flatMap((file) => file.known)
    const views = { wanted: wantedViews(spec), to: toViews }
    const sides = { wanted, dropped: spec.dropped, from: made.tables, fromViews: made.views, to, views, known }
    return work(session, { ...sides, owns: ownershipOf(files, made), conversions: [], swaps: [] })
  })
}

interface Claim {
  readonly from: Catalog
  readonly files: number
  readonly isWanted: (catalog: Catalog) => Promise<boolean>
}

/** Makes a plan of a difference, and tests its text in both directions. */
export async function prove(session: Connection, difference: Difference, claim: Claim): Promise<Plan> {
  const { from, files, isWanted } = claim
  const { steps, rejections } = difference
  const plan = { ...difference, name: planName(steps), files }
  if (rejections.length > 0 || steps.length === 0) return { ...plan, text: undefined, proof: undefined }
  const texts = [steps.filter(({ outside }) => !outside), steps.filter(({ outside }) => outside)]
    .filter(({ length }) => length > 0)
    .map(render)
  const [text, outsideText] = texts
  const rejection = await rejectionByRows(session, texts, from)
  if (rejection !== undefined)
    return { ...plan, rejections: [rowsReject(rejection)], text: undefined, proof: undefined }
  const before = { tables: from, views: await readViews(session, FROM) }
  const proof = await proveRoundTrip(session, {
    texts,
    from,
    before,
    steps,
    readSchema: () => readSchema(session),
    isWanted,
  })
  return { ...plan, text, ...(outsideText !== undefined && { outsideText }), proof }
}

function rowsReject(message: string): string {
  return `the rows that the migrations insert prevent it: ${message}: write a migration that changes these rows, and plan again`
}

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
  /** Objects of others that only their database has. */
  readonly known: readonly string[]
  readonly owns: Ownership
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

async function readSchema(session: Connection): Promise<Schema> {
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
    await runAll(
      session,
      steps.flatMap(({ up }) => up),
    )
    return readSchema(session)
  })
}

/** Runs the renames and adds the choices of enums, to read the resulting catalogue. */
async function compareSettled(session: Connection, compared: Compared): Promise<Comparison> {
  const { wanted, dropped, to, views, known, owns, conversions, swaps } = compared
  const renames = findRenames(wanted, compared.from, swaps)
  const settled = await schemaAfter(session, compared, renames.steps)
  const enums = enumChanges({ wanted, from: settled.tables, to })
  const before = [...renames.steps, ...enums.steps]
  const { tables: from, views: fromViews } =
    enums.steps.length === 0 ? settled : await schemaAfter(session, compared, before)
  const { former } = renames
  const target = reconcile({ wanted, from, to, former, owns, dropped })
  const { steps, rejections, notes } = compareSchemas({ ...target, dropped, from, former, owns, conversions })
  await checkConversions(session, conversions, { from, to: target.to, before })
  const { first, last } = viewSteps({ ...views, from: fromViews, owned: owns.recorded }, [...before, ...steps])
  const all = [...first, ...before, ...steps, ...last]
  const existing = { tables: from, views: fromViews.map(({ name }) => name) }
  const allRejections = [...renames.rejections, ...enums.rejections, ...rejections, ...knownAlready(all, known)]
  return { steps: all, rejections: allRejections, notes, to: target.to, former, existing }
}

/** Additions whose names belong to objects that others made. */
function knownAlready(steps: readonly Step[], known: readonly string[]): readonly string[] {
  return steps
    .filter(({ change, subject }) => (change === 'add' || change === 'change') && known.includes(subject))
    .map(
      ({ subject }) =>
        `${subject} already exists in the database: another program made it, and a migration lists it as known; give the new one another name`,
    )
}

/**
 * Writes the planned migration as the next file, or as the next two files.
 * @returns their paths
 * @throws MigrationError if there is nothing to write, if the name is invalid, or if the files changed since the plan.
 */
export async function writeMigration(
  plan: Plan,
  directory: MigrationFolder,
  name = plan.name,
): Promise<readonly string[]> {
  if (plan.rejections.length > 0) throw new MigrationError(plan.rejections)
  if (plan.text === undefined)
    throw new MigrationError([
      'the migration files already make the schema of resources.yaml; there is nothing to write',
    ])
  const { length } = await readMigrations(directory)
  if (length !== plan.files)
    throw new MigrationError(['the migration files changed since the plan was made'], ['Plan again'])
  const file = await writeNext(directory, name, plan.text)
  if (plan.outsideText === undefined) return [file]
  return [file, await writeNext(directory, `${name}_online`, plan.outsideText)]
}
