import { readFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'
import { type AppSpec, checkConfig, configSchema, FIELD_TYPES, type Json, type JsonSchema, readConfig } from '../../src/index.js'
import { code, table } from './markdown.js'

type FieldType = (typeof FIELD_TYPES)[number]
type Schemas = Readonly<Record<string, JsonSchema>>

const EXAMPLE = 'docs/example.yaml'
const WIDEST = 72

/** A step from a mapping to one of its values: a key, or whatever the key is called. */
const ANY = Symbol('any key')
type Step = string | typeof ANY

const example = (): Json => parse(readFileSync(EXAMPLE, 'utf8')) as Json

/** The first value at the end of the steps, wherever they lead through mappings and lists. */
function find(json: Json | undefined, [step, ...rest]: readonly Step[]): Json | undefined {
  if (step === undefined || json === undefined) return json
  if (Array.isArray(json)) return json.map((item) => find(item, [step, ...rest])).find((found) => found !== undefined)
  if (typeof json !== 'object' || json === null) return undefined
  const members = step === ANY ? Object.values(json) : [(json as Readonly<Record<string, Json>>)[step]]
  return members.map((member) => find(member, rest)).find((found) => found !== undefined)
}

const propertiesOf = (schema: JsonSchema): Schemas => (schema['properties'] ?? {}) as Schemas

/** The values of a mapping whose keys are names. */
const valuesOf = (schema: JsonSchema | undefined): JsonSchema => (schema?.['additionalProperties'] ?? {}) as JsonSchema

interface Place {
  readonly heading: string
  readonly steps: readonly Step[]
  readonly schema: JsonSchema
}

/** Every mapping with keys of its own, from the top. */
function places(): readonly Place[] {
  const top = configSchema()
  const { api, models, resources } = propertiesOf(top)
  const model = valuesOf(models)
  const resource = valuesOf(resources)
  const { fields, indexes } = propertiesOf(model)
  const index = ((indexes ?? {})['items'] as JsonSchema)['else'] as JsonSchema
  return [
    { heading: 'The top of the file', steps: [], schema: top },
    { heading: '`api`', steps: ['api'], schema: api ?? {} },
    { heading: '`models.<name>`', steps: ['models', ANY], schema: model },
    { heading: '`models.<name>.fields.<name>`', steps: ['models', ANY, 'fields', ANY], schema: commonKeys(fields) },
    { heading: '`models.<name>.indexes`', steps: ['models', ANY, 'indexes'], schema: index },
    { heading: '`resources.<name>`', steps: ['resources', ANY], schema: resource },
    {
      heading: '`resources.<name>.pagination`',
      steps: ['resources', ANY, 'pagination'],
      schema: propertiesOf(resource)['pagination'] ?? {},
    },
  ]
}

/** Those keys of a field that every type has; the options of the types are told with the types. */
function commonKeys(fields: JsonSchema | undefined): JsonSchema {
  const kinds = valuesOf(fields)['oneOf'] as readonly JsonSchema[]
  const shared = Object.entries(propertiesOf(kinds[0] ?? {})).filter(([key]) => kinds.every((kind) => key in propertiesOf(kind)))
  const type = { description: 'The field type: one of those below.', enum: FIELD_TYPES.map(({ name }) => name) }
  return { properties: { ...Object.fromEntries(shared), type }, required: ['type'] }
}

/** The keys of every mapping with what they mean, their default, and an example out of the example file. */
export function configKeys(): string {
  const file = example()
  return places()
    .map(({ heading, steps, schema }) => {
      const required = (schema['required'] ?? []) as readonly string[]
      const rows = Object.entries(propertiesOf(schema)).map(([key, value]) => [
        code(key),
        `${meaningOf(value)} ${shapeOf(value)}`.trim(),
        required.includes(key) ? 'required' : defaultOf(value),
        exampleOf(key, find(file, [...steps, key])),
      ])
      return `### ${heading}\n\n${table(['Key', 'Meaning', 'Default', 'Example'], rows)}`
    })
    .join('\n\n')
}

const meaningOf = (schema: JsonSchema): string => String(schema['description']).split('\n')[0] ?? ''

function shapeOf(schema: JsonSchema): string {
  const items = (schema['items'] ?? {}) as JsonSchema
  const names = (schema['enum'] ?? items['enum']) as readonly string[] | undefined
  if (names !== undefined) return `One of ${names.map(code).join(', ')}.`
  const [minimum, maximum] = [schema['minimum'], schema['maximum']]
  return minimum === undefined ? '' : `From ${String(minimum)} to ${String(maximum)}.`
}

function defaultOf(schema: JsonSchema): string {
  const given = schema['default'] as Json | undefined
  return given === undefined ? '' : Array.isArray(given) ? 'all of them' : code(flow(given))
}

/** @throws Error for a key that the example file does not show */
function exampleOf(key: string, value: Json | undefined): string {
  if (value === undefined) throw new Error(`${EXAMPLE} shows no \`${key}\``)
  const text = `${key}: ${flow(value)}`
  return text.length > WIDEST ? '' : code(text)
}

const flow = (value: Json): string =>
  stringify(value, { collectionStyle: 'flow', flowCollectionPadding: true, lineWidth: 0 }).trim().replace(/^\[ (.*) \]$/, '[$1]')

type FieldSpec = AppSpec['models'][number]['fields'][number]

/** A field of each type, as the example file declares it and as it was understood. */
function exampleFields(): ReadonlyMap<string, { readonly yaml: Json; readonly spec: FieldSpec }> {
  const document = readConfig(readFileSync(EXAMPLE), EXAMPLE)
  if (!('root' in document)) throw new Error(`${EXAMPLE} is not YAML`)
  const spec = checkConfig(document)
  if (!('models' in spec)) throw new Error(`${EXAMPLE} has errors: ${spec.map(({ message }) => message).join('; ')}`)
  const file = example()
  const found = new Map<string, { readonly yaml: Json; readonly spec: FieldSpec }>()
  for (const model of spec.models) {
    for (const field of model.fields) {
      const yaml = find(file, ['models', model.name, 'fields', field.name])
      const options = Object.keys(field.type.options).length
      // The one that shows the most options of its type.
      const known = found.get(field.type.name)
      const shown = Object.keys(yaml as object).filter((key) => key in field.type.options).length
      const before = Object.keys((known?.yaml ?? {}) as object).filter((key) => key in field.type.options).length
      if (yaml !== undefined && (known === undefined || (options > 0 && shown > before))) found.set(field.type.name, { yaml, spec: field })
    }
  }
  return found
}

const columnOf = ({ spec }: { readonly spec: FieldSpec }): string => spec.type.column(spec.options)

/** A value as it is sent and as it comes back, both as JSON. */
function wireOf(type: FieldType): readonly [sent: string, answered: string] {
  const shown =
    type.examples.find((each) => each.wire !== undefined) ??
    type.examples.find((each) => type.typescript === 'bigint' && each.source !== undefined) ??
    type.examples[0]
  if (shown === undefined) return ['1', '1']
  const sent = shown.source ?? JSON.stringify(shown.json)
  return [sent, shown.wire === undefined ? sent : JSON.stringify(shown.wire)]
}

export function fieldTypesAtAGlance(): string {
  const fields = exampleFields()
  const rows = FIELD_TYPES.map((type) => {
    const field = fields.get(type.name)
    if (field === undefined) throw new Error(`${EXAMPLE} has no field of the type ${type.name}`)
    return [
      `[${code(type.name)}](#${type.name})`,
      code(columnOf(field)),
      code(wireOf(type)[1]),
      type.orderable ? 'yes' : 'no',
      type.key ? 'yes' : 'no',
    ]
  })
  return table(['Type', 'PostgreSQL', 'In JSON', 'Ordering', 'Primary key'], rows)
}

export function fieldTypes(): string {
  const fields = exampleFields()
  const kinds = (valuesOf(propertiesOf(valuesOf(propertiesOf(configSchema())['models']))['fields'])['oneOf'] ?? []) as readonly JsonSchema[]
  return FIELD_TYPES.map((type, index) => {
    const field = fields.get(type.name)
    if (field === undefined) throw new Error(`${EXAMPLE} has no field of the type ${type.name}`)
    const [sent, answered] = wireOf(type)
    const options = Object.keys(type.options).map((option) => {
      const schema = propertiesOf(kinds[index] ?? {})[option] ?? {}
      return [code(option), `${meaningOf(schema)} ${shapeOf(schema)}`.trim(), type.required?.includes(option) ? 'required' : '']
    })
    return [
      `### ${type.name}`,
      type.summary,
      [
        `- Example: ${code(flow(field.yaml))}, kept as ${code(columnOf(field))}`,
        `- JSON: ${code(sent)}${sent === answered ? '' : ` is answered as ${code(answered)}`}; in handlers ${code(type.typescript)}`,
        `- Lookups: ${type.lookups.map(code).join(', ')}`,
      ].join('\n'),
      ...(options.length > 0 ? [table(['Option', 'Meaning', ''], options)] : []),
    ].join('\n\n')
  }).join('\n\n')
}
