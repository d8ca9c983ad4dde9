import type { Json } from '../foundation/json.js'
import { type DataError, type EntryOrError, UnreadableData } from './record.js'

/** A value in a document of data, and its line. */
export interface DataNode {
  readonly line: number
  readonly json: Json
  /** The members of an object. */
  members(): readonly (readonly [name: string, node: DataNode])[]
  /** The items of a list. */
  items(): readonly DataNode[]
  entry(): EntryOrError
}

/** The records of one resource in a file, and the fields that identify existing ones; undefined for the primary key. */
export interface Section {
  readonly line: number
  readonly resource: string
  readonly key: readonly string[] | undefined
  readonly records: () => AsyncIterable<EntryOrError>
}

/**
 * Reads the sections of a document: a list of records for each resource, or an object with `key` and `records`; or a single object with `resource`,
 * `key` and `records`.
 * @throws UnreadableData for a document of another shape
 */
export function readSections(root: DataNode): readonly Section[] {
  if (!isObject(root.json)) throw new UnreadableData(root.line, FORM)
  const { resource } = root.json
  if (typeof resource === 'string') return [readSection(root, resource, ['resource', ...PARTS])]
  return root.members().map(([name, node]) => {
    if (Array.isArray(node.json)) return { line: node.line, resource: name, key: undefined, records: recordsOf(node) }
    if (isObject(node.json)) return readSection(node, name, PARTS)
    throw new UnreadableData(node.line, `the value of ${JSON.stringify(name)} is not a list of records; ${FORM}`)
  })
}

const FORM = 'the file has a list of records for each name of a resource, or `resource`, `key` and `records`'
const PARTS = ['key', 'records']

function readSection(node: DataNode, resource: string, known: readonly string[]): Section {
  const parts = new Map(node.members())
  const strange = [...parts.keys()].find((name) => !known.includes(name))
  if (strange !== undefined)
    throw new UnreadableData(
      parts.get(strange)?.line ?? node.line,
      `${JSON.stringify(strange)} is not known here; known: ${known.join(', ')}`,
    )
  const records = parts.get('records')
  if (!records || !Array.isArray(records.json))
    throw new UnreadableData(records?.line ?? node.line, '`records` must be a list of records')
  return { line: node.line, resource, key: readKey(parts.get('key')), records: recordsOf(records) }
}

function readKey(node: DataNode | undefined): readonly string[] | undefined {
  if (node === undefined) return undefined
  const names = [node.json].flat()
  if (names.length > 0 && names.every((name) => typeof name === 'string')) return names
  throw new UnreadableData(node.line, '`key` must be the name of a field, or a list of them')
}

function recordsOf(list: DataNode): Section['records'] {
  return async function* () {
    for (const item of list.items()) yield isObject(item.json) ? item.entry() : { error: noRecord(item.line) }
  }
}

function noRecord(line: number): DataError {
  return { line, message: 'a record must be a mapping of fields to values' }
}

function isObject(json: Json): json is { readonly [name: string]: Json } {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}
