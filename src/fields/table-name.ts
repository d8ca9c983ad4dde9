import { identifier, unquote } from './sql-literal.js'

/** A table, and its schema if that is not the current one. */
export interface TableName {
  readonly schema: string | undefined
  readonly name: string
}

/** A part of a table's name: any characters between double quotes, which are doubled inside, or characters other than dots and double quotes. */
const PART = String.raw`(?:"(?:[^"\u0000]|"")+"|[^".\u0000]+)`

/** A table's name, with the name of its schema before a dot or without. */
export const TABLE_PATTERN = String.raw`^(?:(${PART})\.)?(${PART})$`
const TABLE = new RegExp(TABLE_PATTERN, 'u')

/** Characters that are allowed in a part of a table's name only between double quotes. */
const QUOTED = /[".,*:]/

function formatPart(part: string): string {
  return QUOTED.test(part) ? identifier(part) : part
}

/** Reads `books`, `Order Details`, `sales.Customers` or `sales."a.b"`; returns undefined for other texts. */
export function readTableName(text: string): TableName | undefined {
  const [, schema, name] = TABLE.exec(text) ?? []
  if (name === undefined) return undefined
  return { schema: schema === undefined ? undefined : unquote(schema), name: unquote(name) }
}

/** The part of a text that is a table's name without a schema, before a dot if one follows. */
export function leadingTable(text: string): string {
  return /^"(?:[^"]|"")*"/.exec(text)?.[0] ?? text.split('.', 1)[0] ?? ''
}

/** The canonical text of a table's name, which `readTableName` can read. */
export function formatTableName({ schema, name }: TableName): string {
  return schema === undefined ? formatPart(name) : `${formatPart(schema)}.${formatPart(name)}`
}

/** A table's name in its canonical spelling; undefined for a text that does not name a table. */
export function canonicalTableName(text: string): string | undefined {
  const name = readTableName(text)
  return name && formatTableName(name)
}

/** @throws Error for a text that does not name a table */
export function partsOf(table: string): TableName {
  const parts = readTableName(table)
  if (!parts) throw new Error(`${JSON.stringify(table)} is not the name of a table`)
  return parts
}

/** The name of a table without its schema. */
export function bareName(table: string): string {
  return partsOf(table).name
}

/** A table in SQL. */
export function tableSql(table: string): string {
  return inSchemaOf(table, bareName(table))
}

/** The name that qualifies columns of a table in SQL, even if it is the alias of a subquery. */
export function tableAlias(table: string): string {
  return identifier(bareName(table))
}

/** An index, a sequence or another object in the schema of a table, as SQL. */
export function inSchemaOf(table: string, name: string): string {
  const { schema } = partsOf(table)
  return schema === undefined ? identifier(name) : `${identifier(schema)}.${identifier(name)}`
}

function formattedPart(part: string): string {
  return `(case when ${part} ~ '[".,*:]' then '"' || replace(${part}, '"', '""') || '"' else ${part}::text end)`
}

/** SQL: the parts of the search path, quoted ones first, and their places. */
export const SEARCH_PATH = `regexp_matches(current_setting('search_path'), '"((?:[^"]|"")*)"|([^", ]+)', 'g') with ordinality p(part, place)`

/** SQL: the schema that a part of the search path names. */
export const PATH_SCHEMA = `case when '$user' in (p.part[1], p.part[2]) then current_user else coalesce(replace(p.part[1], '""', '"'), lower(p.part[2])) end`

/**
 * SQL: the first schema of the search path that the database user may use. Unlike `current_schema()`, it does not create the schema for temporary tables
 * where the path has `pg_temp`.
 */
export const CURRENT_SCHEMA = `(select s.nspname from ${SEARCH_PATH} join pg_catalog.pg_namespace s on s.nspname = ${PATH_SCHEMA} where has_schema_privilege(s.oid, 'usage') order by p.place limit 1)`

const SYSTEM_NAMES = `select relname from pg_catalog.pg_class where relnamespace = 'pg_catalog'::regnamespace`

/**
 * SQL: the canonical name of a table, from its row in `pg_class` and its schema's row in `pg_namespace`. A table named like an object of `pg_catalog`
 * keeps its schema, because without one its name would mean that object.
 * @param current the schema that is otherwise left out
 */
export function formattedTable(table: string, schema: string, current = CURRENT_SCHEMA): string {
  return `(case when ${schema}.nspname = ${current} and ${table}.relname not in (${SYSTEM_NAMES}) then '' else ${formattedPart(`${schema}.nspname`)} || '.' end || ${formattedPart(`${table}.relname`)})`
}
