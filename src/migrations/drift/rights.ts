import type { AppSpec, ModelSpec } from '../../config/spec.js'
import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { CURRENT_SCHEMA, partsOf, tableSql } from '../../fields/table-name.js'
import {
  BITS,
  type Command,
  COMMANDS,
  executable,
  FORBIDDEN_SEQUENCES,
  isStopped,
} from '../introspect/catalog/privileges.js'

/** A right that requests need, and that the database does not give. */
export interface MissingRight {
  readonly message: string
  readonly help: string
}

interface Found {
  readonly role: string
  /** The schemas that unqualified names refer to, if the user may use none of them. */
  readonly path: string | null
  readonly tables: readonly FoundTable[]
}

interface FoundTable {
  /** Its place in the list of the given tables. */
  readonly place: number
  /** Whether it is a view that is not materialized. */
  readonly view: boolean
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
  /** The commands that fail because of rules. */
  readonly stopped: readonly Command[]
}

const ALL: readonly Command[] = ['insert', 'update', 'delete']

/** Each command with the SQL of a check for it. */
function listed(check: (command: Command) => string): string {
  return `array_remove(array[${ALL.map((command) => `case when ${check(command)} then '${command}' end`).join(', ')}], null)`
}

const RIGHTS = `
  select json_build_object('role', current_user, 'path', case when ${CURRENT_SCHEMA} is null then replace(current_setting('search_path'), ', pg_temp', '') end,
  'tables', (select coalesce(json_agg(json_build_object(
    'place', w.place,
    'view', c.relkind = 'v',
    'schema', case when not has_schema_privilege(n.oid, 'usage') then n.nspname end,
    'unreadable', (
      select coalesce(json_agg(a.attname order by a.attnum), '[]') from pg_attribute a
      where a.attrelid = c.oid and a.attname in (select jsonb_array_elements_text(w.columns)) and not has_column_privilege(c.oid, a.attnum, 'select')),
    'sequences', (select coalesce(json_agg(distinct s.oid::regclass::text), '[]') ${FORBIDDEN_SEQUENCES}),
    'forbidden', ${listed((command) => (command === 'delete' ? `not has_table_privilege(c.oid, 'delete')` : `not has_any_column_privilege(c.oid, '${command}')`))},
    'impossible', ${listed((command) => `(${executable(true)}) & ${BITS[command]} = 0`)},
    'stopped', ${listed(isStopped)}
  ) order by w.place), '[]')
  from jsonb_to_recordset($1) w(place int, schema text, name text, columns jsonb)
  join pg_class c on c.relname = w.name and c.relkind in ('r', 'p', 'v', 'm', 'f')
  join pg_namespace n on n.oid = c.relnamespace
  where case when w.schema is null then pg_table_is_visible(c.oid) else n.nspname = w.schema end))::text`

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
  const tables = [...needed].map(([{ table, fields }], place) => ({
    place,
    ...partsOf(table),
    columns: fields.map(({ column }) => column),
  }))
  const { rows } = await database.query({ text: RIGHTS, values: [JSON.stringify(tables)] })
  const { role, path, tables: found } = JSON.parse(rows[0]?.[0] ?? '{}') as Found
  const byPlace = new Map(found.map((each) => [each.place, each]))
  const ofTables = [...needed].flatMap(([model, commands], place) => {
    const there = byPlace.get(place)
    return there ? missingOf(model, commands, { ...there, role }) : []
  })
  const usesPath = tables.some(({ schema }) => schema === undefined)
  return path === null || !usesPath ? ofTables : [noSchema(role, path), ...ofTables]
}

function noSchema(role: string, path: string): MissingRight {
  return {
    message: `the role ${role} may use none of the schemas of its search_path: ${path}`,
    help: `as the owner of the schema of the tables: grant usage on schema NAME to ${identifier(role)}`,
  }
}

function missingOf(
  { name, table }: ModelSpec,
  needed: ReadonlySet<Command>,
  found: FoundTable & Pick<Found, 'role'>,
): readonly MissingRight[] {
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
  // Only views can have such triggers.
  const triggers = found.view ? `, or create a trigger: instead of ${impossible.join(' or ')}` : ''
  if (impossible.length > 0)
    missing.push({
      message: `PostgreSQL cannot ${impossible.join(' or ')} records of ${table}`,
      help: `leave these operations out of the resources of the model ${name}${triggers}`,
    })
  const stopped = found.stopped.filter((command) => needed.has(command) && !found.impossible.includes(command))
  if (stopped.length > 0)
    missing.push({
      message: `PostgreSQL cannot ${stopped.join(' or ')} records of ${table} because of its rules`,
      help: `leave these operations out of the resources of the model ${name}, or replace the rules with triggers`,
    })
  return missing
}
