import { loneKey } from '../config/model-spec.js'
import type { FieldSpec, ResourceSpec } from '../config/spec.js'
import { featureFields, featureOptions } from '../features/index.js'
import type { Json } from '../foundation/json.js'
import { describedSchema, usableDefault } from './field-schema.js'
import type { Resource } from './resource.js'

/** Describes a resource for `OPTIONS`: its operations, its fields with their rules, and the parameters of its lists. */
export function describeResource({ spec, access, sendable }: Described): Json {
  const { name, model, dialect, shown } = spec
  const operations = access ? spec.operations.filter((name) => access.granting(name).length > 0) : spec.operations
  const isKnown = (field: FieldSpec) =>
    sendable === undefined ||
    shown.includes(field) ||
    [sendable.create, sendable.change].some(({ granted }) => granted.has(field.name))
  const stored = [
    ...model.fields.filter((field) => !field.private && isKnown(field)),
    ...model.relations.flatMap(({ member }) => (member && isKnown(member) ? [member] : [])),
  ]
  const fields = [...stored, ...featureFields(spec)]
  return {
    name,
    operations: [...operations],
    primary_key: describeKey(model.key.map((field) => field.name)),
    fields: Object.fromEntries(fields.map((field) => [field.name, describeField(field, spec)])),
    // A dialect has its own parameters.
    ...(dialect && { dialect: dialect.name }),
    ...featureOptions({ ...spec, operations }),
  }
}

type Described = Pick<Resource, 'spec' | 'access' | 'sendable'>

/** The name of the field, or the names of all. */
function describeKey(names: readonly string[]): Json {
  const [first = null, ...others] = names
  return others.length === 0 ? first : [...names]
}

function describeField(field: FieldSpec, { model, links }: ResourceSpec): Json {
  const { type, label, nullable, readOnly, writeOnly, unique, name } = field
  const given = usableDefault(field)
  const link = links[name]
  return {
    type: type.name,
    label,
    required: !readOnly && !nullable && given === undefined,
    nullable,
    read_only: readOnly,
    write_only: writeOnly,
    unique: unique || field === loneKey(model),
    ...(given && 'literal' in given && { default: given.literal }),
    ...(link !== undefined && { link }),
    schema: describedSchema(field) as Json,
  }
}
