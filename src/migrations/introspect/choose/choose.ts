import { type Catalog, type CatalogColumn } from '../catalog/catalog.js'
import { chooseField, type ChosenField } from './field-of-column.js'
import { find } from '../../plan/compare/pair.js'
import { formatValue } from '../../../config/edit/format-value.js'
import { chooseLists, type ListSettings } from './choose-lists.js'
import { chooseIndexes } from './choose-indexes.js'
import type { IndexSettings } from '../catalog/read-index.js'
import { chooseRelation, type Related, type RelationContext } from './choose-relation.js'
import { type FieldName, type FieldSpelling, freeName, nameFields, nameOfTable, type Naming } from './field-names.js'
import { isRepresentableName } from '../catalog/representable.js'
import type { ModelSpec, Operation } from '../../../config/spec.js'
import { readTableName, tableSql } from '../../../fields/table-name.js'
import { adviceForKey, chooseKey } from './choose-key.js'
import { operationsOf } from './choose-operations.js'
import { noteOnTimes } from './note-on-times.js'
import { canBeField, type Table } from './table.js'
import { NO_FIELD, UNREADABLE, unmanagedModel } from './advice.js'
import type { SchemaInspection, InspectedTable } from '../catalog/inspect.js'
import { asUsed } from '../catalog/plain-parts.js'
import { withoutColumns } from '../catalog/privileges.js'
import { reasonAgainstManaging } from '../record.js'
import { notesOnWrites, triggerOn } from '../catalog/trigger-columns.js'

/** A model for an existing table or view. */
export interface ChosenModel extends ListSettings {
  readonly name: string
  readonly table: string
  readonly isView: boolean
  /** Whether migrations cannot make the table, although they make others. */
  readonly isUnmanageable: boolean
  readonly fields: readonly ChosenField[]
  /** The names of the fields of the primary key; none if records can only be listed. */
  readonly key: readonly string[]
  /** The operations of its resource. */
  readonly operations: readonly Operation[]
  /** The number of rows, as PostgreSQL estimates it; null if it does not know. */
  readonly rows: number | null
  readonly indexes: readonly IndexSettings[]
  /** The relations over several fields. */
  readonly relations: readonly ChosenRelation[]
  /** Parts of the table that the model does not describe: the place and the reason. */
  readonly left: readonly string[]
}

/** A relation over several fields, by their names. */
export interface ChosenRelation {
  readonly name: string
  readonly model: string
  readonly fields: readonly string[]
  /** The fields that they refer to, if that is not the primary key. */
  readonly references: readonly string[] | undefined
  readonly onDelete: 'restrict' | 'cascade' | 'set_null'
}

/** The models for the tables and views of a database. */
export interface Choice {
  readonly models: readonly ChosenModel[]
  /** The tables that have no model, with the reasons. */
  readonly left: readonly string[]
  /** Of all tables, those that migrations should not make, with the reasons; empty if migrations make none. */
  readonly unmanageable: ReadonlyMap<string, string>
}

/** The models and the selection to start from. */
interface ChooseOptions {
  /** The existing models, by table. */
  readonly existing: ReadonlyMap<string, ModelSpec>
  /** The tables to include, by default all. */
  readonly only?: readonly string[] | undefined
  /**
   * Whether migrations of this project create the tables. Then special tables, such as views, get no model, and tables that migrations cannot create
   * get an unmanaged one.
   */
  readonly managed: boolean
  /** How the fields of new columns are named. */
  readonly spelling: FieldSpelling
  /** Whether a dialect shows the key of the model of a table as `id`. */
  readonly inDialect: (table: string) => boolean
  /** For an update: the names of the existing fields by column, for each table to choose again. These tables keep the names of their models. */
  readonly again?: ReadonlyMap<string, ReadonlyMap<string, string>>
}

/** Chooses a model for each table and view. Rows of partitions belong to the partitioned table. */
export function chooseModels(
  inspected: SchemaInspection,
  catalog: Catalog,
  { existing, only, managed, spelling, inDialect, again }: ChooseOptions,
): Choice {
  const wanted = inspected.tables.filter(
    ({ name, partition }) => !partition && (again?.has(name) || !existing.has(name)) && (only?.includes(name) ?? true),
  )
  const isMade = ({ special }: InspectedTable) => !managed || special === null
  const unmanageable = new Map(
    inspected.tables.flatMap((table) => {
      const reason = managed && (reasonAgainstManaging(table) ?? reasonAgainstFields(table, catalog))
      return reason ? [[table.name, reason] as const] : []
    }),
  )
  const unreadable = new Map(
    managed ? [] : inspected.tables.map((table) => [table.name, newUnreadable(table, again)] as const),
  )
  const used = catalog.map((table) =>
    managed && !unmanageable.has(table.name) ? table : withoutColumns(asUsed(table), unreadable.get(table.name) ?? []),
  )
  const tables = wanted.filter(isMade).flatMap((table): readonly Table[] => {
    const live = find(used, table.name)
    return live && live.columns.length > 0
      ? [{ inspected: table, live, managed: managed && !unmanageable.has(table.name) }]
      : []
  })
  const unnamed = tables.filter(({ inspected: { name } }) => !existing.has(name))
  const names = nameModels(unnamed, existing)
  const sorted = tables.map(sortColumns)
  const shown = new Map(sorted.map((each) => [each.table.live.name, each.shown]))
  const partitions = partitionsOf(inspected)
  const named = sorted.map((each) =>
    nameTable(
      each,
      { names, existing, shown, catalog: used, partitions, unmanageable },
      {
        spelling,
        inDialect: inDialect(each.table.live.name),
        existing: again?.get(each.table.live.name),
      },
    ),
  )
  const fields = new Map(named.map((each) => [each.table.live.name, each.fields]))
  return {
    models: named.map((each) => chooseModel(each, { names, fields, unmanageable })),
    unmanageable,
    left: [
      ...wanted
        .filter((table) => !isMade(table))
        .map(
          ({ name, special }) =>
            `${name} has no model: ${special}, which migrations do not create; ${unmanagedModel(name)}`,
        ),
      ...wanted
        .filter((table) => isMade(table) && table.columns.length === 0)
        .map(({ name }) => `${name} has no model: it has no columns; nothing can be added`),
      ...wanted
        .filter(({ name, columns }) => columns.length > 0 && unreadable.get(name)?.length === columns.length)
        .map(({ name }) => `${name} has no model: ${UNREADABLE}`),
    ],
  }
}

/** The tables that are partitions of others. */
export function partitionsOf({ tables }: SchemaInspection): ReadonlySet<string> {
  return new Set(tables.filter(({ partition }) => partition).map(({ name }) => name))
}

/** Why migrations should not make a table: every field would need an unmanaged model. Undefined if that is not so, and for a table without columns. */
function reasonAgainstFields(inspected: InspectedTable, catalog: Catalog): string | undefined {
  const live = find(catalog, inspected.name)
  if (!live || live.columns.length === 0 || sortColumns({ inspected, live, managed: true }).shown.length > 0)
    return undefined
  return 'a model can describe its columns only with `managed: false`'
}

/** The columns that the database user may not read, and that no field describes already. */
function newUnreadable({ name, privileges }: InspectedTable, again: ChooseOptions['again']): readonly string[] {
  return privileges.unreadable.filter((column) => !again?.get(name)?.has(column))
}

/** The names of the models by table: new ones are named by their tables, and by their schemas too where two tables have one name. */
function nameModels(tables: readonly Table[], existing: ChooseOptions['existing']): ReadonlyMap<string, string> {
  const isPlain = ({ inspected: { name } }: Table) => isRepresentableName(name)
  const named = new Map([...existing].map(([table, { name }]) => [table, name]))
  const used = new Set(named.values())
  for (const { inspected } of [...tables.filter(isPlain), ...tables.filter((table) => !isPlain(table))]) {
    const { schema, name } = readTableName(inspected.name) ?? { schema: undefined, name: inspected.name }
    const short = nameOfTable(name)
    const candidates = schema === undefined ? [short] : [short, nameOfTable(`${schema}_${name}`)]
    const { name: model } = freeName(candidates, used)
    used.add(model)
    named.set(inspected.name, model)
  }
  return named
}

function reasonOf({ type, generated, identity }: CatalogColumn): string {
  if (generated) return 'it is computed'
  return identity === null ? `no field has the type ${type}` : 'it is an identity column outside the primary key'
}

/** A table with its described columns and the others. */
interface Sorted {
  readonly table: Table
  readonly chosenKey: ReturnType<typeof chooseKey>
  readonly columns: readonly CatalogColumn[]
  readonly shown: readonly CatalogColumn[]
  readonly fieldless: readonly CatalogColumn[]
}

function sortColumns(table: Table): Sorted {
  const { inspected, live, managed } = table
  const chosenKey = chooseKey(table)
  const columns = inspected.columns.flatMap(({ name }) => find(live.columns, name) ?? [])
  const fieldless = columns.filter(
    (column) =>
      !canBeField(column, table) || (managed && column.identity !== null && !chosenKey.key.includes(column.name)),
  )
  const shown = columns.filter((column) => !fieldless.includes(column))
  return { table, chosenKey, columns, shown, fieldless }
}

/** A table whose fields have names. */
interface Named extends Sorted {
  readonly related: readonly ({ readonly column: CatalogColumn } & Related)[]
  /** The fields by column. */
  readonly fields: ReadonlyMap<string, FieldName>
}

function nameTable(sorted: Sorted, context: RelationContext, naming: Omit<Naming, 'key'>): Named {
  const related = sorted.shown.map((column) => ({ column, ...chooseRelation(column, sorted.table, context) }))
  const fields = nameFields(
    related.map(({ column, relation }) => ({ column: column.name, relation: relation !== undefined })),
    { ...naming, key: sorted.chosenKey.key },
  )
  return { ...sorted, related, fields }
}

interface Context {
  /** The model of each table. */
  readonly names: ReadonlyMap<string, string>
  /** The fields of each table by column. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, FieldName>>
  /** Why migrations cannot make a table, by table. */
  readonly unmanageable: ReadonlyMap<string, string>
}

function chooseModel({ table, chosenKey, columns, fieldless, related, fields }: Named, context: Context): ChosenModel {
  const { inspected, live, managed } = table
  const unmanageable = context.unmanageable.get(live.name)
  const { key, reason } = chosenKey
  const chosen = related.map(({ column, relation: found, left }) => {
    const { name = column.name, reason: why } = fields.get(column.name) ?? {}
    const part = key.includes(column.name) ? (key.length === 1 ? 'whole' : 'part') : undefined
    const references = found?.to && context.fields.get(found.to.table)?.get(found.to.column)?.name
    const relation = found && { ...found, references }
    const field = chooseField(live, column, {
      name,
      key: part,
      relation,
      managed,
      trigger: triggerOn(column, inspected),
    })
    const renamed =
      why === undefined
        ? []
        : [
            `${live.name}.${column.name}: its field is ${name}, because ${why}; it can have any other name with \`column: ${formatValue(column.name)}\``,
          ]
    return { ...field, left: [...renamed, ...left, ...field.left] }
  })
  const byColumn = new Map(chosen.map((field) => [field.column, field.name]))
  const { indexes: read, left: leftOfIndexes } = chooseIndexes(
    table,
    new Map(chosen.map((field) => [field.column, field])),
  )
  const { operations, left: leftOfOperations } = operationsOf(table, key, columns)
  const keyFields = key.flatMap((column) => byColumn.get(column) ?? [])
  const { settings, indexes, left: leftOfLists } = chooseLists(table, chosen, { key, keyFields, indexes: read })
  return {
    name: context.names.get(live.name) ?? live.name,
    table: live.name,
    isView: inspected.view,
    isUnmanageable: unmanageable !== undefined,
    fields: chosen,
    operations,
    ...settings,
    rows: inspected.rows,
    key: keyFields,
    indexes,
    relations: [],
    left: [
      ...(unmanageable === undefined
        ? []
        : [`${live.name}: migrations do not create it: ${unmanageable}; no plan changes it`]),
      ...(reason === undefined
        ? []
        : [`${live.name}: records can only be listed: ${reason}; ${adviceForKey(table, columns, byColumn)}`]),
      ...leftOfOperations,
      ...(inspected.populated
        ? []
        : [`${live.name}: requests are 503 until it has data: refresh materialized view ${tableSql(live.name)}`]),
      ...(managed ? [] : notesOnWrites(inspected, columns)),
      ...(managed || !operations.includes('create') ? [] : noteOnTimes(inspected, columns)),
      ...inspected.privileges.unreadable
        .filter((column) => find(live.columns, column) === undefined)
        .map((column) => `${live.name}.${column}: no field: ${UNREADABLE}`),
      ...fieldless.map((column) => `${live.name}.${column.name}: no field: ${reasonOf(column)}; ${NO_FIELD}`),
      ...chosen.flatMap(({ left }) => left),
      ...leftOfLists,
      ...leftOfIndexes,
    ],
  }
}
