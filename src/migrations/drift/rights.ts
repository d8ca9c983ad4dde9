import type { AppSpec, ModelSpec } from '../../config/spec.js'
import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { partsOf, tableSql } from '../../fields/table-name.js'
import { BITS, type Command, COMMANDS, executable, FORBIDDEN_SEQUENCES } from '../introspect/catalog/privileges.js'

/** A right that requests need, and that the database does not give. */
export interface MissingRight {
  readonly message: string
  readonly help: string
}

interface Found {
  readonly role: string
  /** The schema, if the user may not use it. */
  readonly schema: string | null
  /** The columns that the user may not read. */
  readonly unreadable: readonly string[]
  /** The sequences that fill columns, if the user may not use them. */
  readonly sequences: readonly string[]
  /** The commands that the user may execute on no column. */
  readonly forbidden: readonly Command[]
  /** The commands that nobody can execute. */
  readonly impossible: readonly Command[]
}

const ALL: readonly Command[] = ['insert', 'update', 'delete']

/** Each command with the SQL of a check for it. */
function listed(check: (command: Command) => string): string {
  return `array_remove(array[${ALL.map((command) => `case when ${check(command)} then '${command}' end`).join(', ')}], null)`
}

const RIGHTS = `
  select json_build_object(
    'role', current_user,
    'schema', case when not has_schema_privilege(n.oid, 'usage') then n.nspname end,
    'unreadable', (
      select coalesce(json_agg(a.attname order by a.attnum), '[]') from pg_attribute a
      where a.attrelid = c.oid and a.attname in (select json_array_elements_text($3::json)) and not has_column_privilege(c.oid, a.attnum, 'select')),
    'sequences', (select coalesce(json_agg(s.oid::regclass), '[]') ${FORBIDDEN_SEQUENCES}),
    'forbidden', ${listed((command) => (command === 'delete' ? `not has_table_privilege(c.oid, 'delete')` : `not has_any_column_privilege(c.oid, '${command}')`))},
    'impossible', ${listed((command) => `(${executable(true)}) & ${BITS[command]} = 0`)})::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relname = $1 and case when $2::text is null then pg_table_is_visible(c.oid) else n.nspname = $2 end
    and c.relkind in ('r', 'p', 'v', 'm', 'f')`

/**
 * Finds the rights that requests need on the tables of resources, API keys and stored responses, and that the database user, or every user, lacks.
 * Missing tables are left out.
 */
export async function missingRights(
  { resources, answers, keys }: AppSpec,
  database: Connection,
): Promise<readonly MissingRight[]> {
  const needed = new Map<ModelSpec, Set<Command>>()
  for (const { model, operations } of resources) {
    const commands = needed.get(model) ?? new Set<Command>()
    for (const operation of operations) {
      const command = COMMANDS[operation]
      if (command !== undefined) commands.add(command)
    }
    needed.set(model, commands)
  }
  if (answers) needed.set(answers, new Set(ALL))
  // `snippetctl keys` writes them, perhaps as another user.
  if (keys) needed.set(keys, new Set())
  const missing: MissingRight[] = []
  for (const [model, commands] of needed) {
    const { schema = null, name } = partsOf(model.table)
    const columns = JSON.stringify(model.fields.map(({ column }) => column))
    const { rows } = await database.query({ text: RIGHTS, values: [name, schema, columns] })
    const found = rows[0]?.[0]
    if (found != null) missing.push(...missingOf(model, commands, JSON.parse(found) as Found))
  }
  return missing
}

function missingOf({ name, table }: ModelSpec, needed: ReadonlySet<Command>, found: Found): readonly MissingRight[] {
  const { schema, unreadable } = found
  const impossible = found.impossible.filter((command) => needed.has(command))
  const forbidden = found.forbidden.filter((command) => needed.has(command) && !impossible.includes(command))
  const missing: MissingRight[] = []
  const lack = (what: string, grant: string) =>
    missing.push({
      message: `the role ${found.role} may not ${what}`,
      help: `as the owner: grant ${grant} to ${identifier(found.role)}`,
    })
  if (schema !== null) lack(`use the schema ${schema}`, `usage on schema ${identifier(schema)}`)
  if (unreadable.length > 0)
    lack(
      `read ${table} (${unreadable.join(', ')})`,
      `select (${unreadable.map(identifier).join(', ')}) on ${tableSql(table)}`,
    )
  if (forbidden.length > 0)
    lack(`${forbidden.join(' and ')} records of ${table}`, `${forbidden.join(', ')} on ${tableSql(table)}`)
  for (const sequence of needed.has('insert') ? found.sequences : [])
    lack(`use the sequence ${sequence} of ${table}`, `usage on sequence ${sequence}`)
  if (impossible.length > 0)
    missing.push({
      message: `PostgreSQL cannot ${impossible.join(' or ')} records of ${table}`,
      help: `leave these operations out of the resources of the model ${name}, or create a trigger: instead of ${impossible.join(' or ')}`,
    })
  return missing
}
