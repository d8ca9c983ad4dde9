import { FIELD_TYPES } from '../../fields/index.js'
import type { Json } from '../../foundation/json.js'
import { findValue, type Path } from '../yaml/located.js'
import { describe, show, suggest } from '../words.js'
import { SYNONYMS } from './synonyms.js'

/** A value, and the part of the schema that it violates. */
export interface Broken {
  readonly path: Path
  readonly value: Json
  readonly params: Readonly<Record<string, unknown>>
  readonly schema: Readonly<Record<string, unknown>>
  readonly root: Json
}

/** The message for it; `member` names the part of the value that is wrong. */
export interface Words {
  readonly code: 'SC201' | 'SC202' | 'SC203' | 'SC204' | 'SC205' | 'SC206' | 'SC207' | 'SC208'
  readonly part?: 'key' | 'value'
  readonly member?: string
  readonly message: string
  readonly help?: readonly string[]
}

/** The name of the value at a path in messages: `max`, or `item 2 of filterable`. */
function subject(path: Path, root: Json): string {
  const last = path.at(-1)
  if (last === undefined) return 'the configuration'
  if (!isItem(path, root)) return show(String(last))
  return `item ${Number(last) + 1} of ${subject(path.slice(0, -1), root)}`
}

function isItem(path: Path, root: Json): boolean {
  return Array.isArray(findValue(root, path.slice(0, -1)))
}

const KINDS: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: '`true` or `false`',
  array: 'a list',
  object: 'a mapping',
  null: 'empty',
}

function kinds(names: unknown): string {
  return [names]
    .flat()
    .map((name) => KINDS[String(name)] ?? String(name))
    .join(' or ')
}

const BOOLEAN_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['on', true],
  ['y', true],
  ['no', false],
  ['off', false],
  ['n', false],
])

/** Describes a key by its schema: its example if that is one line, or else its description, or its keys. */
function exampleOf(schema: Broken['schema']): string[] {
  const [, example] = /```yaml\n(.*)\n```/.exec(String(schema['markdownDescription'] ?? '')) ?? []
  if (example !== undefined) return [`such as \`${example}\``]
  if (typeof schema['description'] === 'string') return [schema['description']]
  const keys = Object.keys((schema['properties'] as object | undefined) ?? {})
  return keys.length > 0 ? [`its keys are ${keys.map((key) => `\`${key}\``).join(', ')}`] : []
}

function withoutQuotes(text: string): string {
  return `write it without quotes: \`${text}\``
}

function kindHelp({ path, value, schema, root }: Broken): string[] {
  const wanted = schema['type']
  if (value === null) return wanted === 'object' && path.length > 0 ? ['indent its keys below it'] : []
  if (typeof value !== 'string') return exampleOf(schema)
  if ([wanted].flat().includes('array') && /^[a-z][\w.]*$/.test(value)) {
    const key = isItem(path, root) ? '' : `${String(path.at(-1))}: `
    return [`in brackets it is a list: \`${key}[${value}]\``]
  }
  const word = BOOLEAN_WORDS.get(value.toLowerCase())
  if (wanted === 'boolean' && /^(?:true|false)$/.test(value)) return [withoutQuotes(value)]
  if (wanted === 'boolean' && word !== undefined) return [`YAML 1.2 reads ${show(value)} as text; write \`${word}\``]
  const numeric = (wanted === 'integer' || wanted === 'number') && /^-?\d+$/.test(value)
  return numeric ? [withoutQuotes(value)] : exampleOf(schema)
}

function wrongKind(broken: Broken): Words {
  const { path, value, schema, root } = broken
  if (path.length === 0 && value === null)
    return {
      code: 'SC208',
      message: 'no resources: the file is empty',
      help: ['a configuration starts with `version: 1`'],
    }
  const code = path.length === 0 ? 'SC208' : 'SC203'
  const message = `${subject(path, root)} must be ${kinds(schema['type'])}, not ${describe(value)}`
  return { code, ...(value === null ? { part: 'key' as const } : {}), message, help: kindHelp(broken) }
}

function wrongKindOfAny({ path, value, schema, root }: Broken): Words {
  const options = schema['anyOf'] as readonly { readonly type?: unknown }[]
  const wanted = options.map(({ type }) => kinds(type)).join(' or ')
  return { code: 'SC203', message: `${subject(path, root)} must be ${wanted}, not ${describe(value)}` }
}

/** Other words for the opposite of `nullable`. */
const REQUIRED = ['required', 'not_null', 'notNull', 'mandatory']

function unknownKey({ params, schema }: Broken): Words {
  const member = String(params['additionalProperty'])
  const known = Object.keys((schema['properties'] as object | undefined) ?? {})
  const owners = FIELD_TYPES.filter((type) => known.includes('primary_key') && Object.hasOwn(type.options, member))
  const isOtherWord = SYNONYMS.get(member)?.some((name) => known.includes(name))
  const isOpposite = REQUIRED.includes(member) && known.includes('nullable')
  const others = owners.map(({ name }) => `\`${name}\``).join(', ')
  const help = isOpposite
    ? ['remove it: fields are required unless they have `nullable: true`']
    : owners.length === 0 || isOtherWord
      ? suggest(member, known, 'key', SYNONYMS)
      : [`it is a key of fields of the types: ${others}`]
  return {
    code: 'SC201',
    part: 'key',
    member,
    message: `${show(member)} is not a key of ${String(schema['title'])}`,
    help,
  }
}

function missingKey({ path, params, schema, root }: Broken): Words {
  const key = String(params['missingProperty'])
  const of = path.length === 0 ? 'the configuration' : subject(path, root)
  const types = key === 'type' && schema['discriminator'] !== undefined
  const help = types
    ? suggest(
        '',
        FIELD_TYPES.map(({ name }) => name),
        'type',
      )
    : exampleOf(((schema['properties'] ?? {}) as Readonly<Record<string, Broken['schema']>>)[key] ?? {})
  return { code: 'SC202', part: 'key', message: `${of} lacks the key \`${key}\``, help }
}

function notAllowed({ path, value, schema, root }: Broken): Words {
  const allowed = [schema['enum'] ?? schema['const']].flat()
  const names = allowed.map(String)
  const isQuoted =
    typeof value === 'string' && allowed.some((each) => typeof each !== 'string' && String(each) === value)
  const help = isQuoted
    ? [withoutQuotes(value)]
    : suggest(typeof value === 'string' ? value : '', names, 'value', SYNONYMS)
  const message = `${subject(path, root)} cannot be ${describe(value)}`
  return { code: 'SC204', ...(value === null ? { part: 'key' as const } : {}), message, help }
}

function unknownType({ value }: Broken): Words {
  const { type = null } = value as { readonly type?: Json }
  const names = FIELD_TYPES.map(({ name }) => name)
  const given = typeof type === 'string' ? type : ''
  return {
    code: 'SC205',
    member: 'type',
    message:
      typeof type === 'string' ? `${show(type)} is not a field type` : `a field type cannot be ${describe(type)}`,
    help: suggestAll(given, names),
  }
}

/** Types are few and hard to guess, so this lists the nearest one and all of them. */
function suggestAll(given: string, names: readonly string[]): string[] {
  return [
    ...new Set([...suggest(given, names, 'type', SYNONYMS), `known: ${names.map((name) => `\`${name}\``).join(', ')}`]),
  ]
}

function malformedName({ params, schema }: Broken): Words {
  const member = String(params['propertyName'])
  const { patternErrorMessage } = schema['propertyNames'] as { readonly patternErrorMessage: string }
  return { code: 'SC206', part: 'key', member, message: `${show(member)} is not a name`, help: [patternErrorMessage] }
}

function malformed({ path, value, schema, root }: Broken): Words {
  const { patternErrorMessage, pattern } = schema
  const help = typeof patternErrorMessage === 'string' ? patternErrorMessage : `it must match ${String(pattern)}`
  const problem = value === '' ? 'is empty' : `is malformed: ${show(String(value))}`
  return { code: 'SC206', message: `${subject(path, root)} ${problem}`, help: [help] }
}

const LIMITS: Readonly<Record<string, (limit: unknown) => string>> = {
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
  minLength: () => 'must not be empty text',
  maxLength: (limit) => `must have at most ${limit} characters`,
  minItems: (limit) => (limit === 1 ? 'must not be an empty list' : `must have at least ${limit} items`),
  maxItems: (limit) => `must have at most ${limit} items`,
  minProperties: () => 'must not be an empty mapping',
  maxProperties: (limit) => `must have at most ${limit} entries`,
}

function outOfRange(keyword: string) {
  return ({ path, params, root, schema: { emptyErrorMessage } }: Broken): Words => {
    const words = LIMITS[keyword]?.(params['limit']) ?? 'does not fit'
    const help = keyword.startsWith('min') && typeof emptyErrorMessage === 'string' ? [emptyErrorMessage] : []
    return { code: 'SC207', message: `${subject(path, root)} ${words}`, help }
  }
}

function repeated({ path, value, params, root }: Broken): Words {
  const { i, j } = params as { readonly i: number; readonly j: number }
  const item = Array.isArray(value) ? (value[Math.max(i, j)] as Json) : null
  return {
    code: 'SC207',
    member: String(Math.max(i, j)),
    message: `${subject(path, root)} has ${describe(item)} twice`,
  }
}

/** The message for each keyword of JSON Schema; the limits of sizes share one function. */
const MISTAKES: Readonly<Record<string, (broken: Broken) => Words>> = {
  type: wrongKind,
  anyOf: wrongKindOfAny,
  additionalProperties: unknownKey,
  required: missingKey,
  enum: notAllowed,
  const: notAllowed,
  discriminator: unknownType,
  propertyNames: malformedName,
  pattern: malformed,
  uniqueItems: repeated,
}

/** Returns the message for a value that violates a keyword of its schema. */
export function shapeWords(keyword: string, broken: Broken): Words {
  return (MISTAKES[keyword] ?? outOfRange(keyword))(broken)
}
