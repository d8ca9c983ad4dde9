import type { Json } from '../../json.js'

/** Offsets of a stretch of text. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A value of the document and where it stands; `entries` are the members of a mapping or the items of a list. */
export interface Located {
  readonly json: Json
  readonly value: Span
  /** Where the key stands that leads here; of an item, the item itself. */
  readonly key: Span
  readonly entries: ReadonlyMap<string, Located>
}

export type Path = readonly (string | number)[]

/** What stands at a path, or the nearest thing around it that is there. */
export const findLocated = (root: Located, path: Path): Located => {
  let found = root
  for (const step of path) {
    const next = found.entries.get(String(step))
    if (next === undefined) return found
    found = next
  }
  return found
}

/** The value at a path; undefined when nothing is there. */
export const findValue = (root: Json, path: Path): Json | undefined => {
  let found: Json | undefined = root
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Readonly<Record<string, Json>>)[step]
  }
  return found
}
