import type { AppSpec, Operation, ResourceSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { formattedTable, tableSql } from '../../fields/table-name.js'

interface RevokedRight {
  readonly table: string
  readonly text: string
}

/** The tables of which the database user may read no column, or insert no row, although resources do. */
interface RevokedRights {
  readonly unreadable: readonly RevokedRight[]
  readonly unwritable: readonly RevokedRight[]
}

export type IsReplaced = (resource: ResourceSpec, operation: Operation) => boolean

const RIGHTS = `
  select current_user, ${formattedTable('c', 'n')}, has_any_column_privilege(c.oid, 'select')::text, has_any_column_privilege(c.oid, 'insert')::text
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where ${formattedTable('c', 'n')} in (select jsonb_array_elements_text($1))
    and not (has_any_column_privilege(c.oid, 'select') and has_any_column_privilege(c.oid, 'insert'))`

/** Finds the rights on whole tables that requests need and the database user lacks. `doctor` also finds missing rights on columns. */
export async function revokedRights(
  { resources }: AppSpec,
  database: Database,
  isReplaced: IsReplaced,
): Promise<RevokedRights> {
  const used = resources.flatMap((resource) =>
    resource.operations
      .filter((operation) => !isReplaced(resource, operation))
      .map((operation) => ({ operation, table: resource.model.table })),
  )
  const read = new Set(used.filter(({ operation }) => operation !== 'create').map(({ table }) => table))
  const created = new Set(used.filter(({ operation }) => operation === 'create').map(({ table }) => table))
  const { rows } = await database.query({ text: RIGHTS, values: [JSON.stringify([...read, ...created])] })
  const lacking = (needed: ReadonlySet<string>, place: 2 | 3, [verb, right]: readonly [string, string]) =>
    rows.flatMap((row): readonly RevokedRight[] => {
      const [role = '', table] = row
      if (table == null || row[place] !== 'false' || !needed.has(table)) return []
      const help = `grant ${right} on ${tableSql(table)} to ${identifier(role ?? '')}`
      return [{ table, text: `the role ${role} may not ${verb} (as the owner: ${help})` }]
    })
  return {
    unreadable: lacking(read, 2, ['read it', 'select']),
    unwritable: lacking(created, 3, ['add rows', 'insert']),
  }
}
