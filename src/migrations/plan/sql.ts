import { isDeepStrictEqual } from 'node:util'
import { inDependencyOrder } from '../../foundation/dependency-order.js'
import { partsOf, tableSql } from '../../fields/table-name.js'
import { defaultSql } from '../../config/default-sql.js'
import { columnsOf, isPlain, isWritable, loneKey } from '../../config/model-spec.js'
import type { AppSpec, FieldSpec, ModelRelation, ModelSpec } from '../../config/spec.js'
import { checkName, foreignKeyName, primaryKeyName, uniqueName } from '../../config/parse/constraint-names.js'
import type { ExistingColumn } from '../../fields/existing-column.js'
import type { Typed } from '../../fields/field-type.js'
import { identifier } from '../../fields/sql-literal.js'
import { INTEGERS } from '../../fields/types/integer-type.js'
import { createIndex, type WantedIndex, wantedIndexes } from './wanted-indexes.js'

/** A table as resources.yaml describes it, each part with the SQL that creates it. */
export interface WantedTable {
  readonly name: string
  /** The name in resources.yaml. */
  readonly model: string
  /** Whether migrations create it. Otherwise only the types of its columns matter. */
  readonly managed: boolean
  readonly kind: 'table' | 'view' | 'table or view'
  readonly formerly: string | undefined
  /** Former columns whose values may be deleted. */
  readonly dropped: readonly string[]
  readonly columns: readonly WantedColumn[]
  readonly constraints: readonly WantedConstraint[]
  readonly indexes: readonly WantedIndex[]
}

export interface WantedColumn {
  readonly name: string
  /** The name in resources.yaml. */
  readonly field: string
  /** Its possible former names, the likeliest first; empty if none is declared. */
  readonly formerly: readonly string[]
  readonly type: string
  /** The SQL of the default, if any. */
  readonly default: string | undefined
  readonly nullable: boolean
  /** Whether the server fills the column if an insert omits it: by a default or a sequence. */
  readonly filled: boolean
  /** Its choices, or the choices of its items. */
  readonly choices: readonly string[] | undefined
  /** The choices that no check of the column says: those of the items of a list, or of the key that a relation refers to. */
  readonly impliedChoices: readonly string[] | undefined
  /** Whether requests set the column; undefined if migrations create it. */
  readonly written?: boolean
  /** Whether an existing column of another type can hold the values. */
  readonly serves: (column: ExistingColumn) => boolean
  /** The definition after the name of the column. */
  readonly definition: string
}

export interface WantedConstraint {
  readonly name: string
  readonly kind: 'primary_key' | 'unique' | 'foreign_key' | 'check'
  readonly columns: readonly string[]
  readonly definition: string
  /** The table that a foreign key points to. */
  readonly target: string | undefined
  /** The columns that it refers to. */
  readonly targetColumns?: readonly string[]
}

const ON_DELETE = { restrict: 'restrict', cascade: 'cascade', set_null: 'set null' } as const

/** The tables of a configuration, each after the tables that it refers to, except where tables refer to each other. */
export function wantedTables({ models: all }: Pick<AppSpec, 'models'>): readonly WantedTable[] {
  const models = all.filter(({ managed }) => managed)
  const named = new Map(models.map((model, place) => [model.name, { model, place }]))
  const targetsOf = ({ relations }: ModelSpec) =>
    relations
      .flatMap(({ target }) => named.get(target.model) ?? [])
      .sort((one, other) => one.place - other.place)
      .map(({ model }) => model)
  return inDependencyOrder(models, targetsOf).map(wantedTable)
}

/** The parts of unmanaged tables that a configuration uses. */
export function usedTables({ models }: Pick<AppSpec, 'models'>): readonly WantedTable[] {
  return models
    .filter(({ managed }) => !managed)
    .map((model) => ({
      ...wantedTable(model),
      managed: false,
      columns: model.fields.map(usedColumn),
      constraints: [],
      indexes: [],
    }))
}

/** The statements that make the schemas of tables, as far as these name one. */
export function createSchemas(tables: readonly WantedTable[]): readonly string[] {
  const schemas = new Set(tables.flatMap(({ name }) => partsOf(name).schema ?? []))
  return [...schemas].map((schema) => `create schema if not exists ${identifier(schema)}`)
}

export function wantedTable(model: ModelSpec): WantedTable {
  return {
    name: model.table,
    model: model.name,
    managed: true,
    kind: model.view !== undefined ? 'view' : model.managed ? 'table' : 'table or view',
    formerly: model.renamedFrom,
    // The dropped field may have been a relation, whose column is its name and `_id`.
    dropped: model.dropped.flatMap((field) => [field, `${field}_id`]),
    columns: model.fields.map(wantedColumn),
    constraints: wantedConstraints(model),
    indexes: wantedIndexes(model),
  }
}

function wantedColumn(field: FieldSpec): WantedColumn {
  const type = field.type.column(field.options)
  const given = defaultSql(field)
  const key = field.assigned && given === undefined ? field.type.assigned?.sql : undefined
  const parts = [type, key, field.nullable || field.primaryKey ? undefined : 'not null', given && `default ${given}`]
  return {
    name: field.column,
    field: field.name,
    formerly: formerColumns(field),
    type,
    default: given,
    nullable: field.nullable,
    filled: (key ?? given) !== undefined,
    choices: declaredChoices(field),
    impliedChoices: itemChoicesOf(field) ?? keyChoicesOf(field),
    serves: (column) => field.type.serves?.(column, field.options) ?? false,
    definition: parts.filter(Boolean).join(' '),
  }
}

/**
 * In an unmanaged table, a foreign key can have another integer type than the key that it refers to: it holds only values of that key. The column needs
 * no default, because inserts have the declared value.
 */
function usedColumn(field: FieldSpec): WantedColumn {
  const column = wantedColumn(field)
  const isLoose = field.target !== undefined && INTEGERS.has(column.type)
  const filled = column.filled && column.default === undefined
  const written = isWritable(field) && !field.assigned
  return {
    ...column,
    filled,
    written,
    serves: (there) => column.serves(there) || (isLoose && INTEGERS.has(there.type)),
  }
}

/** The choices of a field, or of the items of a list. */
export function declaredChoices(field: FieldSpec): readonly string[] | undefined {
  return field.type.choices?.(field.options) ?? itemChoicesOf(field)
}

function itemChoicesOf({ type, options }: FieldSpec): readonly string[] | undefined {
  const items = type.items?.(options)
  return items?.type.choices?.(items.options)
}

function keyChoicesOf({ options }: FieldSpec): readonly string[] | undefined {
  let key = 'key' in options ? (options.key as Typed) : undefined
  while (key !== undefined && 'key' in key.options) key = key.options.key as Typed
  return key?.type.choices?.(key.options)
}

function formerColumns({ renamedFrom, target }: FieldSpec): readonly string[] {
  if (renamedFrom === undefined) return []
  const relation = `${renamedFrom}_id`
  return target ? [relation, renamedFrom] : [renamedFrom, relation]
}

function wantedConstraints(model: ModelSpec): readonly WantedConstraint[] {
  const { table, key, fields, indexes } = model
  const keyColumns = key.map(({ column }) => column)
  const unique = (columns: readonly string[]): WantedConstraint => ({
    name: uniqueName(table, columns),
    kind: 'unique',
    columns,
    definition: `unique (${columnList(columns)})`,
    target: undefined,
  })
  const all: readonly WantedConstraint[] = [
    ...(key.length > 0 ? [primaryKeyOf(table, key)] : []),
    ...fields.filter((field) => field.unique && field !== loneKey(model)).map((field) => unique([field.column])),
    // PostgreSQL makes no second constraint for the columns of the key.
    ...indexes
      .filter((index) => index.unique && isPlain(index) && !isDeepStrictEqual(index.columns, keyColumns))
      .map((index) => unique(index.columns)),
    ...fields.flatMap((field) => checksOf(table, field)),
    ...model.relations.filter(({ target }) => target.managed).map((relation) => foreignKey(table, relation)),
  ]
  // Those of one name with different definitions are clashes.
  return [...new Map(all.map((constraint) => [`${constraint.name} ${constraint.definition}`, constraint])).values()]
}

function primaryKeyOf(table: string, key: readonly FieldSpec[]): WantedConstraint {
  const columns = key.map(({ column }) => column)
  const definition = `primary key (${columnList(columns)})`
  return { name: primaryKeyName(table), kind: 'primary_key', columns, definition, target: undefined }
}

function checksOf(table: string, field: FieldSpec): readonly WantedConstraint[] {
  return field.type.rules(field.options).flatMap((rule) => {
    const check = rule.check?.(identifier(field.column))
    if (check === undefined) return []
    const name = checkName(table, field.column, rule.name)
    return [{ name, kind: 'check', columns: [field.column], definition: `check (${check})`, target: undefined }]
  })
}

export function foreignKey(table: string, relation: ModelRelation): WantedConstraint {
  const { target, parts } = relation
  const columns = columnsOf(relation)
  const targetColumns = parts.map(({ to }) => to.column)
  const reference = `references ${tableSql(target.table)} (${columnList(targetColumns)})`
  const definition = `foreign key (${columnList(columns)}) ${reference} on delete ${ON_DELETE[target.onDelete]}`
  const points = { target: target.table, targetColumns }
  return { name: foreignKeyName(table, columns), kind: 'foreign_key', columns, definition, ...points }
}

/**
 * The statements that create a table, with foreign keys only to tables that exist by then.
 * @param exists whether a foreign key's target exists already; the table itself always does.
 */
export function createTable(table: WantedTable, exists: (target: string) => boolean): readonly string[] {
  const inside = table.constraints.filter(
    ({ target }) => target === undefined || target === table.name || exists(target),
  )
  const members = [
    ...table.columns.map(({ name, definition }) => `${identifier(name)} ${definition}`),
    ...inside.map(({ name, definition }) => `constraint ${identifier(name)} ${definition}`),
  ]
  return [
    `create table ${tableSql(table.name)} (\n  ${members.join(',\n  ')}\n)`,
    ...table.indexes.map((index) => createIndex(table, index)),
  ]
}

/** The statements that create all tables in an empty schema. */
export function createAll(tables: readonly WantedTable[]): readonly string[] {
  const made = new Set<string>()
  const created = tables.flatMap((table) => {
    const statements = createTable(table, (target) => made.has(target))
    made.add(table.name)
    return statements
  })
  return [...created, ...lateForeignKeys(tables).map(({ table, constraint }) => addConstraint(table.name, constraint))]
}

/** The foreign keys that tables created in this order cannot have from the start, because the target comes later. */
export function lateForeignKeys(
  tables: readonly WantedTable[],
): readonly { readonly table: WantedTable; readonly constraint: WantedConstraint }[] {
  return tables.flatMap((table, index) => {
    const later = new Set(tables.slice(index + 1).map(({ name }) => name))
    return table.constraints.flatMap((constraint) =>
      constraint.target !== undefined && later.has(constraint.target) ? [{ table, constraint }] : [],
    )
  })
}

export function addConstraint(
  table: string,
  { name, definition }: Pick<WantedConstraint, 'name' | 'definition'>,
): string {
  return `alter table ${tableSql(table)} add constraint ${identifier(name)} ${definition}`
}

export function columnList(columns: readonly string[]): string {
  return columns.map(identifier).join(', ')
}
