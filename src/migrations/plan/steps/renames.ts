import type { Catalog, CatalogTable } from '../../introspect/catalog/catalog.js'
import type { WantedColumn, WantedTable } from '../sql.js'
import { renameColumn } from './column-steps.js'
import { type FormerNames, has } from '../compare/pair.js'
import type { Step } from '../../files/steps.js'
import { type NameChange, renamesInOrder } from './rename-order.js'
import type { Swap } from './swaps.js'
import { renameTable } from './table-steps.js'

/** The renames that resources.yaml declares and the migration files have not made yet. */
export interface Renames {
  readonly steps: readonly Step[]
  /** Former names that do not exist, one sentence each. */
  readonly rejections: readonly string[]
  readonly former: FormerNames
}

interface Rename {
  /** The table of a column; empty for a table. */
  readonly table: string
  readonly from: string
  readonly to: string
}

/**
 * Finds the pending renames. Renames that the files have made already are ignored, so that `renamed_from` may stay in the file.
 * @param from the catalogue of the migration files
 */
export function findRenames(wanted: readonly WantedTable[], from: Catalog, swaps: readonly Swap[]): Renames {
  const swapped = swaps.filter(({ table }) => table === undefined).flatMap((swap) => bothRenames(swap, ''))
  const tables = [...wanted.flatMap((table) => tableRename(table, from)), ...swapped]
  const before = new Map(tables.map((rename) => [rename.to, rename.from]))
  const found = wanted.map((table) => ({
    table,
    old: from.find(({ name }) => name === (before.get(table.name) ?? table.name)),
  }))
  const swappedColumns = swaps.flatMap((swap) => (swap.table === undefined ? [] : bothRenames(swap, swap.table)))
  const columns = [...found.flatMap(({ table, old }) => (old ? columnRenames(table, old) : [])), ...swappedColumns]
  return {
    steps: [
      ...renamesInOrder(tables.map(asPending), ({ from: old, to }) => renameTable(old, to)),
      ...renamesInOrder(columns.map(asPending), ({ space, from: old, to }) => renameColumn(space, old, to)),
    ],
    rejections: found.flatMap(({ table, old }) => (old ? strayColumns(table, old) : strayTable(table, from))),
    former: {
      table: (name) => before.get(name) ?? name,
      column: (table, name) => columns.find((rename) => rename.table === table && rename.to === name)?.from ?? name,
    },
  }
}

function asPending({ table, from, to }: Rename): NameChange {
  return { space: table, from, to }
}

function bothRenames({ one, other }: Swap, table: string): readonly Rename[] {
  return [
    { table, from: other, to: one },
    { table, from: one, to: other },
  ]
}

function tableRename({ name, formerly }: WantedTable, from: Catalog): readonly Rename[] {
  if (formerly === undefined || has(from, name) || !has(from, formerly)) return []
  return [{ table: '', from: formerly, to: name }]
}

function columnRenames(table: WantedTable, old: CatalogTable): readonly Rename[] {
  return table.columns.flatMap((column) => {
    const former = has(old.columns, column.name) ? undefined : formerOf(table, column, old)
    return former === undefined ? [] : [{ table: table.name, from: former, to: column.name }]
  })
}

function formerOf(table: WantedTable, { formerly }: WantedColumn, old: CatalogTable): string | undefined {
  return formerly.find((name) => has(old.columns, name) && !has(table.columns, name))
}

function strayColumns(table: WantedTable, old: CatalogTable): readonly string[] {
  return table.columns
    .filter((column) => column.formerly.length > 0 && !has(old.columns, column.name) && !formerOf(table, column, old))
    .map(
      (column) =>
        `column ${table.name}.${column.name} is new, and its \`renamed_from\` names no column of ${old.name}, which has: ` +
        old.columns.map(({ name }) => name).join(', '),
    )
}

/** In an empty project nothing can have been renamed. */
function strayTable({ name, formerly }: WantedTable, from: Catalog): readonly string[] {
  if (formerly === undefined || from.length === 0) return []
  const known = from.map((table) => table.name).join(', ')
  return [`table ${name} is new, and its \`renamed_from\` names no table of the migrations, which have: ${known}`]
}
