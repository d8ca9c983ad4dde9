import { FORBIDDEN_NAMES } from './json.js'
import { Problem } from './problem.js'

const DEPTH = 32
const MEMBERS = 2_000
const MEMBERS_IN_ALL = 10_000

export const QUOTE = 0x22
const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const SCALAR = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

/** A position in the text; the functions below advance it. */
export interface Cursor {
  readonly text: string
  at: number
  depth: number
  members: number
  /** If set, maps each scanned object to the objects that are values of its members, by key. */
  readonly nested?: Map<Members, ReadonlyMap<string, Members>>
}

/** The exact text of each member of an object, by key. */
export type Members = ReadonlyMap<string, string>

/** Scans an object and returns the text of each member's value. */
export function scanObject(cursor: Cursor): Map<string, string> {
  const members = new Map<string, string>()
  const nested = cursor.nested && new Map<string, Members>()
  if (nested) cursor.nested?.set(members, nested)
  enter(cursor)
  if (leaves(cursor, CLOSE_BRACE)) return members
  do {
    skipSpace(cursor)
    const key = scanKey(cursor)
    if (members.has(key)) throw rejection(`the body has the key ${shown(key)} twice in one object`)
    skipSpace(cursor)
    take(cursor, COLON)
    skipSpace(cursor)
    const start = cursor.at
    const inside = scanValue(cursor)
    if (inside) nested?.set(key, inside)
    members.set(key, cursor.text.slice(start, cursor.at))
    cursor.members += 1
    if (members.size > MEMBERS) throw rejection(`the body has more than ${MEMBERS} keys in one object`)
    if (cursor.members > MEMBERS_IN_ALL) throw rejection(`the body has more than ${MEMBERS_IN_ALL} keys`)
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

/** Scans any value without returning its members. */
export function scanOther(cursor: Cursor): undefined {
  scanValue(cursor)
}

/** Scans a value; returns its members if it is an object. */
function scanValue(cursor: Cursor): Members | undefined {
  const code = cursor.text.charCodeAt(cursor.at)
  if (code === OPEN_BRACE) return scanObject(cursor)
  if (code === QUOTE) scanString(cursor)
  else if (code === OPEN_BRACKET) scanArray(cursor)
  else scanScalar(cursor)
  return undefined
}

/** Scans a number, `true`, `false` or `null`. */
export function scanScalar(cursor: Cursor): void {
  cursor.at = matchEnd(SCALAR, cursor, cursor.at)
}

/** Scans a string; returns whether it contains escapes. */
export function scanString(cursor: Cursor): boolean {
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
      // A control character, or the end of the text, whose code is NaN.
      throw notJson(text, at)
    }
  }
  cursor.at = at + 1
  return escaped
}

export function scanKey(cursor: Cursor): string {
  const start = cursor.at
  const escaped = scanString(cursor)
  const key: string = escaped
    ? JSON.parse(cursor.text.slice(start, cursor.at))
    : cursor.text.slice(start + 1, cursor.at - 1)
  if (FORBIDDEN_NAMES.has(key)) throw rejection(`the body has the key ${shown(key)}, which no object may have`)
  return key
}

export function enter(cursor: Cursor): void {
  cursor.at += 1
  cursor.depth += 1
  if (cursor.depth > DEPTH) throw rejection(`the body is nested deeper than ${DEPTH} levels`)
}

/** Skips the end of an object or array that was just entered, if it is empty; returns whether it is. */
export function leaves(cursor: Cursor, close: number): boolean {
  skipSpace(cursor)
  if (cursor.text.charCodeAt(cursor.at) !== close) return false
  cursor.at += 1
  cursor.depth -= 1
  return true
}

export function continues(cursor: Cursor): boolean {
  skipSpace(cursor)
  if (cursor.text.charCodeAt(cursor.at) !== COMMA) return false
  cursor.at += 1
  return true
}

export function take(cursor: Cursor, code: number): void {
  if (cursor.text.charCodeAt(cursor.at) !== code) throw notJson(cursor.text, cursor.at)
  cursor.at += 1
}

export function skipSpace(cursor: Cursor): void {
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

export function notJson(text: string, at: number): Problem {
  const before = text.slice(0, at).split('\n')
  const column = (before.at(-1) ?? '').length + 1
  return rejection(`the body is not valid JSON at line ${before.length}, column ${column}`)
}

export function rejection(detail: string): Problem {
  return new Problem('malformed_body', detail)
}

function shown(key: string): string {
  const characters = [...key.slice(0, 130)]
  return characters.length > 64 ? `\`${characters.slice(0, 64).join('')}…\`` : `\`${key}\``
}
