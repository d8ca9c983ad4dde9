import type { Catalog, CatalogColumn, CatalogTable } from './catalog.js'
import { chooseField, type ChosenField } from './field-of-column.js'
import { find } from '../plan/pair.js'
import { besidesForeignKey, readForeignKey, reasonAgainstCircle, reasonAgainstRelation } from './foreign-key.js'
import { nameFields } from './field-names.js'
import { isOnly, isPlainIndex, isPlainUnique } from './plain-parts.js'
import { isOpaque, isRepresentable, isRepresentableName } from './representable.js'
import { chooseKey } from './choose-key.js'
import type { SchemaInspection, InspectedTable } from './inspect.js'

/** A model for an existing table. */
export interface ChosenModel {
  readonly name: string
  readonly table: string
  readonly fields: readonly ChosenField[]
  /** The names of the fields of the primary key; none if records can only be listed. */
  readonly key: readonly string[]
  readonly indexes: readonly { readonly fields: readonly string[]; readonly unique: boolean }[]
  /** Parts of the table that the model does not describe: the place and the reason. */
  readonly left: readonly string[]
}

/** The models for the tables of a database, and the tables without a model, each with the reason. */
export interface Choice {
  readonly models: readonly ChosenModel[]
  readonly left: readonly string[]
}

/** The models and the selection to start from. */
interface ChooseOptions {
  /** The existing models, by table. */
  readonly existing: ReadonlyMap<string, string>
  /** The tables to include, by default all. */
  readonly only?: readonly string[] | undefined
}

/** A table from the inspection and from the catalogue. */
interface Table {
  readonly inspected: InspectedTable
  readonly live: CatalogTable
}

/** Chooses a model for each table that can have one. */
export function chooseModels(inspected: SchemaInspection, catalog: Catalog, { existing, only }: ChooseOptions): Choice {
  const tables = inspected.tables
    .filter(({ name }) => !existing.has(name) && (only?.includes(name) ?? true))
    .flatMap((table): readonly Table[] => {
      const live = find(catalog, table.name)
      return live ? [{ inspected: table, live }] : []
    })
  const refused = tables.map((table) => ({ table, reason: reasonAgainst(table) }))
  const taken = refused.flatMap(({ table, reason }) => (reason === undefined ? [table] : []))
  const names = nameModels(taken, existing)
  const context = { names: new Map([...existing, ...names]), catalog }
  return {
    models: taken.map((table) => chooseModel(table, context)),
    left: refused.flatMap(({ table, reason }) =>
      reason === undefined ? [] : [`table ${table.inspected.name} has no model: ${reason}`],
    ),
  }
}

function nameModels(tables: readonly Table[], existing: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const used = new Set(existing.values())
  return new Map(
    tables.map(({ inspected: { name } }) => {
      const model = used.has(name) ? `${name.slice(0, 57)}_table` : name
      used.add(model)
      return [name, model]
    }),
  )
}

function reasonAgainst({ inspected, live }: Table): string | undefined {
  if (inspected.special !== null) return inspected.special
  if (!isRepresentableName(inspected.name)) return 'its name has other characters than lower-case letters, digits and _'
  return blockedBy({ inspected, live })
}

function blockedBy({ inspected, live }: Table): string | undefined {
  const blocking = live.columns.find(
    (column) =>
      !isShown(column, inspected) &&
      !column.nullable &&
      column.default === null &&
      column.identity === null &&
      !column.generated,
  )
  return blocking && `${blocking.name} takes no null, has no default and cannot be a field (${reasonOf(blocking)})`
}

function reasonOf({ type, generated, identity }: CatalogColumn): string {
  if (generated) return 'it is computed'
  return identity === null ? `no field has the type ${type}` : 'it is a counter, and not the primary key'
}

/** Whether a field can stand for a column. The default of an opaque column fills it only if no field does. */
function isShown(column: CatalogColumn, { columns }: InspectedTable): boolean {
  if (isRepresentable(column)) return true
  if (column.generated || !isOpaque(column)) return false
  const isForeign = columns.some(({ name, foreign }) => name === column.name && foreign)
  return !isForeign && (column.nullable || column.default === null)
}

interface Context {
  /** The model of each table. */
  readonly names: ReadonlyMap<string, string>
  readonly catalog: Catalog
}

function chooseModel({ inspected, live }: Table, context: Context): ChosenModel {
  const { key, left: leftOfKey } = chooseKey(live)
  const columns = inspected.columns.flatMap(({ name }) => find(live.columns, name) ?? [])
  const fieldless = columns.filter(
    (column) => !isShown(column, inspected) || (column.identity !== null && !key.includes(column.name)),
  )
  const related = columns
    .filter((column) => !fieldless.includes(column))
    .map((column) => ({ column, ...chooseRelation(column, live, context) }))
  const named = nameFields(
    related.map(({ column, relation }) => ({ column: column.name, relation: relation !== undefined })),
  )
  const chosen = related.map(({ column, relation, left }) => {
    const { name = column.name, clash } = named.get(column.name) ?? {}
    const part = key.includes(column.name) ? (key.length === 1 ? 'whole' : 'part') : undefined
    const field = chooseField(live, column, { name, key: part, relation })
    const renamed = clash === undefined ? [] : [`${live.name}.${column.name}: the field is ${name}: ${clash} is taken`]
    return { ...field, left: [...renamed, ...left, ...field.left] }
  })
  const byColumn = new Map(chosen.map((field) => [field.column, field.name]))
  const table = live.name
  return {
    name: context.names.get(table) ?? table,
    table,
    fields: chosen,
    key: key.flatMap((column) => byColumn.get(column) ?? []),
    ...chooseIndexes(live, byColumn, [
      ...leftOfKey,
      ...fieldless.map((column) => `${table}.${column.name}: no field: ${reasonOf(column)}`),
      ...chosen.flatMap(({ left }) => left),
    ]),
  }
}

interface Related {
  readonly relation: { readonly model: string; readonly onDelete: string } | undefined
  readonly left: readonly string[]
}

function chooseRelation(column: CatalogColumn, live: CatalogTable, context: Context): Related {
  const keys = live.constraints.filter((each) => each.kind === 'foreign_key' && isOnly(each.columns, column.name))
  const [key, ...others] = keys
  if (!key) return { relation: undefined, left: [] }
  const place = `${live.name}.${column.name}`
  const more = others.map(({ definition }) => `${place}: a second foreign key stays as it is: ${definition}`)
  const model = context.names.get(key.target ?? '')
  const reason =
    model === undefined
      ? `the table ${key.target} has no model`
      : (reasonAgainstRelation(key, live, find(context.catalog, key.target ?? '')) ??
        reasonAgainstCircle(key, live, context.catalog))
  const reference = readForeignKey(key)
  if (reason !== undefined || !reference || model === undefined)
    return { relation: undefined, left: [`${place}: no relation: ${reason}`, ...more] }
  const besides = besidesForeignKey(key)
  const kept = besides.length === 0 ? [] : [`${place}: the foreign key keeps ${besides.join(', ')}`]
  return { relation: { model, onDelete: reference.onDelete }, left: [...kept, ...more] }
}

function chooseIndexes(
  live: CatalogTable,
  byColumn: ReadonlyMap<string, string>,
  left: readonly string[],
): Pick<ChosenModel, 'indexes' | 'left'> {
  const fieldsOf = (columns: readonly (string | null)[]) =>
    columns.flatMap((column) => byColumn.get(column ?? '') ?? [])
  const parts = [
    ...live.constraints
      .filter(({ kind, columns }) => kind === 'other' || (kind === 'unique' && columns.length > 1))
      .map((part) => ({ part, unique: true, plain: part.kind === 'unique' && isPlainUnique(part) })),
    ...live.indexes.map((part) => ({ part, ...kindOf(live.name, part) })),
  ]
  const single = ({ part, unique }: (typeof parts)[number]) => unique && part.columns.length === 1
  const said = parts.filter((each) => each.plain && fieldsOf(each.part.columns).length === each.part.columns.length)
  const indexes = [
    ...new Map(
      said
        .filter((each) => !single(each))
        .map(({ part, unique }) => [JSON.stringify(part.columns), { fields: fieldsOf(part.columns), unique }] as const)
        .toReversed(),
    ).values(),
  ].toReversed()
  const multiple = live.constraints
    .filter(({ kind, columns }) => (kind === 'check' || kind === 'foreign_key') && columns.length !== 1)
    .map(({ name, definition }) => `${live.name}.${name}: stays as it is: ${definition}`)
  const unsaid = parts
    .filter((each) => !said.includes(each))
    .map(({ part }) => `${live.name}.${part.name}: stays as it is: ${part.definition}`)
  return { indexes, left: [...left, ...multiple, ...unsaid] }
}

function kindOf(table: string, index: CatalogTable['indexes'][number]) {
  const unique = isPlainIndex(table, index, 'unique')
  return { unique, plain: unique || isPlainIndex(table, index) }
}
