import type { CatalogColumn } from '../introspect/catalog/catalog.js'
import type { WantedColumn, WantedTable } from '../plan/sql.js'
import { type ClosedTables, grantUsage } from './closed-schemas.js'
import { sequenceRange } from '../../fields/columns.js'
import { formatTableName, readTableName } from '../../fields/table-name.js'
import { textColumn } from '../../fields/text-rules.js'

/** The server's spelling of the types in resources.yaml, and its own order of texts if that is by code point. */
export interface Server {
  readonly types: Readonly<Record<string, string | null>>
  readonly collation: string | null
  /** The current schema, which names of tables leave out. */
  readonly schema: string | null
  /** The tables in schemas of the search path that the database user may not use. */
  readonly closed: ClosedTables
}

/** Describes a table that the catalogue does not have under its name. */
export function describeMissing({ name, kind }: Pick<WantedTable, 'name' | 'kind'>, server: Server): string {
  const closed = server.closed[name]
  if (closed)
    return `${kind} ${name} is in the schema ${closed.schema}, which the role ${closed.role} may not use (as the owner: ${grantUsage(closed)})`
  const { schema: given, name: bare } = readTableName(name) ?? {}
  if (given === undefined || given !== server.schema) return `${kind} ${name} is missing`
  const short = formatTableName({ schema: undefined, name: bare ?? '' })
  return `${kind} ${name} is named with the current schema, which the configuration leaves out: write \`table: ${short}\``
}

/** The type of a column as the server spells it; the digits of a time stand before its zone: `timestamp(3) without time zone`. */
export function typeIn(server: Server, wanted: WantedColumn, live: CatalogColumn): string {
  if (wanted.type === live.type) return live.type
  const { name, size, brackets } = readType(wanted.type)
  const type = server.types[name] ?? name
  const zone = / with(?:out)? time zone$/.exec(type)?.[0] ?? ''
  return `${type.slice(0, type.length - zone.length)}${size}${zone}${brackets}`
}

/** Whether a type holds every value of another of its kind. */
export function isWider(live: string, wanted: string): boolean {
  if (live === wanted || kindOf(live) !== kindOf(wanted)) return false
  const [held, needed] = [sequenceRange(live), sequenceRange(wanted)]
  if (held && needed) return held.minimum <= needed.minimum && held.maximum >= needed.maximum
  const [text, wantedText] = [textColumn({ type: live }), textColumn({ type: wanted })]
  return text !== undefined && (text.room ?? Infinity) >= (wantedText?.room ?? Infinity)
}

/** Statements can exchange values of types of one kind. A column may become wider while a server runs that expects the narrow one. */
export function kindOf(type: string): string {
  if (sequenceRange(type)) return 'number'
  return textColumn({ type }) ? 'text' : type.replace(/ ?\([\d, ]+\)/, '')
}

/** Ignores spaces: `numeric(10, 2)` is `numeric(10,2)`. */
export function sameType(wanted: string, live: string): boolean {
  return wanted.replaceAll(' ', '') === live.replaceAll(' ', '')
}

/** The parts of `varchar(100)[] collate "C"`. */
export function readType(type: string) {
  const [, name = type, size = '', brackets = '', collation = null] =
    /^(.*?)(\([\d, ]+\))?(\[\])?(?: collate "(.*)")?$/.exec(type) ?? []
  return { name, size, brackets, collation }
}
