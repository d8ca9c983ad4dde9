import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { type AppSpec, checkConfig, type Json, readConfig } from '../../src/internal.js'

type FieldSpec = AppSpec['models'][number]['fields'][number]

/** A field of the example file: as it is declared, and as it was understood. */
export interface ExampleField {
  readonly yaml: Json
  readonly spec: FieldSpec
}

/** The file that shows every key, so that each example in the reference is a part of something that works. */
export interface Example {
  /** The first value at the end of the steps; `ANY` is every key, and lists are looked through. */
  find(steps: readonly Step[]): Json | undefined
  readonly text: string
  /** For each type of field, the one that shows the most options. */
  readonly fields: ReadonlyMap<string, ExampleField>
}

/** A step from a mapping to one of its values, whatever its key. */
export const ANY = Symbol('any key')
export type Step = string | typeof ANY

const FILE = 'docs/example.yaml'

/** @throws Error when the example file has mistakes */
export function readExample(): Example {
  const bytes = readFileSync(FILE)
  const document = readConfig(bytes, FILE)
  const spec = 'value' in document ? checkConfig(document) : document
  if (!('value' in document) || !('models' in spec)) throw new Error(`${FILE} has mistakes`)
  const find = (steps: readonly Step[]) => follow(document.value, steps)
  const fields = new Map<string, ExampleField>()
  for (const model of spec.models) {
    for (const field of model.fields) {
      const yaml = find(['models', model.name, 'fields', field.name]) ?? null
      const known = fields.get(field.type.name)
      if (known === undefined || optionsIn(yaml, field) > optionsIn(known.yaml, field)) {
        fields.set(field.type.name, { yaml, spec: field })
      }
    }
  }
  return { text: bytes.toString(), find, fields }
}

const optionsIn = (yaml: Json, { type }: FieldSpec): number =>
  Object.keys(type.options).filter((option) => follow(yaml, [option]) !== undefined).length

function follow(json: Json | undefined, [step, ...rest]: readonly Step[]): Json | undefined {
  if (step === undefined || typeof json !== 'object' || json === null) return step === undefined ? json : undefined
  const inside = Array.isArray(json)
    ? json.map((item) => follow(item as Json, [step, ...rest]))
    : Object.entries(json).flatMap(([key, value]) => (step === ANY || step === key ? [follow(value, rest)] : []))
  return inside.find((found) => found !== undefined)
}

/** A value as YAML on one line. */
export function flow(value: Json): string {
  const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()
  return text.replaceAll(/\[ (.*?) \]/g, '[$1]')
}
