import { checkName, foreignKeyName, indexName, uniqueName } from '../db/constraint-names.js'
import type { Catalog, CatalogColumn, CatalogConstraint, CatalogIndex, CatalogTable } from './catalog.js'
import { lateForeignKeys, type WantedTable } from './sql.js'
import * as steps from './steps.js'

/** What stands between the tables that the migration files make and those that resources.yaml wants. */
export interface Difference {
  readonly steps: readonly steps.Step[]
  /** Changes that are not made by themselves, because they could destroy values: what each is, and what to do. */
  readonly refusals: readonly string[]
  /** What only the files know, and is left alone. */
  readonly notes: readonly string[]
}

/** One table on both sides. */
interface Pair {
  readonly wanted: WantedTable
  readonly from: CatalogTable
  readonly to: CatalogTable
}

/**
 * Compares what the files make with what is wanted.
 * @param wanted the tables in an order in which they can be made
 * @param from the catalogue of the files
 * @param to the catalogue of `wanted`, from the same server
 */
export function compareSchemas(wanted: readonly WantedTable[], from: Catalog, to: Catalog): Difference {
  const known = new Map(from.map((table) => [table.name, table]))
  const target = new Map(to.map((table) => [table.name, table]))
  const created = wanted.filter(({ name }) => !known.has(name))
  const pairs = wanted.flatMap((table): readonly Pair[] => {
    const [old, now] = [known.get(table.name), target.get(table.name)]
    return old && now ? [{ wanted: table, from: old, to: now }] : []
  })
  return {
    steps: [
      ...pairs.flatMap(droppedParts),
      ...pairs.flatMap(addedColumns),
      ...pairs.flatMap(changedColumns),
      ...createdTables(created, known),
      ...pairs.flatMap(addedParts),
    ],
    refusals: pairs.flatMap(refusedChanges),
    notes: [
      ...from
        .filter(({ name }) => !target.has(name))
        .map(({ name }) => `table ${name} is not in resources.yaml and is left alone`),
      ...pairs.flatMap(keptParts),
    ],
  }
}

function createdTables(
  created: readonly WantedTable[],
  known: ReadonlyMap<string, CatalogTable>,
): readonly steps.Step[] {
  const made = created.map((table, index) => {
    const earlier = new Set(created.slice(0, index).map(({ name }) => name))
    return steps.addTable(table, (target) => known.has(target) || earlier.has(target))
  })
  return [
    ...made,
    ...lateForeignKeys(created).map(({ table, constraint }) => steps.addConstraint(table.name, constraint, () => true)),
  ]
}

function addedColumns({ wanted, from }: Pair): readonly steps.Step[] {
  return wanted.columns
    .filter((column) => !has(from.columns, column.name) && (column.nullable || column.default !== undefined))
    .map((column) => steps.addColumn(wanted.name, column))
}

function changedColumns({ wanted, from, to }: Pair): readonly steps.Step[] {
  return both(from.columns, to.columns)
    .filter(([old, now]) => sameKind(old, now))
    .flatMap(([old, now]) => [
      ...(old.default === now.default ? [] : [steps.changeDefault(wanted.name, old, now)]),
      ...(old.nullable === now.nullable ? [] : [steps.changeNullable(wanted.name, old, now)]),
    ])
}

function addedParts({ wanted, from, to }: Pair): readonly steps.Step[] {
  // A default gives the new column a value in every row, which may be there twice, or refer to nothing.
  const columns = new Map(wanted.columns.map((column) => [column.name, column]))
  const isEmpty = (column: string) => !has(from.columns, column) && columns.get(column)?.default === undefined
  return [
    ...wanted.constraints
      .filter(({ kind }) => kind !== 'primary_key')
      .flatMap((constraint) => {
        const [old, now] = [find(from.constraints, constraint.name), find(to.constraints, constraint.name)]
        if (!old) return [steps.addConstraint(wanted.name, constraint, isEmpty)]
        return now && sameConstraint(old, now) ? [] : [steps.changeConstraint(wanted.name, old, constraint)]
      }),
    ...wanted.indexes.flatMap((index) => {
      const [old, now] = [find(from.indexes, index.name), find(to.indexes, index.name)]
      if (old?.definition === now?.definition) return []
      return [...(old ? [steps.dropIndex(wanted.name, old)] : []), steps.addIndex(wanted, index)]
    }),
  ]
}

function droppedParts({ wanted, from, to }: Pair): readonly steps.Step[] {
  return [
    ...extra(from.constraints, to.constraints)
      .filter((constraint) => isDerivedConstraint(wanted.name, constraint))
      .map((constraint) => steps.dropConstraint(wanted.name, constraint)),
    ...extra(from.indexes, to.indexes)
      .filter((index) => isDerivedIndex(wanted.name, index))
      .map((index) => steps.dropIndex(wanted.name, index)),
  ]
}

/** Nothing marks a part as derived but its name: whoever names one as the generator would, hands it over. */
function isDerivedConstraint(table: string, { name, kind, columns }: CatalogConstraint): boolean {
  return DERIVED[kind](
    table,
    columns.filter((column) => column !== null),
    name,
  )
}

const DERIVED: Readonly<
  Record<CatalogConstraint['kind'], (table: string, columns: readonly string[], name: string) => boolean>
> = {
  unique: (table, columns, name) => name === uniqueName(table, columns),
  foreign_key: (table, [column = ''], name) => name === foreignKeyName(table, column),
  // PostgreSQL itself calls an unnamed one `books_title_check`, and no rule is called `check`.
  check: (table, [column = '', ...others], name) =>
    others.length === 0 &&
    name !== checkName(table, column, 'check') &&
    name === checkName(table, column, name.slice(`${table}_${column}_`.length)),
  primary_key: () => false,
  other: () => false,
}

function isDerivedIndex(table: string, { name, columns }: CatalogIndex): boolean {
  return columns.every((column) => column !== null) && name === indexName(table, columns)
}

function refusedChanges({ wanted, from, to }: Pair): readonly string[] {
  const table = wanted.name
  const added = wanted.columns.filter((column) => !has(from.columns, column.name))
  const dropped = extra(from.columns, to.columns).filter((column) => !column.generated)
  return [
    ...added
      .filter((column) => !column.nullable && column.default === undefined)
      .map(
        ({ name }) =>
          `column ${table}.${name} is new, takes no null and has no default, so that rows that are there would have no value for it: ` +
          'give the field a `default` or make it `nullable`, or write a migration by hand that fills it',
      ),
    ...dropped.map(
      ({ name }) =>
        `column ${table}.${name} is not in resources.yaml, and dropping it would destroy its values: keep it as a field that is ` +
        `\`private\`, or write a migration by hand that ${added.length > 0 ? 'renames or drops' : 'drops'} it`,
    ),
    ...both(from.columns, to.columns)
      .filter(([old, now]) => !sameKind(old, now))
      .map(
        ([old, now]) =>
          `column ${table}.${now.name} changes from ${describe(old)} to ${describe(now)}, which could fail or change values: ` +
          'write a migration by hand that says how',
      ),
    ...primaryKeyRefusals(table, from, to),
  ]
}

function primaryKeyRefusals(table: string, from: CatalogTable, to: CatalogTable): readonly string[] {
  const [old, now] = [from, to].map(({ constraints }) => constraints.find(({ kind }) => kind === 'primary_key'))
  if (old?.definition === now?.definition && old?.name === now?.name) return []
  const shown = [old, now].map((key) => (key ? `${key.name} ${key.definition}` : 'none'))
  return [`the primary key of ${table} changes from ${shown.join(' to ')}: write a migration by hand that says how`]
}

function keptParts({ wanted, from, to }: Pair): readonly string[] {
  const constraints = extra(from.constraints, to.constraints).filter(
    (constraint) => constraint.kind !== 'primary_key' && !isDerivedConstraint(wanted.name, constraint),
  )
  const indexes = extra(from.indexes, to.indexes).filter((index) => !isDerivedIndex(wanted.name, index))
  const columns = extra(from.columns, to.columns).filter((column) => column.generated)
  return [
    ...columns.map(({ name }) => `column ${wanted.name}.${name} is computed and is left alone`),
    ...constraints.map(({ name }) => `constraint ${name} of ${wanted.name} is made by hand and is left alone`),
    ...indexes.map(({ name }) => `index ${name} of ${wanted.name} is made by hand and is left alone`),
  ]
}

function sameKind(old: CatalogColumn, now: CatalogColumn): boolean {
  return describe(old) === describe(now)
}

function describe({ type, collation, identity, generated }: CatalogColumn): string {
  const parts = [
    type,
    collation && `collate "${collation}"`,
    identity && `generated ${identity} as identity`,
    generated && 'computed',
  ]
  return parts.filter(Boolean).join(' ')
}

function sameConstraint(old: CatalogConstraint, now: CatalogConstraint): boolean {
  return old.definition === now.definition && old.validated === now.validated
}

interface Named {
  readonly name: string
}

function find<Part extends Named>(parts: readonly Part[], name: string): Part | undefined {
  return parts.find((part) => part.name === name)
}

function has(parts: readonly Named[], name: string): boolean {
  return find(parts, name) !== undefined
}

function extra<Part extends Named>(from: readonly Part[], to: readonly Part[]): readonly Part[] {
  return from.filter(({ name }) => !has(to, name))
}

function both<Part extends Named>(from: readonly Part[], to: readonly Part[]): readonly (readonly [Part, Part])[] {
  return to.flatMap((now) => {
    const old = find(from, now.name)
    return old ? [[old, now] as const] : []
  })
}
