import type { Json } from '../../json.js'
import { checkConfig } from './check.js'
import { readConfig } from '../yaml/document.js'
import type { FieldSpec } from '../spec.js'

/** Fields as resources.yaml declares those of a model, by name: `{ title: { type: 'string', max: 100 } }`. */
export type FieldDeclarations = Readonly<Record<string, { readonly type: string; readonly [option: string]: Json }>>

/** What belongs to a table, and means nothing without one. */
const OF_TABLES = ['unique', 'auto', 'private', 'writeOnly', 'readOnly'] as const

/**
 * The fields that are declared outside of any model. `what` says in messages whose they are.
 * @throws Error with everything that is wrong with them
 */
export const readFields = (declared: unknown, what: string): readonly FieldSpec[] => {
  const key = keyBeside(Object.keys(declared ?? {}))
  const fields = { [key]: { type: 'bigint', primary_key: true }, ...(declared as FieldDeclarations) }
  // What is no JSON is left out by the writer, and missed by the checks.
  const document = readConfig(Buffer.from(JSON.stringify({ version: 1, models: { fields: { fields } } })), what)
  const spec = Array.isArray(document) ? document : checkConfig(document)
  if (Array.isArray(spec)) {
    const mistakes = spec.map(({ message, help }) => [message, ...help].join('; '))
    throw new Error(`${what}: ${mistakes.join('. ')}`)
  }
  const specs = spec.models.flatMap((model) => model.fields).filter((field) => field.name !== key)
  for (const field of specs) {
    const idle = OF_TABLES.find((flag) => field[flag])
    if (idle !== undefined || (field.default && 'call' in field.default)) {
      throw new Error(`${what}: the field \`${field.name}\` has an option that means nothing outside of a table`)
    }
  }
  return specs
}

/** A model needs a primary key. */
const keyBeside = (names: readonly string[]): string => {
  let key = 'id'
  while (names.includes(key)) key += '_'
  return key
}
