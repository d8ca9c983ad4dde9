import type { Json } from '../../foundation/json.js'

/** The offsets of a part of the text. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A value of the document and its place; `entries` are the members of a mapping or the items of a list. */
export interface Located {
  readonly json: Json
  readonly value: Span
  /** The place of the key of this value; for an item of a list, the item itself. */
  readonly key: Span
  readonly entries: ReadonlyMap<string, Located>
}

export type Path = readonly (string | number)[]

/** The value at a path, or the nearest existing one around it. */
export function findLocated(root: Located, path: Path): Located {
  let found = root
  for (const step of path) {
    const next = found.entries.get(String(step))
    if (next === undefined) return found
    found = next
  }
  return found
}

/** The value at a path; undefined if there is none. */
export function findValue(root: Json, path: Path): Json | undefined {
  let found: Json | undefined = root
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Readonly<Record<string, Json>>)[step]
  }
  return found
}
