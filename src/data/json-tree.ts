import { isUtf8 } from 'node:buffer'
import type { Json } from '../foundation/json.js'
import { findJsonMistake } from '../foundation/json-mistake.js'
import { linesIn, readRecord } from './ndjson.js'
import { NOT_UTF8, UnreadableData } from './record.js'
import type { DataNode } from './tree.js'

/**
 * Parses a JSON document to a tree whose records keep their exact text.
 * @throws UnreadableData for invalid JSON and duplicate keys
 */
export function readJsonTree(bytes: Uint8Array): DataNode {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UnreadableData([...linesIn(bytes)].findIndex((line) => !isUtf8(line)) + 1, NOT_UTF8)
  }
  const lineAt = createLines(text)
  try {
    return nodeAt({ text, lineAt }, skipBlanks(text, 0), JSON.parse(text) as Json)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UnreadableData(lineAt(findJsonMistake(text)), 'the file is not valid JSON from here on')
  }
}

interface Source {
  readonly text: string
  readonly lineAt: (offset: number) => number
}

/** `json` is the result of JSON.parse, so the scan below need not validate the text. */
function nodeAt(source: Source, from: number, json: Json): DataNode {
  const line = source.lineAt(from)
  return {
    line,
    json,
    members() {
      const named = childrenOf(source.text, from).map(
        ({ name = '', at }) =>
          [name, nodeAt(source, at, (json as Readonly<Record<string, Json>>)[name] ?? null)] as const,
      )
      const twice = named.find(([name], index) => named.findIndex(([other]) => other === name) !== index)
      if (twice)
        throw new UnreadableData(twice[1].line, `the key ${JSON.stringify(twice[0])} appears twice in one object`)
      return named
    },
    items: () =>
      childrenOf(source.text, from).map(({ at }, index) =>
        nodeAt(source, at, (json as readonly Json[])[index] ?? null),
      ),
    entry: () => readRecord(Buffer.from(source.text.slice(from, endOf(source.text, from))), line),
  }
}

/** Finds the values in an object or a list. */
function childrenOf(text: string, from: number): readonly { readonly name?: string; readonly at: number }[] {
  const children: { name?: string; at: number }[] = []
  const named = text[from] === '{'
  let at = skipBlanks(text, from + 1)
  while (text[at] !== '}' && text[at] !== ']') {
    const end = named ? endOf(text, at) : at
    const value = named ? skipBlanks(text, skipBlanks(text, end) + 1) : at
    children.push({ ...(named && { name: JSON.parse(text.slice(at, end)) as string }), at: value })
    at = skipBlanks(text, endOf(text, value))
    if (text[at] === ',') at = skipBlanks(text, at + 1)
  }
  return children
}

/** Finds the end of a value. */
function endOf(text: string, from: number): number {
  let depth = 0
  let at = from
  do {
    const character = text[at] ?? ''
    if (character === '"') {
      at = endOfString(text, at)
    } else if (character === '{' || character === '[') {
      depth += 1
      at += 1
    } else if (character === '}' || character === ']') {
      depth -= 1
      at += 1
    } else {
      at = depth > 0 ? at + 1 : endOfWord(text, at)
    }
  } while (depth > 0)
  return at
}

function endOfString(text: string, from: number): number {
  let at = from + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function endOfWord(text: string, from: number): number {
  const word = /[^\s,\]}]*/y
  word.lastIndex = from
  word.test(text)
  return word.lastIndex
}

function skipBlanks(text: string, from: number): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1
  return at
}

/** Returns a function from offsets to lines. */
function createLines(text: string): (offset: number) => number {
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index)
  return (offset) => {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? 0) < offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }
}
