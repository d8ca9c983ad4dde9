import {
  type AppSpec,
  callerFor,
  createAll,
  createSchemas,
  createViews,
  type Database,
  describeTables,
  exampleValues,
  identifier,
  inDependencyOrder,
  literal,
  type Migration,
  type ModelSpec,
  nearTo,
  prepareCollations,
  rulesOf,
  type StoredRecord,
  tableSql,
  towards,
  wantedViews,
} from '../../../src/internal.js'
import { withRelated } from './related-values.js'

/** Records of every table in a scratch database. */
export interface ExampleRecords {
  readonly world: ReadonlyMap<string, readonly StoredRecord[]>
  /** Models of which no record could be stored, with the reason. */
  readonly empty: ReadonlyMap<string, string>
  /** Makes the tables as they were. */
  restore(): Promise<void>
  /** Drops everything from the database, which was empty. */
  remove(): Promise<void>
}

/** Records of one model: more would only repeat what others show. */
const MAX_RECORDS = 30

/**
 * Makes the tables of an application, and records that meet each rule, and each condition of it but one.
 * @param database an empty one
 * @param files the migrations, of which only the collations are made
 */
export async function makeExamples(
  spec: AppSpec,
  database: Database,
  files: readonly Migration[],
): Promise<ExampleRecords> {
  const run = (text: string) => database.query({ text, values: [] })
  await database.transaction(async (connection) => {
    const tables = await describeTables(spec, connection)
    await prepareCollations(connection, tables, files)
    await connection.query({ text: [...createSchemas(tables), ...createAll(tables)].join(';\n'), values: [] })
    await createViews(connection, wantedViews(spec))
  })
  const models = inOrder(spec.models.filter((model) => !spec.internal.includes(model) && model.view === undefined))
  const world = new Map<string, StoredRecord[]>(spec.models.map(({ table }) => [table, []]))
  const empty = new Map<string, string>()

  const store = async (model: ModelSpec, asked: StoredRecord, base?: StoredRecord): Promise<StoredRecord> => {
    const written = writtenFields(model)
    const record = withRelated(model, asked, { world, base })
    const count = world.get(model.table)?.length ?? 0
    const unique = (name: string, value: string | null) => {
      const field = model.fields.find((each) => each.name === name)
      const isTaken = world.get(model.table)?.some((each) => each[name] === value) === true
      if (!isTaken || value === null || !field?.unique || field.target) return value
      return /^-?\d+$/.test(value) ? String(1_000 + count) : `${value}${count}`
    }
    const cells = written.map(({ name }) => quote(unique(name, record[name] ?? null)))
    const columns = written.map(({ column }) => identifier(column)).join(', ')
    const values = written.length === 0 ? 'default values' : `(${columns}) values (${cells.join(', ')})`
    const { rows } = await run(`insert into ${tableSql(model.table)} ${values} returning ${textsIn(model)}`)
    const stored = recordOf(model, rows[0])
    world.get(model.table)?.push(stored)
    return stored
  }

  /** The query of a view may fail for the records that were made. */
  const readView = async (model: ModelSpec): Promise<void> => {
    try {
      const { rows } = await run(`select ${textsIn(model)} from ${tableSql(model.table)}`)
      world.get(model.table)?.push(...rows.map((row) => recordOf(model, row)))
    } catch (error) {
      empty.set(model.name, reasonOf(error))
    }
  }

  /** Some combinations break constraints of the model. */
  const attempt = async (model: ModelSpec, record: StoredRecord, base: StoredRecord): Promise<void> => {
    if ((world.get(model.table)?.length ?? 0) >= MAX_RECORDS) return
    await store(model, record, base).catch(() => undefined)
  }

  const fill = async (model: ModelSpec): Promise<void> => {
    const written = writtenFields(model)
    const values = (field: ModelSpec['fields'][number]) => {
      const all = exampleValues(spec, field, world)
      // Some records are in no set: not each value of a relation is used.
      return field.target ? all.slice(0, Math.max(2, Math.ceil(all.length / 2))) : all
    }
    let base: StoredRecord | undefined
    const unknown = written.find((field) => !field.nullable && !field.target && values(field).length === 0)
    if (unknown !== undefined) {
      const reason = `no value is known that the rules of \`${unknown.name}\` allow; a \`default\` would be one`
      empty.set(model.name, reason)
      return
    }
    let reason = 'its relations have no record'
    for (let at = 0; at < 4 && base === undefined; at++) {
      const tried = Object.fromEntries(
        written.map((field) => [field.name, values(field)[at] ?? values(field)[0] ?? null]),
      )
      base = await store(model, tried).catch((error: unknown) => {
        reason = reasonOf(error)
        return undefined
      })
    }
    if (base === undefined) {
      empty.set(model.name, reason)
      return
    }
    const first = base
    for (const field of written)
      for (const value of values(field))
        if (value !== first[field.name]) await attempt(model, { ...first, [field.name]: value }, first)
    const rules = rulesOf(spec).filter((each) => each.model.table === model.table)
    const callers = (spec.auth ? ['anyone', ...spec.auth.roles] : []).map((to) => callerFor(spec, to, world))
    for (const { rule } of rules)
      for (const [alternative, all] of rule.entries())
        for (const broken of [undefined, ...all.keys()])
          for (const { known } of callers) {
            const records = world.get(model.table) ?? []
            const isThere = records.some((record) =>
              nearTo(rule, record, known).some((near) => near.alternative === alternative && near.broken === broken),
            )
            if (isThere) continue
            const made = towards(first, all, broken, {
              known,
              values: (field) => (written.includes(field) ? exampleValues(spec, field, world) : []),
            })
            if (made) await attempt(model, made, first)
          }
  }

  const restore = async (): Promise<void> => {
    const tables = models.map(({ table }) => tableSql(table)).join(', ')
    const inserts = models.flatMap((model) => {
      const fields = model.fields.filter(({ generated }) => !generated)
      const columns = fields.map(({ column }) => identifier(column)).join(', ')
      return (world.get(model.table) ?? []).map(
        (record) =>
          `insert into ${tableSql(model.table)} (${columns}) overriding system value values (${fields.map(({ name }) => quote(record[name] ?? null)).join(', ')})`,
      )
    })
    await run([`truncate ${tables} cascade`, ...inserts].join(';\n'))
  }

  for (const model of models) await fill(model)
  for (const model of spec.models) if (model.view !== undefined) await readView(model)
  return { world, empty, restore, remove: () => dropAll(database) }
}

/** The words of PostgreSQL, if it rejected a statement. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}

/** The fields that an insert gives values for. */
function writtenFields({ fields }: ModelSpec): ModelSpec['fields'] {
  return fields.filter(({ assigned, generated }) => !assigned && !generated)
}

/** The columns of a model as texts. */
function textsIn({ fields }: ModelSpec): string {
  return fields.map(({ column }) => `${identifier(column)}::text`).join(', ')
}

function recordOf({ fields }: ModelSpec, row: readonly (string | null)[] = []): StoredRecord {
  return Object.fromEntries(fields.map(({ name }, at) => [name, row[at] ?? null]))
}

/** Models after those that their relations name. */
function inOrder(models: readonly ModelSpec[]): readonly ModelSpec[] {
  return inDependencyOrder(models, ({ relations }) =>
    relations.flatMap(({ target }) => models.find(({ name }) => name === target.model) ?? []),
  )
}

function quote(value: string | null): string {
  return value === null ? 'null' : literal(value)
}

/** Finds the statements that drop all tables, views, types, collations, functions and schemas. */
const DROPS = `
  select format('drop %s if exists %s cascade', kind, name) from (
    select case relkind when 'v' then 'view' when 'm' then 'materialized view' else 'table' end as kind,
      oid::regclass::text as name, relnamespace as schema
      from pg_class where relkind in ('r', 'p', 'v', 'm')
    union all select 'type', oid::regtype::text, typnamespace from pg_type where typtype in ('e', 'd')
    union all select 'collation', oid::regcollation::text, collnamespace from pg_collation
    union all select 'routine', oid::regprocedure::text, pronamespace from pg_proc
    union all select 'schema', quote_ident(nspname), oid from pg_namespace where nspname <> 'public'
  ) found join pg_namespace on pg_namespace.oid = schema
  where nspname !~ '^pg_' and nspname <> 'information_schema'`

async function dropAll(database: Database): Promise<void> {
  const { rows } = await database.query({ text: DROPS, values: [] })
  const texts = rows.map(([text]) => text ?? '')
  if (texts.length > 0) await database.query({ text: texts.join(';\n'), values: [] })
}
