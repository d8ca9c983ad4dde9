import { DIAGNOSTICS, type JsonSchema, nearestWord } from '../../src/internal.js'
import type { CliContext } from '../context.js'
import { Failure } from '../failure.js'
import { alignColumns, type Output } from '../output.js'
import { similarHelp } from '../similar.js'
import { findTopic, isTopic, keysOf, type Topic } from './topics.js'

type Codes = Readonly<Record<string, { readonly title: string; readonly explanation: string }>>

/**
 * Explains the code of a diagnostic, or a key of the configuration by its path.
 * @returns false if the word is neither, so that it must be a route
 * @throws Failure 1 if the code or the key does not exist
 */
export function explainWord(context: CliContext, word: string, json: boolean): boolean {
  const { out } = context
  if (/^SC\d+$/i.test(word)) {
    const code = word.toUpperCase()
    const { title, explanation } = codeOf(code)
    if (json) out.data(JSON.stringify({ schemaVersion: 1, code, title, explanation }))
    else for (const line of [out.colors.bold(`${code}: ${title}`), '', explanation]) out.line(line)
    return true
  }
  if (!isTopic(word)) return false
  const topic = findTopic(word)
  if (!topic) throw unknownKey(word)
  if (json) out.data(JSON.stringify({ schemaVersion: 1, ...toJson(topic) }))
  else printTopic(out, topic)
  return true
}

function codeOf(code: string) {
  const codes: Codes = DIAGNOSTICS
  const known = codes[code]
  if (known) return known
  const number = (each: string) => Number(each.slice(2))
  const far = (each: string) => Math.abs(number(each) - number(code))
  const near = Object.keys(codes)
    .sort((one, other) => far(one) - far(other))
    .slice(0, 3)
  throw new Failure(1, `no diagnostic has the code \`${code}\``, [`the nearest codes are: ${near.join(', ')}`])
}

/** @returns a failure that names the last existing part of the path */
function unknownKey(path: string): Failure {
  const steps = path.split('.')
  const known = steps.findLastIndex((_, at) => findTopic(steps.slice(0, at).join('.')))
  const parent = steps.slice(0, known).join('.')
  const step = steps[known] ?? ''
  const keys = Object.keys(keysOf(findTopic(parent)?.schema ?? {}))
  const help = keys.length === 0 ? [`explain it alone: snippetctl explain ${parent}`] : similarHelp(step, keys, KEYS)
  return new Failure(1, `\`${parent}\` has no key \`${step}\``, help)
}

const KEYS = { singular: 'key', plural: 'keys' }

const PLAIN = [
  'type',
  'default',
  'enum',
  'const',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
]

function factsOf(schema: JsonSchema): readonly (readonly [string, unknown])[] {
  return PLAIN.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]] as const]))
}

function requiredOf(schema: JsonSchema): readonly unknown[] {
  return (schema['required'] as readonly unknown[] | undefined) ?? []
}

function toJson({ path, schema }: Topic) {
  return {
    path,
    description: schema['description'],
    ...Object.fromEntries(factsOf(schema)),
    keys: Object.entries(keysOf(schema)).map(([key, each]) => ({ key, description: each['description'] })),
  }
}

function printTopic({ line, colors }: Output, { path, schema }: Topic): void {
  line(colors.bold(path))
  // The text that editors show, with the example outside its fence.
  const description = schema['markdownDescription'] ?? schema['description']
  if (description !== undefined) line()
  for (const text of String(description ?? '').split('\n')) if (!text.startsWith('```')) line(text)
  const facts = factsOf(schema).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  if (facts.length > 0) line()
  for (const row of alignColumns(facts)) line(row)
  const keys = keysOf(schema)
  const rows = Object.entries(keys).map(([key, each]) => [
    `  ${key}`,
    requiredOf(schema).includes(key) ? 'required' : '',
    String(each['description'] ?? ''),
  ])
  if (rows.length > 0) line(`\n${colors.bold('Keys')}`)
  for (const row of alignColumns(rows)) line(row)
  const last = path.split('.').at(-1) ?? ''
  const near = nearestWord(last, Object.keys(keys))
  // A path may contain any name, so a misspelt key can look like a name.
  if (near !== undefined)
    line(`\n  ${colors.cyan('= help:')} \`${last}\` was taken for a name; there is a key \`${near}\``)
}
