import type { AppSpec } from '../../config/spec.js'
import type { Connection, Database } from '../../db/database.js'
import { openScratch } from '../../db/open.js'
import type { Catalog } from '../introspect/catalog/catalog.js'
import { after, type Compared, type Comparison, compareSettled, differ, readSchema } from './compare/compare.js'
import type { Difference } from './compare/diff.js'
import type { FormerNames } from './compare/pair.js'
import { sketchWanted } from './compare/sketch.js'
import { buildWanted, inputsOfWanted, type WantedSchema } from './build-wanted.js'
import { blockedTables, onlineSteps } from './steps/online.js'
import { MigrationError } from '../files/error.js'
import { withLocks, withWaits } from '../locks/locks.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import { knownObjects } from '../files/known.js'
import { writeNext } from '../files/write-next.js'
import { type Proof, proveRoundTrip, rejectionByRows } from './prove/prove.js'
import { planName, render } from '../files/render.js'
import { FROM, inScratch, ownershipOf, replayWhenUsed } from '../run/scratch.js'
import { rolledBack } from '../run/session.js'
import type { Step } from '../files/steps.js'
import { noteStorage } from './lost-storage.js'
import { nameClashes } from './name-clashes.js'
import { noteFunctions } from './stale-functions.js'
import { wantedTables } from './sql.js'
import { checkSwaps, type Swap } from './steps/swaps.js'
import type { GivenConversion } from './steps/type-change.js'
import { readViews, wantedViews } from './views.js'

/** The changes that bring the schema of the migration files to that of resources.yaml. */
export interface Plan extends Difference {
  /** The text of the next file; undefined if there is nothing to do, or if something cannot be planned. */
  readonly text: string | undefined
  /** The text of a file before it, for choices of enums that its own statements use, which must be committed first. */
  readonly choicesText?: string
  /** The text of a file after it, for steps outside of transactions, if there are steps of both kinds. */
  readonly outsideText?: string
  /** A suggested name. */
  readonly name: string
  /** The number of files that the plan is based on. */
  readonly files: number
  readonly former: FormerNames
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
  // A sketch may not suffice, and the answer for its tables may have printed a note.
  const answers = new Map<string, ReadonlySet<string>>()
  const findOnce: FindLarge = async (tables) => {
    const key = JSON.stringify(tables)
    const large = answers.get(key) ?? (await findLarge(tables))
    answers.set(key, large)
    return large
  }
  return onBothSides(spec, files, scratch, async (session, sides) => {
    checkSwaps(swaps, sides.wanted, sides.from)
    const compared = { ...sides, conversions, swaps }
    const { steps: found, rejections, notes, former, existing } = await compareSettled(session, compared)
    // A sketch has no sequences, which are renamed with their columns.
    if (sides.isSketch && (rejections.length > 0 || found.some(({ change }) => change === 'rename'))) return undefined
    const withLocksAndWaits = (steps: readonly Step[]) =>
      withLocks(steps, existing.tables, existing.views).map(withWaits)
    const blocking = withLocksAndWaits(found)
    const isPartitioned = (table: string) => compared.partitioning.partitioned.includes(former.table(table))
    const blocked = blockedTables(blocking, { isPartitioned }).map((table) => former.table(table))
    const large = blocked.length === 0 ? new Set() : await findOnce(blocked)
    const isLarge = (table: string) => large.has(former.table(table))
    const steps =
      large.size === 0
        ? blocking
        : withLocksAndWaits(onlineSteps(blocking, existing.tables, { isLarge, isPartitioned }))
    const difference = { rejections, notes, steps }
    const plan = await prove(session, difference, {
      from: compared.from,
      former,
      files: files.length,
      isWanted: async (catalog) => {
        return isEmpty(await differ(session, { ...after(compared, difference.steps), from: catalog }))
      },
    })
    if (sides.isSketch && plan.rejections.length > 0) return undefined
    return noteStorage(await noteFunctions(plan, session), session)
  })
}

/** Compares without running the steps, in a scratch database that is left unchanged. */
export function compareOnly(spec: AppSpec, files: readonly Migration[], scratch: Database): Promise<Comparison> {
  return onBothSides(spec, files, scratch, async (session, sides) => {
    const comparison = await compareSettled(session, sides)
    return sides.isSketch && !isEmpty(comparison) ? undefined : comparison
  })
}

/**
 * Reads the schemas of the files and of a configuration, on a scratch database that is left unchanged; `work` runs in the
 * schema of the files.
 * @param work returns undefined, or throws a MigrationError, if a sketch of the wanted tables does not suffice; then it runs again with the tables
 * @throws MigrationError if a file cannot be run, or if two parts of the schema would have the same name
 */
export async function onBothSides<T>(
  spec: AppSpec,
  files: readonly Migration[],
  scratch: Database,
  work: (session: Connection, compared: Compared & { readonly isSketch: boolean }) => Promise<T | undefined>,
): Promise<T> {
  const wanted = wantedTables(spec)
  const clashes = nameClashes(wanted)
  if (clashes.length > 0) throw new MigrationError(clashes)
  const known = knownObjects(files)
  return inScratch(scratch, files, async (own, recall) => {
    let replayed: ReturnType<typeof replayWhenUsed> | undefined
    const replay = () => (replayed ??= replayWhenUsed(own, recall, files))
    const workOn = async ({ to, toViews }: WantedSchema, isSketch: boolean) => {
      const { session, made } = await replay()
      const views = { wanted: wantedViews(spec), to: toViews }
      const sides = { wanted, dropped: spec.dropped, from: made.tables, fromViews: made.views, to, views, known }
      const rest = { owns: ownershipOf(files, made), partitioning: made, conversions: [], swaps: [] }
      return work(session, { ...sides, ...rest, isSketch })
    }
    const sketch = async (): Promise<Sketch | undefined> => {
      if (scratch.concurrent || wanted.length < MANY || wanted.length > MOST || wantedViews(spec).length > 0) return
      const to = await sketchWanted(own, wanted, (await replay()).made.tables)
      return to && { to, toViews: [], isSketch: true }
    }
    const inputs = inputsOfWanted(spec, { wanted, files })
    // Rolled back, because each created table takes several locks, and the server has room for a limited number.
    const create = (): Promise<WantedSchema> => rolledBack(own, () => buildWanted(own, spec, { wanted, files }))
    const found = await recall<WantedSchema | Sketch>(
      inputs,
      async () => (await sketch()) ?? create(),
      (schema) => !('isSketch' in schema),
    )
    const isSketch = 'isSketch' in found
    const result = await workOn(found, isSketch).catch((error: unknown) => {
      if (isSketch && error instanceof MigrationError) return undefined
      throw error
    })
    const done = result === undefined && isSketch ? await workOn(await recall(inputs, create), false) : result
    if (done === undefined) throw new Error('no result with created tables')
    return done
  })
}

interface Sketch extends WantedSchema {
  readonly isSketch: true
}

/**
 * An embedded database first sketches this many tables, and creates them only if the plan needs more than the sketch. While it does, it has room for the locks
 * of twice as many tables as the larger number. The test of a plan compares the tables that the plan creates with the sketch.
 */
const MANY = 100
const MOST = 2_000

function isEmpty({ steps, rejections }: Difference): boolean {
  return steps.length + rejections.length === 0
}

interface Claim {
  readonly from: Catalog
  readonly former: FormerNames
  readonly files: number
  readonly isWanted: (catalog: Catalog) => Promise<boolean>
}

/** Makes a plan of a difference, and tests its text in both directions. */
export async function prove(session: Connection, difference: Difference, claim: Claim): Promise<Plan> {
  const { from, former, files, isWanted } = claim
  const { steps, rejections } = difference
  const plan = { ...difference, name: planName(steps), former, files }
  if (rejections.length > 0 || steps.length === 0) return { ...plan, text: undefined, proof: undefined }
  const choices = usedChoices(steps)
  const rest = steps.filter((step) => !choices.includes(step))
  const parts = [rest.filter(({ outside }) => !outside), rest.filter(({ outside }) => outside)]
  const choicesText = choices.length > 0 ? render(choices) : undefined
  const [text, outsideText] = parts.filter(({ length }) => length > 0).map(render)
  const texts = [choicesText, text, outsideText].filter((each) => each !== undefined)
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
  return {
    ...plan,
    text,
    ...(choicesText !== undefined && { choicesText }),
    ...(outsideText !== undefined && { outsideText }),
    proof,
  }
}

/** The steps that add choices to enums, if statements of the same transaction may use the choices. An extra file does no harm. */
function usedChoices(steps: readonly Step[]): readonly Step[] {
  const adding = steps.filter(({ choices }) => choices !== undefined)
  const others = steps.filter(({ choices, outside }) => choices === undefined && !outside).flatMap(({ up }) => up)
  const texts = others.map(withoutQuotes)
  const isUsed = (choice: string) => texts.some((text) => text.includes(withoutQuotes(choice)))
  return adding.some(({ choices = [] }) => choices.some(isUsed)) ? adding : []
}

/** A text without the characters that SQL doubles or escapes, in literals and once more in arrays. */
function withoutQuotes(text: string): string {
  return text.replaceAll(/['"\\]/g, '')
}

function rowsReject(message: string): string {
  return `the rows that the migrations insert prevent it: ${message}: write a migration that changes these rows, and plan again`
}

/**
 * Writes the planned migration as the next file, or as the next files.
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
      'the migration files already create the schema of the configuration; there is nothing to write',
    ])
  const { length } = await readMigrations(directory)
  if (length !== plan.files)
    throw new MigrationError(['the migration files changed since the plan was made'], ['Plan again'])
  const written: string[] = []
  for (const [suffix, text] of [
    ['_choices', plan.choicesText],
    ['', plan.text],
    ['_online', plan.outsideText],
  ] as const)
    if (text !== undefined) written.push(await writeNext(directory, name + suffix, text))
  return written
}
