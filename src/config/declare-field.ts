import type { Json } from '../json.js'
import { readConfig } from './document.js'
import { findValue } from './located.js'
import { membersOf } from './yaml-shape.js'

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
  [/^'((?:[^'\\]|'')*)'::(?:text|character varying)$/, (text) => JSON.stringify(text.replaceAll("''", "'"))],
]

/**
 * Writes a field for a column at the end of its model, seen by nobody, and leaves every other character as it is.
 * @returns undefined when the file has no model for the table, or no words for the column
 */
export const declareField = (text: string, file: string, column: UndeclaredColumn): string | undefined => {
  const spelled = spell(column)
  const document = readConfig(new TextEncoder().encode(text), file)
  if (spelled === undefined || Array.isArray(document)) return undefined
  const models = membersOf(findValue(document.value, ['models']))
  const [model] = models.find(([name, each]) => tableOf(name, each) === column.table) ?? []
  if (model === undefined) return undefined
  const fields = ['models', model, 'fields']
  const last = membersOf(findValue(document.value, fields)).at(-1)?.[0] ?? ''
  const shift = text.startsWith('\ufeff') ? 1 : 0
  const end = text.slice(0, document.locate([...fields, last], 'value').end.offset + shift).trimEnd().length
  const key = document.locate([...fields, last], 'key').start.offset + shift
  const before = text.slice(text.lastIndexOf('\n', key - 1) + 1, key)
  if (!/^ *$/.test(before)) return `${text.slice(0, end)}, ${column.name}: ${spelled}${text.slice(end)}`
  const newline = text.indexOf('\n', end)
  const at = newline < 0 ? text.length : newline
  return `${text.slice(0, at).replace(/\r$/, '')}\n${before}${column.name}: ${spelled}${text.slice(at)}`
}

const tableOf = (name: string, model: Json): string => {
  const given = findValue(model, ['table'])
  return typeof given === 'string' ? given : name
}

const spell = (column: UndeclaredColumn): string | undefined => {
  const { name, type, collation, nullable, default: value } = column
  const found = TYPES.flatMap(([pattern, words]) => {
    const sizes = pattern.exec(type)
    return sizes ? [words(sizes.slice(1))] : []
  })[0]
  const filled = value === null ? undefined : spellDefault(value)
  if (found === undefined || !/^[a-z][a-z0-9_]*$/.test(name)) return undefined
  if (value === null ? !nullable : filled === undefined) return undefined
  const order = collation ?? 'default'
  const parts = [
    found,
    ...(/^(?:text|character)/.test(type) && order !== 'C' ? [`collation: ${order}`] : []),
    ...(nullable ? ['nullable: true'] : []),
    ...(filled === undefined ? [] : [`default: ${filled}`]),
    'private: true',
  ]
  return `{ ${parts.join(', ')} }`
}

const spellDefault = (sql: string): string | undefined =>
  DEFAULTS.flatMap(([pattern, words]) => {
    const found = pattern.exec(sql)
    return found ? [words(found[1] ?? '')] : []
  })[0]
