import { configSchema, FIELD_TYPES, type Json, type JsonSchema } from '../../src/internal.js'
import { ANY, type Example, type ExampleField, flow, readExample, type Step } from './example.js'
import { code, codeBlock, table } from './markdown.js'

type FieldType = (typeof FIELD_TYPES)[number]

/** A mapping of the configuration with a fixed set of keys. */
interface Place {
  readonly heading: string
  readonly steps: readonly Step[]
  readonly schema: JsonSchema
}

const WIDEST_EXAMPLE = 72

/** The schema at the end of a path of keywords and properties. */
const at = (schema: JsonSchema, ...path: readonly string[]): JsonSchema =>
  path.reduce((inside, step) => (inside[step] ?? {}) as JsonSchema, schema)

const propertiesOf = (schema: JsonSchema): readonly (readonly [key: string, schema: JsonSchema])[] =>
  Object.entries(at(schema, 'properties') as Readonly<Record<string, JsonSchema>>)

const MODEL = ['properties', 'models', 'additionalProperties'] as const
const RESOURCE = ['properties', 'resources', 'additionalProperties'] as const

const fieldSchemas = (): readonly JsonSchema[] =>
  at(configSchema(), ...MODEL, 'properties', 'fields', 'additionalProperties')['oneOf'] as readonly JsonSchema[]

/** The mappings under `auth`. */
const AUTH: readonly (readonly Step[])[] = [
  [],
  ['jwt'],
  ['proxy'],
  ['roles'],
  ['claims', ANY],
  ['development', ANY],
  ['user'],
  ['sets', ANY],
]

function places(): readonly Place[] {
  const top = configSchema()
  return [
    { heading: 'The top of the file', steps: [], schema: top },
    { heading: '`api`', steps: ['api'], schema: at(top, 'properties', 'api') },
    { heading: '`api.cors`', steps: ['api', 'cors'], schema: at(top, 'properties', 'api', 'properties', 'cors') },
    ...AUTH.map((within) => placeIn(top, ['auth', ...within])),
    { heading: '`models.<name>`', steps: ['models', ANY], schema: at(top, ...MODEL) },
    { heading: '`models.<name>.fields.<name>`', steps: ['models', ANY, 'fields', ANY], schema: commonKeys() },
    {
      heading: '`models.<name>.relations.<name>`',
      steps: ['models', ANY, 'relations', ANY],
      schema: at(top, ...MODEL, 'properties', 'relations', 'additionalProperties'),
    },
    {
      heading: '`models.<name>.indexes`: an item in its long form',
      steps: ['models', ANY, 'indexes'],
      schema: at(top, ...MODEL, 'properties', 'indexes', 'items', 'else'),
    },
    { heading: '`resources.<name>`', steps: ['resources', ANY], schema: at(top, ...RESOURCE) },
    {
      heading: '`resources.<name>.access`: a grant',
      steps: ['resources', ANY, 'access'],
      schema: at(top, ...RESOURCE, 'properties', 'access', 'items'),
    },
    ...propertiesOf(at(top, ...RESOURCE)).flatMap(([key, schema]) => placesWithin(key, schema)),
    { heading: '`mounts`: an item', steps: ['mounts'], schema: at(top, 'properties', 'mounts', 'items') },
  ]
}

/** The mapping at the end of these steps; `ANY` is any name. */
function placeIn(top: JsonSchema, steps: readonly Step[]): Place {
  const path = steps.map((step) => (step === ANY ? '<name>' : step)).join('.')
  const schema = steps.reduce<JsonSchema>(
    (inside, step) => (step === ANY ? at(inside, 'additionalProperties') : at(inside, 'properties', step)),
    top,
  )
  return { heading: `\`${path}\``, steps, schema }
}

/** The mapping under a key of a resource: its value, each of its values, or each item in its long form. */
function placesWithin(key: string, schema: JsonSchema): readonly Place[] {
  const path = `resources.<name>.${key}`
  const steps: readonly Step[] = ['resources', ANY, key]
  const places: readonly Place[] = [
    { heading: `\`${path}\``, steps, schema },
    { heading: `\`${path}.<name>\``, steps: [...steps, ANY], schema: at(schema, 'additionalProperties') },
    {
      heading: `\`${path}\`: an item in its long form`,
      steps: [...steps, ANY],
      schema: at(schema, 'else', 'additionalProperties'),
    },
  ]
  return places.filter((place) => propertiesOf(place.schema).length > 0)
}

/** The keys that fields of all types have. */
function commonKeys(): JsonSchema {
  const [first = {}, ...others] = fieldSchemas()
  const shared = propertiesOf(first).filter(([key]) => others.every((other) => key in at(other, 'properties')))
  return {
    properties: { ...Object.fromEntries(shared), type: { description: 'The type of the field.' } },
    required: ['type'],
  }
}

export function exampleFile(): string {
  return codeBlock('yaml resources.yaml', readExample().text)
}

/** The keys of every mapping: what each means, its default, and an example out of the example file. */
export function configKeys(): string {
  const example = readExample()
  return places()
    .map(({ heading, steps, schema }) => {
      const required = (schema['required'] ?? []) as readonly string[]
      const rows = propertiesOf(schema).map(([key, value]) => [
        code(key),
        meaningOf(value),
        required.includes(key) ? '(required)' : defaultOf(value),
        exampleOf(key, example.find([...steps, key])),
      ])
      return `### ${heading}\n\n${table(['Key', 'Meaning', 'Default', 'Example'], rows)}`
    })
    .join('\n\n')
}

/** The first line of the description, and what values there are. */
function meaningOf(schema: JsonSchema): string {
  const [description = ''] = String(schema['description']).split('\n')
  const names = (schema['enum'] ?? at(schema, 'items')['enum']) as readonly (string | boolean)[] | undefined
  const choice = schema['enum'] === undefined ? 'Any of' : 'One of'
  if (names !== undefined) return `${description} ${choice} ${names.map((name) => code(String(name))).join(', ')}.`
  const { minimum, maximum } = schema
  return minimum === undefined ? description : `${description} From ${String(minimum)} to ${String(maximum)}.`
}

function defaultOf(schema: JsonSchema): string {
  const given = schema['default'] as Json | undefined
  return given === undefined ? '' : code(flow(given))
}

/** The keys that replace discovery by the issuer, which the example file uses. */
const REPLACEMENTS = ['jwks', 'keys']

/** @throws Error for a key that the example file does not show */
function exampleOf(key: string, value: Json | undefined): string {
  if (value === undefined && REPLACEMENTS.includes(key)) return ''
  if (value === undefined) throw new Error(`the example file shows no \`${key}\``)
  const text = `${key}: ${flow(value)}`
  return text.length > WIDEST_EXAMPLE ? '' : code(text)
}

/** @throws Error for a type that the example file does not show */
function exampleOfType({ fields }: Example, { name }: FieldType): ExampleField {
  const field = fields.get(name)
  if (field === undefined) throw new Error(`the example file has no field of the type \`${name}\``)
  return field
}

const columnOf = ({ spec }: ExampleField): string => spec.type.column(spec.options)

/** A value in a response, as JSON. */
function wireOf({ name, examples, typescript }: FieldType): string {
  // The other examples of arrays have items of other types than the column beside them.
  const changed = name === 'array' ? undefined : examples.find(({ wire }) => wire !== undefined)
  const exact = examples.find(({ source }) => typescript === 'bigint' && source !== undefined)
  const shown = changed ?? exact ?? examples[0]
  if (shown === undefined) return typescript === 'string' ? '"(1,2)"' : '1'
  return shown.wire === undefined ? (shown.source ?? JSON.stringify(shown.json)) : JSON.stringify(shown.wire)
}

export function fieldTypesAtAGlance(): string {
  const example = readExample()
  const rows = FIELD_TYPES.map((type) => [
    `[${code(type.name)}](#${type.name})`,
    code(wireOf(type)),
    code(columnOf(exampleOfType(example, type))),
    code(type.typescript),
    type.orderable ? 'yes' : 'no',
    type.key ? 'yes' : 'no',
  ])
  return table(['Type', 'In JSON', 'In PostgreSQL', 'In handlers', 'Ordering', 'Primary key'], rows)
}

export function fieldTypes(): string {
  const example = readExample()
  const schemas = fieldSchemas()
  return FIELD_TYPES.map((type, index) => {
    const field = exampleOfType(example, type)
    const options = Object.keys(type.options).map((option) => [
      code(option),
      meaningOf(at(schemas[index] ?? {}, 'properties', option)),
      type.required?.includes(option) ? 'required' : 'optional',
    ])
    return [
      `### ${type.name}`,
      type.summary,
      `Example: ${code(flow(field.yaml))}`,
      ...(options.length > 0 ? [table(['Option', 'Meaning', ''], options)] : []),
    ].join('\n\n')
  }).join('\n\n')
}
