import { isUtf8 } from 'node:buffer'
import type { Json } from './json.js'
import { Problem } from './problem.js'

/** A JSON object from a request: its members' values and, because numbers lose digits, their exact text. */
export interface JsonBody {
  /** The whole body, as it was sent. */
  readonly text: string
  readonly keys: readonly string[]
  value(key: string): Json | undefined
  /** The member's text in the body, from its first to its last character. */
  source(key: string): string
  /** Of a body that is an array, where one is taken: its objects. Such a body has no keys. */
  readonly items?: readonly JsonBody[]
}

const DEPTH = 32
const MEMBERS = 1_000
const MEMBERS_IN_ALL = 10_000
/** Keys that reach an object's prototype when code copies them carelessly. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const BYTE_ORDER_MARK = 0xfeff

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const SCALAR = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

/** A place in the text; the functions below move it over what they read. */
interface Cursor {
  readonly text: string
  at: number
  depth: number
  members: number
  /** Where objects inside of objects are wanted too: those of each object, by their keys. */
  readonly nested?: Map<Members, ReadonlyMap<string, Members>>
}

/**
 * Reads the bytes of a body as one JSON object, stricter than `JSON.parse`: no key twice, none that reaches a prototype, and bounds
 * on depth and number of keys that are checked in one pass before anything is built. Where `mostItems` is given, the body may be an array
 * of up to so many objects, to each of which the bounds apply; with `within`, it must be an object with this one key, which holds the array.
 * @throws Problem `malformed_body`
 */
export function readJsonBody(bytes: Uint8Array, mostItems?: number, within?: string): JsonBody {
  const text = decode(bytes)
  const cursor: Cursor = { text, at: 0, depth: 0, members: 0 }
  skipSpace(cursor)
  if (within !== undefined) return readWithin(cursor, mostItems ?? 1, within)
  const wanted = mostItems === undefined ? 'a JSON object' : 'a JSON object or an array of JSON objects'
  if (cursor.at === text.length) throw refusal(`the body is empty and must be ${wanted}`)
  if (mostItems !== undefined && text.charCodeAt(cursor.at) === OPEN_BRACKET) return readItems(cursor, mostItems)
  const isObject = text.charCodeAt(cursor.at) === OPEN_BRACE
  const members = isObject ? scanObject(cursor) : scanOther(cursor)
  finish(cursor)
  if (members === undefined) throw refusal(`the body must be ${wanted}`)
  return toBody(text, members, JSON.parse(text))
}

type Members = ReadonlyMap<string, string>

/** A JSON object: the exact text of its members, and those of them that are objects. */
export interface JsonObject {
  readonly members: Members
  readonly objects: ReadonlyMap<string, JsonObject>
}

/**
 * Reads the text of a JSON object with all objects that it consists of, in one pass and by the rules of `readJsonBody`. Objects in arrays
 * are part of the array's text.
 * @throws Problem `malformed_body`
 */
export function readJsonObject(text: string): JsonObject {
  const nested = new Map<Members, ReadonlyMap<string, Members>>()
  const cursor: Cursor = { text, at: 0, depth: 0, members: 0, nested }
  skipSpace(cursor)
  const members = text.charCodeAt(cursor.at) === OPEN_BRACE ? scanObject(cursor) : scanOther(cursor)
  finish(cursor)
  if (members === undefined) throw refusal('the value must be a JSON object')
  return toObject(members, nested)
}

function toObject(members: Members, nested: ReadonlyMap<Members, ReadonlyMap<string, Members>>): JsonObject {
  const objects = [...(nested.get(members) ?? [])].map(([key, inside]) => [key, toObject(inside, nested)] as const)
  return { members, objects: new Map(objects) }
}

function toBody(text: string, members: Members, values: Readonly<Record<string, Json>>): JsonBody {
  return {
    text,
    keys: [...members.keys()],
    value: (key) => (members.has(key) ? values[key] : undefined),
    source: (key) => members.get(key) ?? '',
  }
}

interface Item {
  readonly source: string
  readonly members: Members
}

function readItems(cursor: Cursor, most: number): JsonBody {
  const found = scanItems(cursor, most)
  finish(cursor)
  return toItems(cursor.text, found, JSON.parse(cursor.text))
}

/** Reads `{"bulk":[…]}`. */
function readWithin(cursor: Cursor, most: number, name: string): JsonBody {
  const { text } = cursor
  const require = (code: number) => {
    skipSpace(cursor)
    if (text.charCodeAt(cursor.at) === code) return
    throw refusal(`the body must be an object whose only key, \`${name}\`, is an array of JSON objects`)
  }
  require(OPEN_BRACE)
  enter(cursor)
  require(QUOTE)
  const start = cursor.at
  if (scanKey(cursor) !== name) cursor.at = start
  require(COLON)
  cursor.at += 1
  require(OPEN_BRACKET)
  const found = scanItems(cursor, most)
  require(CLOSE_BRACE)
  cursor.at += 1
  finish(cursor)
  return toItems(text, found, JSON.parse(text)[name])
}

function toItems(text: string, found: readonly Item[], values: readonly Readonly<Record<string, Json>>[]): JsonBody {
  const items = found.map(({ source, members }, index) => toBody(source, members, values[index] ?? {}))
  return { ...toBody(text, new Map(), {}), items }
}

function scanItems(cursor: Cursor, most: number): readonly Item[] {
  const { text } = cursor
  const found: Item[] = []
  enter(cursor)
  if (leaves(cursor, CLOSE_BRACKET)) throw refusal('the body is an array of nothing; it must have one item at least')
  do {
    skipSpace(cursor)
    const start = cursor.at
    cursor.members = 0
    const members = text.charCodeAt(start) === OPEN_BRACE ? scanObject(cursor) : scanOther(cursor)
    if (members === undefined) throw refusal(`item ${found.length} of the body is no JSON object`)
    found.push({ source: text.slice(start, cursor.at), members })
    if (found.length > most) throw refusal(`the body has more than ${most} items`)
  } while (continues(cursor))
  take(cursor, CLOSE_BRACKET)
  return found
}

function finish(cursor: Cursor): void {
  skipSpace(cursor)
  if (cursor.at < cursor.text.length) throw notJson(cursor.text, cursor.at)
}

function decode(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw refusal('the body is not valid UTF-8')
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8')
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
}

/** Moves over an object and answers the text of each member's value. */
function scanObject(cursor: Cursor): Map<string, string> {
  const members = new Map<string, string>()
  const nested = cursor.nested && new Map<string, Members>()
  if (nested) cursor.nested?.set(members, nested)
  enter(cursor)
  if (leaves(cursor, CLOSE_BRACE)) return members
  do {
    skipSpace(cursor)
    const key = scanKey(cursor)
    if (members.has(key)) throw refusal(`the body has the key ${shown(key)} twice in one object`)
    skipSpace(cursor)
    take(cursor, COLON)
    skipSpace(cursor)
    const start = cursor.at
    const inside = scanValue(cursor)
    if (inside) nested?.set(key, inside)
    members.set(key, cursor.text.slice(start, cursor.at))
    cursor.members += 1
    if (members.size > MEMBERS) throw refusal(`the body has more than ${MEMBERS} keys in one object`)
    if (cursor.members > MEMBERS_IN_ALL) throw refusal(`the body has more than ${MEMBERS_IN_ALL} keys`)
  } while (continues(cursor))
  take(cursor, CLOSE_BRACE)
  cursor.depth -= 1
  return members
}

function scanArray(cursor: Cursor): void {
  enter(cursor)
  if (leaves(cursor, CLOSE_BRACKET)) return
  do {
    skipSpace(cursor)
    scanValue(cursor)
  } while (continues(cursor))
  take(cursor, CLOSE_BRACKET)
  cursor.depth -= 1
}

function scanOther(cursor: Cursor): undefined {
  scanValue(cursor)
}

/** Answers the members of a value that is an object. */
function scanValue(cursor: Cursor): Members | undefined {
  const code = cursor.text.charCodeAt(cursor.at)
  if (code === OPEN_BRACE) return scanObject(cursor)
  if (code === QUOTE) scanString(cursor)
  else if (code === OPEN_BRACKET) scanArray(cursor)
  else cursor.at = matchEnd(SCALAR, cursor, cursor.at)
  return undefined
}

/** Answers whether the string has escapes. */
function scanString(cursor: Cursor): boolean {
  take(cursor, QUOTE)
  const { text } = cursor
  let escaped = false
  let { at } = cursor
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) break
    if (code === BACKSLASH) {
      escaped = true
      at = matchEnd(ESCAPE, cursor, at)
    } else if (code >= 0x20) {
      at += 1
    } else {
      // A control character; or the end of the text, whose code is NaN.
      throw notJson(text, at)
    }
  }
  cursor.at = at + 1
  return escaped
}

function scanKey(cursor: Cursor): string {
  const start = cursor.at
  const escaped = scanString(cursor)
  const key: string = escaped
    ? JSON.parse(cursor.text.slice(start, cursor.at))
    : cursor.text.slice(start + 1, cursor.at - 1)
  if (FORBIDDEN.has(key)) throw refusal(`the body has the key ${shown(key)}, which no object may have`)
  return key
}

function enter(cursor: Cursor): void {
  cursor.at += 1
  cursor.depth += 1
  if (cursor.depth > DEPTH) throw refusal(`the body is nested deeper than ${DEPTH} levels`)
}

/** Whether the object or array that was just entered is empty; moves out of it if so. */
function leaves(cursor: Cursor, close: number): boolean {
  skipSpace(cursor)
  if (cursor.text.charCodeAt(cursor.at) !== close) return false
  cursor.at += 1
  cursor.depth -= 1
  return true
}

function continues(cursor: Cursor): boolean {
  skipSpace(cursor)
  if (cursor.text.charCodeAt(cursor.at) !== COMMA) return false
  cursor.at += 1
  return true
}

function take(cursor: Cursor, code: number): void {
  if (cursor.text.charCodeAt(cursor.at) !== code) throw notJson(cursor.text, cursor.at)
  cursor.at += 1
}

function skipSpace(cursor: Cursor): void {
  const { text } = cursor
  let { at } = cursor
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
    at += 1
  }
  cursor.at = at
}

function matchEnd(pattern: RegExp, { text }: Cursor, at: number): number {
  pattern.lastIndex = at
  if (!pattern.test(text)) throw notJson(text, at)
  return pattern.lastIndex
}

function notJson(text: string, at: number): Problem {
  const before = text.slice(0, at).split('\n')
  const column = (before.at(-1) ?? '').length + 1
  return refusal(`the body is not valid JSON at line ${before.length}, column ${column}`)
}

function refusal(detail: string): Problem {
  return new Problem('malformed_body', detail)
}

function shown(key: string): string {
  const characters = [...key.slice(0, 130)]
  return characters.length > 64 ? `\`${characters.slice(0, 64).join('')}…\`` : `\`${key}\``
}
