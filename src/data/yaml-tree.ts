import { type ConfigDocument, readConfig } from '../config/yaml/document.js'
import { findValue, type Path } from '../config/yaml/located.js'
import type { Json } from '../foundation/json.js'
import { UnreadableData } from './record.js'
import type { DataNode } from './tree.js'

/**
 * Parses a YAML document to a tree, as strictly as a configuration.
 * @throws UnreadableData for YAML that is invalid in a configuration
 */
export function readYamlTree(bytes: Uint8Array, file: string): DataNode {
  const document = readConfig(bytes, file)
  if (!Array.isArray(document)) return nodeAt(document, [])
  const [first] = document
  throw new UnreadableData(first?.range.start.line ?? 1, [first?.message, ...(first?.help ?? [])].join('; '))
}

function nodeAt(document: ConfigDocument, path: Path): DataNode {
  const json = findValue(document.value, path) ?? null
  const object = (json ?? {}) as Readonly<Record<string, Json>>
  const { line } = document.locate(path, 'value').start
  return {
    line,
    json,
    members: () => Object.keys(object).map((name) => [name, nodeAt(document, [...path, name])]),
    items: () => (json as readonly Json[]).map((_, index) => nodeAt(document, [...path, index])),
    entry: () => ({
      line,
      body: {
        get text() {
          return JSON.stringify(object)
        },
        keys: Object.keys(object),
        value: (key) => object[key],
        source: (key) => JSON.stringify(object[key] ?? null),
      },
    }),
  }
}
