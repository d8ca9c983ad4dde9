import { readFileSync } from 'node:fs'

/** Valid configurations to mutate. */
export const SEEDS = [
  readFileSync('resources.yaml', 'utf8'),
  `version: 1
api: { prefix: /v1, title: Books }
settings: { limit: 5, names: [a, b] }
models:
  author:
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, min: 1, max: 100, unique: true }
      born: { type: date, nullable: true }
  book:
    table: books
    fields:
      id: { type: uuid, primary_key: true }
      author: { type: belongs_to, model: author, on_delete: cascade }
      price: { type: decimal, precision: 10, scale: 2, default: "9.90" }
      state: { type: choice, choices: [draft, done], default: draft }
      notes: { type: json, nullable: true }
      secret: { type: text, private: true, nullable: true }
      seen_at: { type: timestamp, default: { function: now } }
    indexes:
      - [author, state]
      - { fields: [seen_at], unique: true }
resources:
  author: { model: author, path: /authors/, url: true }
  book:
    model: book
    path: /books/
    filterable: { state: [exact, in], price: [gte, lte] }
    orderable: [price]
    default_order: [-price]
    links: { author: author-detail }
    pagination: { style: cursor, page_size: 5, count: none }
    unknown_query: ignore
`,
]

/** A pseudo-random generator, so that every run has the same mutations. */
export const createRandom = (seed: number): ((bound: number) => number) => {
  let state = seed
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

type Random = (bound: number) => number

const INSERTED = [
  '\t',
  '\u0000',
  '\ufeff',
  '😀',
  '&a ',
  '*a',
  '<<: ',
  '!!js ',
  '\n---\n',
  '\n%YAML 1.1\n',
  '"',
  "'",
  '{',
  '}',
  ']',
  ',',
  ': ',
  '- ',
  '? ',
  '|',
  '#',
  '\r',
  '[[[[[[[[[[[[[[[[[[[[[[[[',
]
const SCALARS = [
  'null',
  'true',
  '1',
  '-1',
  '1.5',
  '.nan',
  '012',
  '""',
  'text',
  '[]',
  '{}',
  '99999999999999999999',
  '[a, b]',
  '{a: 1}',
]

const pick = <Value>(values: readonly Value[], random: Random): Value => values[random(values.length)] as Value

const changeLine = (
  text: string,
  random: Random,
  change: (line: string, lines: string[], at: number) => string[],
): string => {
  const lines = text.split('\n')
  const at = random(lines.length)
  lines.splice(at, 1, ...change(lines[at] ?? '', lines, at))
  return lines.join('\n')
}

const MUTATIONS: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => changeLine(text, random, () => []),
  (text, random) => changeLine(text, random, (line) => [line, line]),
  (text, random) => changeLine(text, random, (line, lines) => [pick(lines, random), line]),
  (text, random) => changeLine(text, random, (line) => [` ${line}`]),
  (text, random) => changeLine(text, random, (line) => [line.replace(/^ /, '')]),
  (text, random) => {
    const at = random(text.length)
    return text.slice(0, at) + pick(INSERTED, random) + text.slice(at)
  },
  (text, random) => {
    const brackets = 1 + random(30)
    return `${'['.repeat(brackets)}${text}${']'.repeat(brackets)}`
  },
  (text, random) => changeLine(text, random, (line) => [line.replace(/: .*/, () => `: ${pick(SCALARS, random)}`)]),
  (text, random) =>
    changeLine(text, random, (line) => [line.replace(/(?<=[:,[] )[\w-]+/, () => pick(SCALARS, random))]),
  (text, random) => text.slice(0, random(text.length)),
]

const flipByte = (bytes: Uint8Array, random: Random): Uint8Array => {
  const flipped = Uint8Array.from(bytes)
  const at = random(flipped.length)
  flipped[at] = (flipped[at] ?? 0) ^ (1 << random(8))
  return flipped
}

/** Returns one of the seeds with one to three changes, and sometimes a flipped bit. */
export const mutate = (random: Random, seeds: readonly string[] = SEEDS): Uint8Array => {
  let text = pick(seeds, random)
  for (let count = 1 + random(3); count > 0; count -= 1) text = pick(MUTATIONS, random)(text, random)
  const bytes = new TextEncoder().encode(text)
  return random(6) === 0 && bytes.length > 0 ? flipByte(bytes, random) : bytes
}
