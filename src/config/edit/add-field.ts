import type { ConfigDocument } from '../yaml/document.js'
import { editConfig, modelTables } from './edit.js'
import { findValue, type Path } from '../yaml/located.js'
import { membersOf } from '../schema/yaml-shape.js'

/** A column that no field stands for yet, as the catalogue spells it. */
export interface UndeclaredColumn {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly collation: string | null
  readonly nullable: boolean
  readonly default: string | null
}

type Spell = (sizes: readonly string[]) => string

/** The types that a field can have, by the column's. */
const TYPES: readonly (readonly [type: RegExp, spell: Spell])[] = [
  [/^text$/, () => 'type: text'],
  [/^character varying\((\d+)\)$/, ([max]) => `type: string, max: ${max}`],
  [/^character varying$/, () => 'type: string'],
  [/^integer$/, () => 'type: integer'],
  [/^bigint$/, () => 'type: bigint'],
  [/^numeric\((\d+),(\d+)\)$/, ([precision, scale]) => `type: decimal, precision: ${precision}, scale: ${scale}`],
  [/^double precision$/, () => 'type: float'],
  [/^boolean$/, () => 'type: boolean'],
  [/^date$/, () => 'type: date'],
  [/^timestamp with time zone$/, () => 'type: timestamp'],
  [/^uuid$/, () => 'type: uuid'],
  [/^jsonb$/, () => 'type: json'],
]

/** The defaults that a field can have. */
const DEFAULTS: readonly (readonly [sql: RegExp, spell: (text: string) => string])[] = [
  [/^now\(\)$/, () => '{ function: now }'],
  [/^gen_random_uuid\(\)$/, () => '{ function: uuid }'],
  [/^(-?\d+|true|false)$/, (text) => text],
  [/^'(-\d+)'::(?:integer|bigint)$/, (text) => text],
  [/^'((?:[^'\\]|'')*)'::(?:text|character varying)$/, (text) => JSON.stringify(text.replaceAll("''", "'"))],
]

/**
 * Writes a field for a column at the end of its model, seen by nobody, and leaves every other character as it is.
 * @returns undefined when the file has no model for the table, or no words for the column
 */
export const declareField = (text: string, file: string, column: UndeclaredColumn): string | undefined => {
  const spelled = spell(column)
  if (spelled === undefined) return undefined
  return editConfig({ text, file }, (body, document) => {
    const found = modelTables(document).find(({ table }) => table === column.table)
    return found && append(body, document, { fields: ['models', found.model, 'fields'], key: column.name, spelled })
  })
}

interface Field {
  /** Where it goes. */
  readonly fields: Path
  readonly key: string
  readonly spelled: string
}

/** After the last field, on its line within braces, else on a line of its own. */
const append = (text: string, document: ConfigDocument, { fields, key, spelled }: Field): string => {
  const last = membersOf(findValue(document.value, fields)).at(-1)?.[0] ?? ''
  const end = text.slice(0, document.locate([...fields, last], 'value').end.offset).trimEnd().length
  const start = document.locate([...fields, last], 'key').start.offset
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  if (!/^ *$/.test(before)) return `${text.slice(0, end)}, ${key}: ${spelled}${text.slice(end)}`
  const newline = text.indexOf('\n', end)
  const at = newline < 0 ? text.length : newline
  return `${text.slice(0, at).replace(/\r$/, '')}\n${before}${key}: ${spelled}${text.slice(at)}`
}

const spell = (column: UndeclaredColumn): string | undefined => {
  const settings = settingsOf(column)
  // Nothing could fill it: it is private, and no request sets it.
  const isUnfilled = column.default === null && !column.nullable
  if (settings === undefined || isUnfilled || !/^[a-z][a-z0-9_]*$/.test(column.name)) return undefined
  return `{ ${[...settings, 'private: true'].join(', ')} }`
}

/** What a field says of its column, one setting each; undefined when no field can say it. */
const settingsOf = ({ type, collation, nullable, default: value }: UndeclaredColumn): readonly string[] | undefined => {
  const found = TYPES.flatMap(([pattern, words]) => {
    const sizes = pattern.exec(type)
    return sizes ? [words(sizes.slice(1)).split(', ')] : []
  })[0]
  const filled = value === null ? undefined : spellDefault(value)
  if (found === undefined || (value !== null && filled === undefined)) return undefined
  const order = collation ?? 'default'
  return [
    ...found,
    ...(/^(?:text|character)/.test(type) && order !== 'C' ? [`collation: ${order}`] : []),
    ...(nullable ? ['nullable: true'] : []),
    ...(filled === undefined ? [] : [`default: ${filled}`]),
  ]
}

/**
 * What to change in a field so that it says what its column has become.
 * @returns undefined when no field can say it
 */
export const fieldChanges = (old: UndeclaredColumn, now: UndeclaredColumn): readonly string[] | undefined => {
  const [were, are] = [settingsOf(old), settingsOf(now)]
  if (were === undefined || are === undefined) return undefined
  const keyOf = (setting: string) => setting.slice(0, setting.indexOf(':'))
  const gone = were.map(keyOf).filter((key) => !are.some((setting) => keyOf(setting) === key))
  return [
    ...are.filter((setting) => !were.includes(setting)).map((setting) => `write \`${setting}\``),
    ...gone.map((key) => `remove \`${key}\``),
  ]
}

const spellDefault = (sql: string): string | undefined =>
  DEFAULTS.flatMap(([pattern, words]) => {
    const found = pattern.exec(sql)
    return found ? [words(found[1] ?? '')] : []
  })[0]
