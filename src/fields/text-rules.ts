import type { Json, JsonSchema } from '../foundation/json.js'
import { remember } from '../foundation/remember.js'
import type { ColumnForm, ExistingColumn } from './existing-column.js'
import { type ComparisonKind, exceeds, type FieldType, type Rule } from './field-type.js'
import { isStorable } from './spelling/formats.js'
import { checkPattern, matcherOf, translatePattern } from './patterns/pattern.js'
import type { Matcher } from './patterns/pattern-matcher.js'
import { literal } from './sql-literal.js'

/** The options of `string` and `text`. */
export interface TextOptions {
  readonly min?: number
  readonly max?: number
  readonly pattern?: string
  readonly collation?: string
}

/** The longest `varchar`. */
const MAX_VARCHAR = 10_485_760

/** A PostgreSQL collation by name, for every type that is stored as text. */
export const COLLATION = { type: 'string', pattern: '^[A-Za-z0-9_.@-]{1,63}$' } as const satisfies JsonSchema

export function isCollationName(text: string): boolean {
  return new RegExp(COLLATION.pattern).test(text)
}

/** A text column's type with its collation: code point order unless the field says otherwise. */
export function collated(type: string, collation = 'C'): string {
  return `${type} collate "${collation}"`
}

const BUILT_IN = /^(?:default|C(?:\..*)?|POSIX|ucs_basic|unicode|pg_[a-z_]+|.*-x-icu|[a-z]{2,3}_[A-Z]{2}(?:[.@].*)?)$/

/** Whether a field's collation may treat different texts as equal, as those that ignore case do: none that is built in does. */
export function canEquateTexts({ collation = 'C' }: Pick<TextOptions, 'collation'>): boolean {
  return !BUILT_IN.test(collation)
}

/** Returns what PostgreSQL's function `lower` returns, which knows only `A`–`Z` by the collation "C". */
export function lowerCase(text: string, { collation = 'C' }: Pick<TextOptions, 'collation'>): string {
  return collation === 'C' ? text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) : text.toLowerCase()
}

/** The option `collation` for a column of text. */
export function collationOption({ collation }: ExistingColumn) {
  return collation === 'C' ? {} : { collation: collation ?? 'default' }
}

/** The maximum length of a text column; undefined for other columns, among them `character(n)`, whose values PostgreSQL pads. */
export function textColumn({ type }: Pick<ExistingColumn, 'type'>): { readonly room: number | undefined } | undefined {
  const [found, room] = /^(?:text|character varying(?:\((\d+)\))?)$/.exec(type) ?? []
  return found === undefined ? undefined : { room: room === undefined ? undefined : Number(room) }
}

/** Whether a column has the type of the extension `citext`, whose comparisons ignore case. */
export function isCitext({ type }: Pick<ExistingColumn, 'type'>): boolean {
  return type === 'citext' || type.endsWith('.citext')
}

/** Checks are not read, because their comparisons ignore case too. */
export const CITEXT_FORM: ColumnForm = { expresses: [], options: () => ({}), literal: (text) => text }

/**
 * Whether an existing column can hold texts of a field whose own column would be `text`. The values of an enum are compared with the checks,
 * as with choices stored as text.
 */
export function servesText(column: ExistingColumn, longest: number | undefined): boolean {
  if (column.labels) return !column.type.endsWith('[]')
  if (isCitext(column)) return true
  const text = textColumn(column)
  return text !== undefined && (text.room === undefined || (longest !== undefined && longest <= text.room))
}

/** How a field describes a text column. The option `max` comes from a check, or from the type of the column. */
export function textForm(column: ExistingColumn, expresses: readonly ('min' | 'max')[]): ColumnForm {
  const room = textColumn(column)?.room
  return {
    comparison: { as: 'text', room },
    expresses,
    options(limits) {
      const { min } = limits
      const max = expresses.includes('max') ? limits.max : room
      return {
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max }),
        ...collationOption(column),
      }
    },
    literal: (text) => text,
  }
}

/** The rule that text can be stored unchanged. It uses the keyword `format`, so no other rule of the field may. */
export const STORABLE: Rule = {
  name: 'storable',
  schema: { format: 'storable-text' },
  message: 'must not contain U+0000 or an unpaired surrogate',
}

function characters(count: number): string {
  return `${count} ${count === 1 ? 'character' : 'characters'}`
}

function lengthMessage(min: number, max: number | undefined): string {
  if (max === undefined) return `must be at least ${characters(min)}`
  if (min === max) return `must be exactly ${characters(max)}`
  return min > 0 ? `must be between ${min} and ${max} characters` : `must be at most ${characters(max)}`
}

/** `typed` says that the column's type already enforces the maximum. */
function lengthRule({ min = 0, max }: TextOptions, typed: boolean): Rule | undefined {
  if (min === 0 && max === undefined) return undefined
  const bounds = (column: string) => [
    ...(min > 0 ? [`char_length(${column}) >= ${min}`] : []),
    ...(max !== undefined && !typed ? [`char_length(${column}) <= ${max}`] : []),
  ]
  return {
    name: 'length',
    schema: { ...(min > 0 ? { minLength: min } : {}), ...(max === undefined ? {} : { maxLength: max }) },
    message: lengthMessage(min, max),
    ...(bounds('').length > 0 ? { check: (column: string) => bounds(column).join(' and ') } : {}),
  }
}

/** The rule of a pattern. `admits` matches it, after the length was validated. */
function patternRule(pattern: string, said: Partial<Rule> = {}): Rule {
  const translated = translatePattern(pattern)
  if ('rejection' in translated) throw new Error(`a pattern that was never checked: ${translated.rejection}`)
  return {
    name: 'pattern',
    schema: {},
    described: { pattern: translated.javascript },
    message: `must match the pattern ${pattern}`,
    check: (column) => `${column} collate "C" ~ ${literal(translated.postgres)}`,
    ...said,
  }
}

/** Built at first use, because it takes some milliseconds. */
const matcher = remember(({ pattern = '' }: TextOptions): Matcher => matcherOf(pattern))

function conflicts({ min = 0, max, pattern }: TextOptions) {
  const checked = pattern === undefined ? undefined : checkPattern(pattern, max)
  return [
    ...(max !== undefined && min > max ? [exceeds('min', min, 'max', max)] : []),
    ...(checked && 'rejection' in checked ? [{ option: 'pattern', message: checked.rejection }] : []),
  ]
}

const TEXTUAL: readonly ComparisonKind[] = ['equality', 'membership', 'text']

/** The common parts of `string` and `text`; they differ in whether the column's type enforces the maximum. */
export function textType(holdsMaximum: boolean) {
  return {
    options: {
      min: { type: 'integer', minimum: 0, maximum: MAX_VARCHAR },
      max: { type: 'integer', minimum: 1, maximum: MAX_VARCHAR },
      pattern: { type: 'string', minLength: 1, maxLength: 200 },
      collation: COLLATION,
    },
    typescript: 'string',
    comparisons: TEXTUAL,
    comparesAs: 'text',
    plainTexts: ['a', 'b'],
    orderable: true,
    key: true,
    escapes: () => true,
    rules(options) {
      const type: Rule = { name: 'type', schema: { type: 'string' }, message: 'must be a string' }
      const length = lengthRule(options, holdsMaximum)
      return [
        type,
        STORABLE,
        ...(length ? [length] : []),
        ...(options.pattern === undefined ? [] : [patternRule(options.pattern)]),
      ]
    },
    conflicts,
    admits: (json: Json, _source: string, options: TextOptions) =>
      options.pattern === undefined || matcher(options).matches(String(json)) ? undefined : 'pattern',
    // A character beyond the basic plane can be written as two escapes of six bytes.
    maxBytes: ({ max }) => (max === undefined ? undefined : 12 * max + 2),
    longest: ({ max }) => max,
    read: (text) => text,
    parse: (text) => (isStorable(text) ? text : undefined),
    fromJson: (json: Json) => String(json),
    write: (value) => value,
  } satisfies Partial<FieldType<string, TextOptions>>
}

/** A format that a standard defines for the whole text. */
interface TextFormat {
  readonly max: number
  readonly pattern: string
  /** Further requirements of the standard. */
  readonly isValid?: (text: string) => boolean
  /** The name of the format in JSON Schema. */
  readonly format: string
  readonly message: string
}

/** The common parts of texts in a standard's format. Filters compare with any text, because other programs can store any. */
export function formattedText({ max, pattern, isValid, format, message }: TextFormat) {
  const options = { pattern }
  const { comparisons, comparesAs, orderable, key, escapes, read, parse, fromJson, write } = textType(true)
  return {
    options: { collation: COLLATION },
    typescript: 'string',
    comparisons,
    comparesAs,
    orderable,
    key,
    escapes,
    column: ({ collation }) => collated(`varchar(${max})`, collation),
    rules: () => [
      { name: 'type', schema: { type: 'string' }, message: 'must be a string' },
      { name: 'length', schema: { maxLength: max }, message: lengthMessage(0, max) },
      patternRule(pattern, { name: 'format', described: { format }, message }),
    ],
    admits: (json: Json) =>
      matcher(options).matches(String(json)) && isValid?.(String(json)) !== false ? undefined : 'format',
    maxBytes: () => 12 * max + 2,
    longest: () => max,
    read,
    parse,
    fromJson,
    write,
  } satisfies Partial<FieldType<string, Pick<TextOptions, 'collation'>>>
}
