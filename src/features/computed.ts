import { type ComputedSpec, EXPANDED } from '../config/core-spec.js'
import { derivedField } from '../config/derived-field.js'
import { hasMember, type ModelDraft } from '../config/parse/drafts.js'
import { checkFieldName } from '../config/parse/field-names.js'
import type { ResourceDraft } from '../config/parse/resource-drafts.js'
import { doc, flag, fieldsNamed, listOf, mapping } from '../config/schema/parts.js'
import { itemsOf, membersOf } from '../config/schema/yaml-shape.js'
import { show } from '../config/words.js'
import { fail } from '../foundation/fail.js'
import { labelOf } from '../fields/default-label.js'
import { fieldType, FIELD_TYPES } from '../fields/index.js'
import type { JsonSchema } from '../foundation/json.js'
import type { Declared, Feature, Scope } from './feature.js'
import { oneOf, typeOfValue } from './names.js'

export interface ComputedFields {
  /** The computed fields of responses, in order; plugins compute them. */
  readonly computed: readonly ComputedSpec[]
}

interface ComputedYaml {
  readonly from: readonly string[]
  readonly type: string
  readonly nullable?: boolean
  readonly label?: string
}

const MAX_COMPUTED = 50
/** Types whose values are one JSON token, and that need no options. */
const COMPUTED_TYPES = FIELD_TYPES.filter(({ orderable, required = [] }) => orderable && required.length === 0)

const TAKEN: ReadonlyMap<string, string> = new Map([
  ['url', 'with `url: true`, records have a member of that name'],
  [EXPANDED, 'with `expand`, records have a member of that name'],
])

/** `computed: { full_title: { from: [title], type: string } }`: response fields that a plugin computes from stored ones. */
export const computed: Feature<ComputedFields> = {
  keys: {
    computed: doc(
      fieldsNamed(computedSchema(), { maxProperties: MAX_COMPUTED }),
      'Fields of responses that a plugin computes from stored fields, by `app.compute`.',
      'computed:\n  full_title: { from: [title, isbn], type: string }',
    ),
  },

  parse(resource, scope) {
    if (resource.model) checkComputed(resource, resource.model, scope)
    const given = membersOf(resource.given('computed'))
    return (declared) => ({
      computed: given.map(([name, yaml]) => build(name, yaml as unknown as ComputedYaml, declared)),
    })
  },

  restrict: ({ computed: fields }, { always }) => ({ computed: fields.filter(({ field }) => always(field.name)) }),

  shows: ({ computed: fields }) => fields.map(({ field }) => field),

  types: ({ computed: fields }, record) => ({
    computed: Object.fromEntries(fields.map((each) => [each.field.name, typesOf(each, record)])),
  }),
}

/** The sources and the value of a computed field. Numbers are accepted for 64-bit integers as well. */
function typesOf({ field, from }: ComputedSpec, record: string): string {
  const source = `Pick<${record}, ${oneOf(from.map(({ name }) => name)) || 'never'}>`
  const value = typeOfValue(field).replace(/^bigint/, 'bigint | number')
  return `{ readonly from: ${source}; readonly value: ${value}${field.nullable ? ' | null' : ''} }`
}

function computedSchema(): JsonSchema {
  return mapping(
    'a computed field',
    {
      from: doc(
        listOf({}),
        'The stored fields that it depends on; they may be hidden from responses.',
        'from: [title, isbn]',
      ),
      type: doc({ enum: COMPUTED_TYPES.map(({ name }) => name) }, 'The type of the field.'),
      nullable: flag('Whether the result may be null.'),
      label: doc(
        { type: 'string', minLength: 1, maxLength: 100 },
        'The label of the field; by default its name, capitalised.',
      ),
    },
    ['from', 'type'],
  )
}

/** Reports computed fields whose name is taken, or whose sources do not exist. */
function checkComputed({ path, given }: ResourceDraft, model: ModelDraft, { report }: Scope): void {
  for (const [name, yaml] of membersOf(given('computed'))) {
    const at = [...path, 'computed', name]
    if (report.isInvalid(at)) continue
    const owner = hasMember(model, name) ? `the model ${show(model.name)} has a field of that name` : TAKEN.get(name)
    if (owner !== undefined) {
      const message = `a computed field cannot be called ${show(name)}: ${owner}`
      report.add({ code: 'SC304', path: at, part: 'key', message })
    }
    const { from } = Object.fromEntries(membersOf(yaml))
    for (const [index, stored] of itemsOf(from).entries()) {
      const place = [...at, 'from', index]
      if (!report.isInvalid(place)) checkFieldName(model, String(stored), { path: place }, report)
    }
  }
}

function build(
  name: string,
  { from, type, nullable = false, label = labelOf(name) }: ComputedYaml,
  { field }: Declared,
): ComputedSpec {
  return {
    from: from.map(field),
    field: derivedField({
      name,
      label,
      type: fieldType(type) ?? fail(`a type that was never checked: ${type}`),
      options: {},
      nullable,
    }),
  }
}
