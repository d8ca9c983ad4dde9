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
  select current_user, ${formattedTable('c', 'n')}, has_any_column_privilege(c.oid, 'select')::text, has_any_column_privilege(c.oid, 'insert')::text,
    case when not has_schema_privilege(n.oid, 'usage') then n.nspname end
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where ${formattedTable('c', 'n')} in (select jsonb_array_elements_text($1))
    and not (has_any_column_privilege(c.oid, 'select') and has_any_column_privilege(c.oid, 'insert') and has_schema_privilege(n.oid, 'usage'))`

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
      // Without the right to use the schema, a right on the table is of no use.
      const closedSchema = row[4]
      if (table == null || !needed.has(table) || (row[place] !== 'false' && closedSchema == null)) return []
      const missing = closedSchema == null ? verb : 'use its schema'
      const granted =
        closedSchema == null ? `${right} on ${tableSql(table)}` : `usage on schema ${identifier(closedSchema)}`
      return [
        {
          table,
          text: `the role ${role} may not ${missing} (as the owner: grant ${granted} to ${identifier(role ?? '')})`,
        },
      ]
    })
  return {
    unreadable: lacking(read, 2, ['read it', 'select']),
    unwritable: lacking(created, 3, ['add rows', 'insert']),
  }
}
