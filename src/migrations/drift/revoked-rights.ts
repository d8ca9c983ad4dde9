import type { AppSpec, Operation, ResourceSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { formattedTable, tableSql } from '../../fields/table-name.js'
import { type Command, COMMANDS } from '../introspect/catalog/privileges.js'
import { grantUsage } from './closed-schemas.js'

interface RevokedRight {
  readonly table: string
  readonly text: string
}

/** The tables of which the database user may read no column, or may not make the changes that requests need. */
interface RevokedRights {
  readonly unreadable: readonly RevokedRight[]
  readonly unwritable: readonly RevokedRight[]
}

export type IsReplaced = (resource: ResourceSpec, operation: Operation) => boolean

type Right = 'select' | Command

const RIGHTS: readonly Right[] = ['select', 'insert', 'update', 'delete']

/** SQL: whether the database user has a right on a table `c`, or on one of its columns. */
function has(right: Right): string {
  // PostgreSQL grants `delete` on whole tables only.
  return right === 'delete' ? `has_table_privilege(c.oid, 'delete')` : `has_any_column_privilege(c.oid, '${right}')`
}

/** SQL: a text for the rights of the database user on a table `c` in a schema `n`. */
export const RIGHTS_TEXT = `concat(has_schema_privilege(n.oid, 'usage'), ${RIGHTS.map(has).join(', ')})`

const LACKING = `
  select current_user, ${formattedTable('c', 'n')}, case when not has_schema_privilege(n.oid, 'usage') then n.nspname end,
    concat_ws(' ', ${RIGHTS.map((right) => `case when not ${has(right)} then '${right}' end`).join(', ')})
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where ${formattedTable('c', 'n')} in (select jsonb_array_elements_text($1))`

const VERBS: Readonly<Record<Right, string>> = {
  select: 'read it',
  insert: 'add rows',
  update: 'update rows',
  delete: 'delete rows',
}

/**
 * Finds the rights on whole tables that requests need and the database user lacks. `doctor` also finds missing rights on columns. Every operation needs the right to read: a change returns the record.
 */
export async function revokedRights(spec: AppSpec, database: Database, isReplaced: IsReplaced): Promise<RevokedRights> {
  const needed = neededRights(spec, isReplaced)
  const { rows } = await database.query({ text: LACKING, values: [JSON.stringify([...needed.keys()])] })
  const unreadable: RevokedRight[] = []
  const unwritable: RevokedRight[] = []
  for (const [role, table, closedSchema, lacking] of rows) {
    if (role == null || table == null) continue
    const lack = (to: RevokedRight[], missing: string, grant: string) =>
      to.push({ table, text: `the role ${role} may not ${missing} (as the owner: ${grant})` })
    // Without the right to use the schema, a right on the table is of no use.
    if (closedSchema != null) {
      lack(unreadable, 'use its schema', grantUsage({ role, schema: closedSchema }))
      continue
    }
    for (const right of RIGHTS) {
      if (!needed.get(table)?.has(right) || !lacking?.split(' ').includes(right)) continue
      const grant = `grant ${right} on ${tableSql(table)} to ${identifier(role)}`
      lack(right === 'select' ? unreadable : unwritable, VERBS[right], grant)
    }
  }
  return { unreadable, unwritable }
}

function neededRights({ resources, keys, answers }: AppSpec, isReplaced: IsReplaced): ReadonlyMap<string, Set<Right>> {
  const needed = new Map<string, Set<Right>>()
  const need = (table: string, rights: readonly Right[]) =>
    needed.set(table, new Set([...(needed.get(table) ?? []), ...rights]))
  for (const resource of resources)
    for (const operation of resource.operations) {
      const command = COMMANDS[operation]
      if (!isReplaced(resource, operation)) need(resource.model.table, command ? ['select', command] : ['select'])
    }
  // Requests only look for keys.
  if (keys) need(keys.table, ['select'])
  if (answers) need(answers.table, RIGHTS)
  return needed
}
