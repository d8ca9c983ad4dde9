/** A check and the columns that it uses. `Column` describes the parts of a column that can affect the check. */
export interface Check<Column> {
  readonly columns: readonly Column[]
  readonly definition: string
}

/** A table for checks of several tables, which are numbered over all tables of this kind. */
export interface PackedTable<Column> {
  readonly columns: readonly Column[]
  readonly checks: readonly Named[]
}

interface Named {
  readonly name: string
  readonly definition: string
}

/**
 * Distributes distinct checks over few tables, because an embedded database takes ten times longer for a table than for a check. PostgreSQL prints
 * a check in the same way on each table whose columns of these names are the same.
 * @param most the maximum number of columns of a table
 */
export function packChecks<Column extends { readonly name: string }>(
  all: readonly Check<Column>[],
  most: number,
): { readonly tables: readonly PackedTable<Column>[]; nameOf(check: Check<Column>): string | undefined } {
  const names = new Map<string, string>()
  const tables: { readonly columns: Map<string, Column>; readonly checks: Named[] }[] = []
  for (const check of all) {
    const key = JSON.stringify(check)
    if (names.has(key)) continue
    const name = `check ${names.size}`
    names.set(key, name)
    let table = tables.find(({ columns }) => fits(check.columns, columns, most))
    if (!table) tables.push((table = { columns: new Map(), checks: [] }))
    for (const column of check.columns) table.columns.set(column.name, column)
    table.checks.push({ name, definition: check.definition })
  }
  return {
    tables: tables.map(({ columns, checks }) => ({ columns: [...columns.values()], checks })),
    nameOf: (check) => names.get(JSON.stringify(check)),
  }
}

function fits<Column extends { readonly name: string }>(
  columns: readonly Column[],
  there: ReadonlyMap<string, Column>,
  most: number,
): boolean {
  const added = columns.filter(({ name }) => !there.has(name))
  const isSame = (column: Column) => JSON.stringify(there.get(column.name)) === JSON.stringify(column)
  return there.size + added.length <= most && columns.every((column) => added.includes(column) || isSame(column))
}
