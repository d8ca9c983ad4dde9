import { isUtf8 } from 'node:buffer'
import type { Json } from './json.js'
import { Problem } from './problem.js'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  continues,
  type Cursor,
  enter,
  leaves,
  type Members,
  notJson,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  rejection,
  scanKey,
  scanObject,
  scanOther,
  skipSpace,
  take,
} from './json-scanner.js'

/** A JSON object from a request: the values of its members, and their exact text, because JavaScript numbers lose digits. */
export interface JsonBody {
  /** The whole body as received. */
  readonly text: string
  readonly keys: readonly string[]
  value(key: string): Json | undefined
  /** The exact text of the member's value. */
  source(key: string): string
  /** The objects of a body that is an array. Such a body has no keys. */
  readonly items?: readonly JsonBody[]
}

const BYTE_ORDER_MARK = 0xfeff

/**
 * Reads the bytes of a body as one JSON object, more strictly than `JSON.parse`: no duplicate keys, no keys that reach a prototype, and bounds
 * on depth and number of keys, all checked in one pass before anything is built. With `mostItems`, the body may be an array
 * of at most this many objects, each within the bounds; with `within`, it must be an object with this one key, which has the array.
 * @throws Problem `malformed_body`
 */
export function readJsonBody(bytes: Uint8Array, mostItems?: number, within?: string): JsonBody {
  const text = decode(bytes)
  const cursor: Cursor = { text, at: 0, depth: 0, members: 0 }
  skipSpace(cursor)
  if (within !== undefined) return readWithin(cursor, mostItems ?? 1, within)
  const wanted = mostItems === undefined ? 'a JSON object' : 'a JSON object or an array of JSON objects'
  if (cursor.at === text.length) throw rejection(`the body is empty and must be ${wanted}`)
  if (mostItems !== undefined && text.charCodeAt(cursor.at) === OPEN_BRACKET) return readItems(cursor, mostItems)
  const isObject = text.charCodeAt(cursor.at) === OPEN_BRACE
  const members = isObject ? scanObject(cursor) : scanOther(cursor)
  finish(cursor)
  if (members === undefined) throw rejection(`the body must be ${wanted}`)
  return toBody(text, members, JSON.parse(text))
}

/** A JSON object: the exact text of its members, and its nested objects. */
export interface JsonObject {
  readonly members: Members
  readonly objects: ReadonlyMap<string, JsonObject>
}

/**
 * Parses a JSON object with its nested objects, in one pass and by the rules of `readJsonBody`. Objects in arrays are part of the array's text.
 * @throws Problem `malformed_body`
 */
export function readJsonObject(text: string): JsonObject {
  const nested = new Map<Members, ReadonlyMap<string, Members>>()
  const cursor: Cursor = { text, at: 0, depth: 0, members: 0, nested }
  skipSpace(cursor)
  const members = text.charCodeAt(cursor.at) === OPEN_BRACE ? scanObject(cursor) : scanOther(cursor)
  finish(cursor)
  if (members === undefined) throw rejection('the value must be a JSON object')
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

/** Parses `{"bulk":[…]}`. */
function readWithin(cursor: Cursor, most: number, name: string): JsonBody {
  const { text } = cursor
  const require = (code: number) => {
    skipSpace(cursor)
    if (text.charCodeAt(cursor.at) === code) return
    throw rejection(`the body must be an object whose only key, \`${name}\`, is an array of JSON objects`)
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
  if (leaves(cursor, CLOSE_BRACKET)) throw rejection('the array must not be empty')
  do {
    skipSpace(cursor)
    const start = cursor.at
    cursor.members = 0
    const members = text.charCodeAt(start) === OPEN_BRACE ? scanObject(cursor) : scanOther(cursor)
    if (members === undefined) throw rejection(`item ${found.length} of the body must be a JSON object`)
    found.push({ source: text.slice(start, cursor.at), members })
    if (found.length > most) throw rejection(`the body has more than ${most} items`)
  } while (continues(cursor))
  take(cursor, CLOSE_BRACKET)
  return found
}

/** Explains why valid JSON violates the rules of `readJsonBody`; the text continues a sentence after its name. Undefined if it does not. */
export function errorOfJson(text: string): string | undefined {
  try {
    const cursor: Cursor = { text, at: 0, depth: 0, members: 0 }
    skipSpace(cursor)
    scanOther(cursor)
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error.message.replace(/^the body /, '')
    throw error
  }
}

function finish(cursor: Cursor): void {
  skipSpace(cursor)
  if (cursor.at < cursor.text.length) throw notJson(cursor.text, cursor.at)
}

function decode(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw rejection('the body is not valid UTF-8')
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8')
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
}
