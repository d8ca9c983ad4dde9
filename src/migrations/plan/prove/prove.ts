import { tableSql } from '../../../fields/table-name.js'
import { isDeepStrictEqual } from 'node:util'
import { identifier, literal } from '../../../fields/sql-literal.js'
import type { Connection } from '../../../db/database.js'
import type { Catalog } from '../../introspect/catalog/catalog.js'
import { MigrationError } from '../../files/error.js'
import { type Migration, parseMigration } from '../../files/files.js'
import { lossesOf } from '../../files/render.js'
import type { Schema } from '../compare/compare.js'
import { inChunks, MAX_COLUMNS } from '../compare/normalise-sql.js'
import { find, has } from '../compare/pair.js'
import { inherited } from '../view-parts.js'
import type { CatalogView } from '../views.js'
import { fillTables } from './samples.js'
import { runPartInScratch, settleEnums } from '../../run/scratch.js'
import { isInTheWay } from '../../run/failure-help.js'
import { rolledBack, sqlState } from '../../run/session.js'
import { alter, partsOf, type Step } from '../../files/steps.js'

/** The result of running a planned migration up, down and up again. */
export interface Proof {
  /** The number of sample rows that were migrated; 0 if the steps cannot run with rows in the tables. */
  readonly rows: number
  /** The number of columns whose values were compared. */
  readonly columns: number
  /** The losses that `down` cannot restore. */
  readonly losses: readonly string[]
}

/** A planned migration, and the schemas to compare its results with. */
interface Claim {
  /** One for each file. */
  readonly texts: readonly string[]
  readonly steps: readonly Step[]
  readonly from: Catalog
  /** `from`, and the views. */
  readonly before: Schema
  readSchema(): Promise<Schema>
  isWanted(catalog: Catalog): Promise<boolean>
}

/**
 * Runs a text as it will be read from its file. Up must produce the wanted schema, down must restore the former schema, and up must then work again; for a
 * long plan, that is not tested if down leaves exactly the same objects. The values of columns that no step changes must stay the same. Everything is
 * rolled back.
 * @throws MigrationError if a check fails
 */
export function proveRoundTrip(session: Connection, claim: Claim): Promise<Proof> {
  return rolledBack(session, () => proveOnEmpty(session, claim))
}

async function proveOnEmpty(session: Connection, claim: Claim): Promise<Proof> {
  const migrations = claim.texts.map(parse)
  await emptyTables(session, claim.from)
  await rolledBack(session, () => goRound(session, claim, migrations)).catch((error: unknown) => {
    if (!(error instanceof MigrationError)) throw error
    const unfit = sqlState(error) === UNKNOWN_OPERATOR ? unfitParts(claim.steps) : []
    const help = isInTheWay(error) ? [RECREATE] : unfit
    throw new MigrationError(error.errors, [...error.help, ...help], error.cause)
  })
  const losses = lossesOf(claim.steps)
  if (claim.from.length === 0) return { rows: 0, columns: 0, losses }
  return { ...(await rolledBack(session, () => withRows(session, claim, migrations))), losses }
}

const RECREATE =
  'A migration of your own has made this object: write one that drops it, plan again, and write another that creates it again'

/** A check or an index may use an operator or function that does not exist for the new type of its column. */
const UNKNOWN_OPERATOR = '42883'

/** The help for each check and index that is dropped before the type of its column changes, and created again afterwards. */
function unfitParts(steps: readonly Step[]): readonly string[] {
  const added = new Set(steps.filter(({ change }) => change === 'add').map(({ subject }) => subject))
  const former = new Map(renamesIn(steps, false).map(([old, now]) => [now, old]))
  // The migration by hand runs before the plan, so the table has its former name.
  const dropOf = ({ subject, up }: Step) => {
    const [table] = partsOf(subject)
    return up.map((text) => text.replace(alter(table, ''), () => alter(former.get(table) ?? table, ''))).join('; ')
  }
  return steps
    .filter(({ change, subject }) => change === 'drop' && added.has(subject))
    .map(
      (step) =>
        `If ${step.subject}, ${step.detail}, cannot be created for the new type: drop it in a migration by hand, plan again, and create it for the new type in another migration; the statement that drops it: ${dropOf(step)}`,
    )
}

/**
 * Tries a text on the rows that the files insert, which every new database has. Everything is rolled back.
 * @returns the server's message if the rows prevent the migration
 */
export async function rejectionByRows(
  session: Connection,
  texts: readonly string[],
  from: Catalog,
): Promise<string | undefined> {
  if ((await tablesWithRows(session, from)).length === 0) return undefined
  try {
    await rolledBack(session, () => runAll(session, texts.map(parse), 'up'))
    return undefined
  } catch (error) {
    // Other errors are errors of the plan, and occur without rows as well.
    if (!(error instanceof MigrationError) || !sqlState(error)?.startsWith('23')) return undefined
    return (error.cause as Error).message
  }
}

/** Rows of migrations are not part of the schema, and a not null column can only be restored without rows. */
async function emptyTables(session: Connection, from: Catalog): Promise<void> {
  const full = await tablesWithRows(session, from)
  if (full.length > 0) await session.query({ text: `truncate ${full.map(tableSql).join(', ')} cascade`, values: [] })
}

async function tablesWithRows(session: Connection, from: Catalog): Promise<readonly string[]> {
  if (from.length === 0) return []
  const each = from.map(({ name }) => `select ${literal(name)} where exists (select from ${tableSql(name)})`)
  const { rows } = await session.query({ text: each.join(' union all '), values: [] })
  return rows.map(([name]) => name ?? '')
}

function parse(text: string): Migration {
  const migration = parseMigration('plan', 'the planned migration', Buffer.from(text))
  if ('errors' in migration) throw new MigrationError(migration.errors)
  return migration
}

/** Runs one part of migrations in the order in which they are applied or reverted. */
async function runAll(session: Connection, migrations: readonly Migration[], part: 'up' | 'down'): Promise<void> {
  for (const migration of part === 'up' ? migrations : migrations.toReversed()) {
    await runPartInScratch(session, migration, part)
    // Changes of rows leave checks that would stand in the way of the next file.
    await session.query({ text: 'set constraints all immediate', values: [] })
    if (part === 'up') await settleEnums(session, migration)
  }
}

async function goRound(session: Connection, claim: Claim, migrations: readonly Migration[]): Promise<void> {
  const { before, readSchema, isWanted } = claim
  const between: (typeof before)[] = []
  const isRestored = (now: Schema, former: Schema | undefined) =>
    isDeepStrictEqual(reverted(now, claim), former && reverted(former, claim))
  // For a few steps, running them again is quicker than reading all objects.
  const objects = claim.steps.length > claim.from.length ? await readObjects(session) : undefined
  for (const migration of migrations) {
    between.push(between.length === 0 ? before : await readSchema())
    await runAll(session, [migration], 'up')
  }
  const up = await readSchema()
  if (!(await isWanted(up.tables)))
    throw new MigrationError(['the planned migration does not lead to the schema of the configuration'])
  const bared = before.views.find((view) => !keepsParts(view, find(up.views, view.name)))
  if (bared)
    throw new MigrationError([
      `the planned migration does not keep the options, grants and other parts of the view ${bared.name}`,
    ])
  for (const migration of migrations.toReversed()) {
    await runAll(session, [migration], 'down')
    if (!isRestored(await readSchema(), between.at(migrations.indexOf(migration))))
      throw new MigrationError(['the down part of the planned migration does not restore the former schema'])
  }
  if (objects !== undefined && (await readObjects(session)) === objects) return
  await runAll(session, migrations, 'up')
  if (!isDeepStrictEqual(await readSchema(), up))
    throw new MigrationError(['the planned migration does not lead to the same schema a second time'])
}

/**
 * Everything that files have created, row by row: dependencies, columns (dropped ones too), choices of enums, constraints, schemas, types and tables. PostgreSQL's
 * own objects have smaller numbers.
 */
const OBJECTS = `
  select md5(string_agg(part, ',' order by part)) from (
    select d::text from pg_depend d where d.objid >= 16384
    union all select a::text from pg_attribute a where attrelid >= 16384
    union all select e::text from pg_enum e where oid >= 16384
    union all select o::text from pg_constraint o where oid >= 16384
    union all select n::text from pg_namespace n where oid >= 16384
    union all select format('%s %s', oid, typname) from pg_type where oid >= 16384
    union all select format('%s %s %s', oid, relname, relnamespace) from pg_class where oid >= 16384
  ) parts(part)`

/** Returns a digest of the objects of a database; it changes if an object is created again, or renamed. */
async function readObjects(session: Connection): Promise<string> {
  const { rows } = await session.query({ text: OBJECTS, values: [] })
  return rows[0]?.[0] ?? ''
}

/** A schema without the choices of enums that `down` cannot remove. */
function reverted({ tables, views }: Schema, { steps }: Claim): Schema {
  const kept = steps.flatMap(({ choices = [], down }) => (down.length === 0 ? choices : []))
  const withoutKept = (labels: readonly string[] | null) => labels?.filter((label) => !kept.includes(label)) ?? null
  const columnsOfTable = (columns: Catalog[number]['columns']) =>
    columns.map((column) => ({ ...column, labels: withoutKept(column.labels) }))
  return { tables: tables.map((table) => ({ ...table, columns: columnsOfTable(table.columns) })), views }
}

/** Whether a view has the options and parts of the former one that fit it. An unchanged view may have options that a new view could not have. */
function keepsParts(former: CatalogView, now: CatalogView | undefined): boolean {
  if (!now) return true
  const { options, parts } = inherited(former, now)
  return options.every((option) => now.options.includes(option)) && parts.every(({ name }) => has(now.parts, name))
}

/** A risky step may rightly fail on the samples. Then only the test without rows counts. */
async function withRows(
  session: Connection,
  claim: Claim,
  migrations: readonly Migration[],
): Promise<Omit<Proof, 'losses'>> {
  const untouched = columnsOf(claim)
  try {
    // Samples refer to each other only by chance.
    await session.query({ text: 'set local session_replication_role = replica', values: [] })
    const rows = await fillTables(session, claim.from)
    await session.query({ text: 'set local session_replication_role = origin', values: [] })
    const before = await checksums(session, untouched, 'was')
    for (const part of ['up', 'down', 'up'] as const) {
      await runAll(session, migrations, part)
      const side = part === 'up' ? 'is' : 'was'
      if (!isDeepStrictEqual(await checksums(session, untouched, side), before))
        throw new MigrationError(['the planned migration changes values of columns that it does not name'])
    }
    return { rows, columns: untouched.length }
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return { rows: 0, columns: 0 }
  }
}

/** A column by its former and its later name. */
interface Followed {
  readonly was: { readonly table: string; readonly column: string }
  readonly is: { readonly table: string; readonly column: string }
}

/** Every column under both of its names, except dropped ones and those whose type changes. */
function columnsOf({ from, steps }: Claim): readonly Followed[] {
  const tables = new Map(renamesIn(steps, false))
  const columns = new Map(renamesIn(steps, true))
  const touched = new Set(
    steps.filter(({ change }) => change === 'drop' || change === 'change').map(({ subject }) => subject),
  )
  return from.flatMap(({ name, columns: all }) =>
    all.flatMap((column): readonly Followed[] => {
      const table = tables.get(name) ?? name
      const is = columns.get(`${table}.${column.name}`) ?? column.name
      if (touched.has(table) || touched.has(`${table}.${is}`)) return []
      return [{ was: { table: name, column: column.name }, is: { table, column: is } }]
    }),
  )
}

/** Pairs of an old name and a new one; old names of columns include the table. */
function renamesIn(steps: readonly Step[], ofColumns: boolean): readonly (readonly [string, string])[] {
  return steps
    .filter(({ change, renamed }) => change === 'rename' && renamed !== undefined)
    .filter(({ subject }) => (partsOf(subject).length === 2) === ofColumns)
    .map(({ subject, renamed = '' }) => {
      const [table = '', column] = partsOf(subject)
      return column === undefined ? [renamed, table] : [`${table}.${renamed}`, column]
    })
}

/** The checksums of all columns, for up to 500 columns in each statement. */
async function checksums(
  session: Connection,
  columns: readonly Followed[],
  side: keyof Followed,
): Promise<readonly (string | null | undefined)[]> {
  const sums: (string | null | undefined)[] = []
  for (const part of inChunks(columns, MAX_COLUMNS)) {
    const followed = part.map((each) => each[side])
    const tables = [...new Set(followed.map(({ table }) => table))]
    const each = tables.map((table, place) => {
      const values = followed.filter((one) => one.table === table).map(({ column }) => checksumOf(column))
      return `select ${place}, array_to_json(array[${values.join(', ')}])::text from ${tableSql(table)}`
    })
    const { rows } = await session.query({ text: each.join(' union all '), values: [] })
    sums.push(...rows.toSorted(([one], [other]) => Number(one) - Number(other)).map(([, all]) => all))
  }
  return sums
}

function checksumOf(column: string): string {
  const value = `coalesce(${identifier(column)}::text, 'null')`
  return `md5(string_agg(${value}, ',' order by ${value}))`
}
