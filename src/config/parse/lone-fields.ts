import type { Json } from '../../foundation/json.js'
import { checkConfig } from './check/check.js'
import { readConfig } from '../yaml/document.js'
import type { FieldSpec } from '../spec.js'

/** Fields by name, declared as the fields of a model in resources.yaml: `{ title: { type: 'string', max: 100 } }`. */
export type FieldDeclarations = Readonly<Record<string, { readonly type: string; readonly [option: string]: Json }>>

/** Options that have no meaning outside of a table. */
const OF_TABLES = ['unique', 'auto', 'private', 'writeOnly', 'readOnly'] as const

/**
 * Builds fields that are declared outside of any model. `what` names their owner in messages.
 * @throws Error that lists all their mistakes
 */
export function readFields(declared: unknown, what: string): readonly FieldSpec[] {
  const key = keyBeside(Object.keys(declared ?? {}))
  const fields = { [key]: { type: 'bigint', primary_key: true }, ...(declared as FieldDeclarations) }
  // The writer omits values that are not JSON, and the checks would miss them.
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
function keyBeside(names: readonly string[]): string {
  let key = 'id'
  while (names.includes(key)) key += '_'
  return key
}
