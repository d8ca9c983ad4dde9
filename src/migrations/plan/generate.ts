import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AppSpec } from '../../config/spec.js'
import type { Connection, Database } from '../../db/database.js'
import { openScratch } from '../../db/open.js'
import type { Catalog } from '../introspect/catalog.js'
import { compareSchemas, type Difference } from './diff.js'
import { MigrationError } from '../files/error.js'
import { withLocks, withWaits } from '../locks/locks.js'
import { digitsOf, type Migration, type MigrationFolder, pathOf, readMigrations } from '../files/files.js'
import { type Proof, proveRoundTrip, refusalByRows } from './prove.js'
import { findRenames } from './renames.js'
import type { FormerNames } from './pair.js'
import { enumChanges } from './enum-steps.js'
import type { Ownership } from './ownership.js'
import { ownedBy, planName, render } from '../files/render.js'
import { build, buildOwned, catalogOf, FROM, inScratch, runAll, TO } from '../run/scratch.js'
import { reconcile } from './reconcile.js'
import { rolledBack, sqlState } from '../run/session.js'
import type { Step } from '../files/steps.js'
import { createAll, nameClashes, usedTables, type WantedTable, wantedTables } from './sql.js'
import { prepareCollations } from './wanted-collations.js'
import { viewSteps } from './view-steps.js'
import { type CatalogView, createViews, readViews, type WantedView, wantedViews } from './views.js'
import { findLacks } from '../drift/verify.js'

/** What would bring the migration files to what resources.yaml says. */
export interface Plan extends Difference {
  /** The text of the next file; undefined when there is nothing to do, or something is refused. */
  readonly text: string | undefined
  /** The text of the file after it, when there are both steps that need a transaction and steps that no transaction takes. */
  readonly outsideText?: string
  /** A name for it. */
  readonly name: string
  /** How many files the plan was made from. */
  readonly files: number
  /** What was seen when the text was run; undefined with the text. */
  readonly proof: Proof | undefined
}

/**
 * Compares the migration files with a configuration, in a scratch database that is left as it was. The planned text has been
 * run there, both ways: up gives what is wanted, and down gives back what was.
 * @param scratch left out, one of its own
 * @throws MigrationError when a file cannot be read or run.
 */
export async function planMigration(spec: AppSpec, directory: MigrationFolder, scratch?: Database): Promise<Plan> {
  const files = await readMigrations(directory)
  if (scratch) return compare(spec, files, scratch)
  const own = await openScratch()
  try {
    return await compare(spec, files, own)
  } finally {
    await own.close()
  }
}

function compare(spec: AppSpec, files: readonly Migration[], scratch: Database): Promise<Plan> {
  return onBothSides(spec, files, scratch, async (session, compared) => {
    const { steps: found, ...rest } = await differ(session, compared)
    const difference = { ...rest, steps: found.map(withWaits) }
    return prove(session, difference, {
      from: compared.from,
      files: files.length,
      isWanted: async (catalog) => {
        const { steps, refusals } = await differ(session, { ...after(compared, difference.steps), from: catalog })
        return steps.length + refusals.length === 0
      },
    })
  })
}

/** Compares without running the steps, in a scratch database that is left as it was. */
export function compareOnly(spec: AppSpec, files: readonly Migration[], scratch: Database): Promise<Comparison> {
  return onBothSides(spec, files, scratch, compareSettled)
}

/** What is compared once steps have been made: what they own is recorded then. */
export function after(compared: Compared, steps: readonly Step[]): Compared {
  const { recorded, unrecorded } = compared.owns
  return { ...compared, owns: { recorded: new Set([...recorded, ...ownedBy(steps)]), unrecorded } }
}

/**
 * Reads what the files make and what a configuration wants, on a scratch database that is left as it was; `work` runs where
 * what the files make is.
 * @throws MigrationError when a file cannot be run, or two parts of the schema would have one name
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
  return inScratch(scratch, files, async (session) => {
    // Undone, because the server has room for so many locks only, and each table that was made takes several.
    const { to, toViews } = await rolledBack(session, () => buildWanted(session, spec, { wanted, files }))
    const { made: from, owns } = await buildOwned(session, files)
    const known = files.flatMap((file) => file.known)
    const views = { wanted: wantedViews(spec), to: toViews }
    return work(session, { wanted, dropped: spec.dropped, from, to, views, known, owns })
  })
}

/** Reported for a type for which a kind of index has no operator class. */
const UNDEFINED_OBJECT = '42704'

/**
 * Makes what a configuration wants.
 * @throws MigrationError for an unknown collation, and for a view whose query is wrong or that lacks a column of its model
 */
async function buildWanted(
  session: Connection,
  spec: AppSpec,
  { wanted, files }: { readonly wanted: readonly WantedTable[]; readonly files: readonly Migration[] },
) {
  const views = wantedViews(spec)
  const to = await build(session, TO, async () => {
    await prepareCollations(session, wanted, files)
    await runAll(session, createAll(wanted)).catch((error: unknown) => {
      throw sqlState(error) === UNDEFINED_OBJECT ? new MigrationError([(error as Error).message], [], error) : error
    })
    await createViews(session, views)
  })
  const lacks = await findLacks(
    usedTables(spec).filter(({ name }) => views.some((view) => view.name === name)),
    session,
    TO,
  )
  if (lacks.length > 0)
    throw new MigrationError(
      lacks.map(({ text }) => text),
      ['the columns of a view are the fields of its model: `select author_id, count(*) as books …`'],
    )
  return { to, toViews: await readViews(session, TO) }
}

interface Claim {
  readonly from: Catalog
  readonly files: number
  readonly isWanted: (catalog: Catalog) => Promise<boolean>
}

/** Makes a plan of a difference: its text has been run both ways. */
export async function prove(session: Connection, difference: Difference, claim: Claim): Promise<Plan> {
  const { from, files, isWanted } = claim
  const { steps, refusals } = difference
  const plan = { ...difference, name: planName(steps), files }
  if (refusals.length > 0 || steps.length === 0) return { ...plan, text: undefined, proof: undefined }
  const text = render(steps)
  const refusal = await refusalByRows(session, text, from)
  if (refusal !== undefined) return { ...plan, refusals: [rowsRefuse(refusal)], text: undefined, proof: undefined }
  const before = { tables: from, views: await readViews(session, FROM) }
  const proof = await proveRoundTrip(session, {
    text,
    from,
    before,
    steps,
    readSchema: () => readSchema(session),
    isWanted,
  })
  return { ...plan, text, proof }
}

const rowsRefuse = (message: string): string =>
  `the rows that the migrations make do not take it: ${message}: write a migration by hand that changes these rows, and plan again`

/** What is compared. */
export interface Compared {
  readonly wanted: readonly WantedTable[]
  readonly dropped: readonly string[]
  readonly from: Catalog
  readonly to: Catalog
  /** The wanted views, and how the same server describes them. */
  readonly views: { readonly wanted: readonly WantedView[]; readonly to: readonly CatalogView[] }
  /** Objects of others that only their database has. */
  readonly known: readonly string[]
  readonly owns: Ownership
}

/** A difference, and the tables that were wanted for it, in the words of the files. */
export interface Comparison extends Difference {
  readonly to: Catalog
  readonly former: FormerNames
}

/** Compares the sides. */
export async function differ(session: Connection, compared: Compared): Promise<Difference> {
  const { steps, refusals, notes } = await compareSettled(session, compared)
  return { steps, refusals, notes }
}

/** The tables and views that the migration files make. */
export interface Schema {
  readonly tables: Catalog
  readonly views: readonly CatalogView[]
}

async function readSchema(session: Connection): Promise<Schema> {
  return { tables: await catalogOf(session, FROM), views: await readViews(session, FROM) }
}

/**
 * What steps make of the session's schema of the files, in which definitions have the new names.
 * @param from its tables before
 */
async function schemaAfter(session: Connection, from: Catalog, steps: readonly Step[]): Promise<Schema> {
  if (steps.length === 0) return { tables: from, views: await readViews(session, FROM) }
  return rolledBack(session, async () => {
    await runAll(
      session,
      steps.flatMap(({ up }) => up),
    )
    return readSchema(session)
  })
}

/** Runs the renames, and adds the choices of enums, for a look at the catalogue that they make. */
async function compareSettled(session: Connection, compared: Compared): Promise<Comparison> {
  const { wanted, dropped, to, views, known, owns } = compared
  const renames = findRenames(wanted, compared.from)
  const settled = await schemaAfter(session, compared.from, renames.steps)
  const enums = enumChanges({ wanted, from: settled.tables, to })
  const before = [...renames.steps, ...enums.steps]
  const { tables: from, views: fromViews } =
    enums.steps.length === 0 ? settled : await schemaAfter(session, compared.from, before)
  const { former } = renames
  const target = reconcile({ wanted, from, to, former, owns, dropped })
  const { steps, refusals, notes } = compareSchemas({ ...target, dropped, from, former, owns })
  const { first, last } = viewSteps({ ...views, from: fromViews, owned: owns.recorded }, [...before, ...steps])
  const all = withLocks(
    [...first, ...before, ...steps, ...last],
    from,
    fromViews.map(({ name }) => name),
  )
  const allRefusals = [...renames.refusals, ...enums.refusals, ...refusals, ...knownAlready(all, known)]
  return { steps: all, refusals: allRefusals, notes, to: target.to, former }
}

/** What is to be added under the name of an object that others made. */
function knownAlready(steps: readonly Step[], known: readonly string[]): readonly string[] {
  return steps
    .filter(({ change, subject }) => (change === 'add' || change === 'change') && known.includes(subject))
    .map(
      ({ subject }) =>
        `${subject} is in the database already: others made it, and a migration names it as known; give the new one another name`,
    )
}

/**
 * Writes the planned migration as the next file, or as the next two.
 * @returns their paths
 * @throws MigrationError when there is nothing to write, when the name is none, or when the files changed since the plan.
 */
export async function writeMigration(
  plan: Plan,
  directory: MigrationFolder,
  name = plan.name,
): Promise<readonly string[]> {
  if (plan.refusals.length > 0) throw new MigrationError(plan.refusals)
  if (plan.text === undefined)
    throw new MigrationError(['the migration files make what resources.yaml wants; there is nothing to write'])
  const { length } = await readMigrations(directory)
  if (length !== plan.files)
    throw new MigrationError(['the migration files changed since the plan was made'], ['Plan again'])
  const file = await writeNext(directory, name, plan.text)
  if (plan.outsideText === undefined) return [file]
  return [file, await writeNext(directory, `${name}_indexes`, plan.outsideText)]
}

/**
 * Writes a text as the next file of a directory.
 * @returns its path
 * @throws MigrationError when the name is none
 */
export async function writeNext(directory: MigrationFolder, name: string, text: string): Promise<string> {
  if (!/^[a-z0-9_]+$/.test(name)) {
    throw new MigrationError([
      `${JSON.stringify(name)} is no name of a migration: lower-case letters, digits and _ make one`,
    ])
  }
  const { length } = await readMigrations(directory)
  const file = join(pathOf(directory), `${digitsOf(length + 1)}_${name}.sql`)
  await mkdir(pathOf(directory), { recursive: true })
  await writeFile(file, text, { flag: 'wx' })
  return file
}
