import {
  ADDED_ID,
  addressMembers,
  type FieldSpec,
  isWritable,
  loneKey,
  READS,
  type ResourceSpec,
} from '../config/spec.js'
import type { DescribeRecord } from '../features/feature.js'
import { featureFields, joinedMembers, unsettableMembers } from '../features/index.js'
import type { BodyMode } from '../resource/bodies/body.js'
import { isOptional, rejectsEmpty } from '../resource/field-schema.js'
import type { Resource, Sendable } from '../resource/resource.js'
import { describeId } from './features.js'
import type { FieldSchemas } from './field-schema.js'
import { toPascal } from '../resource/names.js'
import type { JsonPart } from './json-part.js'

/** The kinds of bodies that documents distinguish. */
export type DocumentedMode = Exclude<BodyMode, 'assign'>

/** The names of a resource's schemas. */
export interface SchemaNames {
  readonly shown: string
  /** A record with the related records that clients can request. */
  readonly selected: string
  /** A partial record. */
  readonly partial: string
  readonly bodies: Readonly<Record<DocumentedMode, string>>
}

/** Names the schemas `Book`, `BookCreate`, `BookUpdate` and `BookPatch`, unless another resource uses these names. */
export function nameSchemas(resource: string, unique: (wanted: string) => string): SchemaNames {
  const shown = unique(toPascal(resource))
  return {
    shown,
    selected: unique(`${shown}Selected`),
    partial: unique(`${shown}Partial`),
    bodies: {
      create: unique(`${shown}Create`),
      replace: unique(`${shown}Update`),
      update: unique(`${shown}Patch`),
    },
  }
}

/** A record in responses. */
export function shownSchema({ spec, shown, access }: Resource, schemas: FieldSchemas): JsonPart {
  const fields = [...shown, ...featureFields(spec)]
  const id = spec.addedId?.shown ? idSchema(spec, schemas) : undefined
  const properties = recordProperties({ ...spec, fields, id }, schemas)
  const isRequired = (name: string) => alwaysShown(spec, access, name)
  return { type: 'object', properties, required: Object.keys(properties).filter(isRequired) }
}

/** The `id` that a dialect adds. */
function idSchema({ model }: ResourceSpec, schemas: FieldSchemas): JsonPart {
  const lone = loneKey(model)
  const schema = lone ? schemas.shown(lone, false) : { type: 'string' }
  return { ...schema, readOnly: true, description: `${describeId(model)}.` }
}

/** Whether every record that some caller sees has a member. */
function alwaysShown(spec: ResourceSpec, access: Resource['access'], name: string): boolean {
  const { access: grants = [], model } = spec
  if (!model.fields.some((field) => field.name === name)) {
    // These have the whole key.
    const isAddress = name === 'url' || name === ADDED_ID
    return !isAddress || model.key.every((field) => alwaysShown(spec, access, field.name))
  }
  if (access) return [access.list, access.retrieve].every(({ parts }) => parts.every(({ fields }) => fields.has(name)))
  return grants.every(({ may, fields }) => !may.some(isReadingName) || fields.includes(name))
}

function isReadingName(name: string): boolean {
  return (READS as readonly string[]).includes(name)
}

function recordProperties(
  { url, id, links, fields }: Parameters<DescribeRecord>[0] & { readonly id?: JsonPart | undefined },
  schemas: FieldSchemas,
): ReturnType<DescribeRecord> {
  const address = { type: 'string', format: 'uri-reference', readOnly: true, description: 'The URL of the record.' }
  const members = fields.map((field) => [field.name, schemas.shown(field, field.name in links)] as const)
  return Object.fromEntries([
    ...(url ? [['url', address] as const] : []),
    ...(id ? [[ADDED_ID, id] as const] : []),
    ...members,
  ])
}

/** The response to a read: a whole record with the requested related records. */
export function selectedSchema(resource: Resource, schemas: FieldSchemas): JsonPart {
  const { properties, required } = shownSchema(resource, schemas)
  return {
    type: 'object',
    description: 'A record, with the related records that the request selects.',
    properties: {
      ...(properties as JsonPart),
      ...joinedMembers(resource.spec, (record) => recordProperties(record, schemas)),
    },
    required,
  }
}

/** The same with all members optional. */
export function partialSchema(resource: Resource, schemas: FieldSchemas): JsonPart {
  const { required: _, ...schema } = selectedSchema(resource, schemas)
  return { ...schema, description: 'The members of a record that the request selects.' }
}

const NEEDS: Readonly<Record<DocumentedMode, string>> = {
  create: 'A new record.',
  replace: 'Every field that can be written.',
  update: 'The fields to change (RFC 7396); the others stay as they are.',
}

/** A request body. */
export function bodySchema(resource: Resource, mode: DocumentedMode, schemas: FieldSchemas): JsonPart {
  const { model, links } = resource.spec
  const sendable = resource.sendable?.[mode === 'create' ? 'create' : 'change']
  const fields = (sendable?.fields ?? model.fields).filter(isWritable)
  const required = fields
    .filter(
      (field) => isNeeded(field, mode) && sendable?.granted.has(field.name) !== false && !isPreset(resource, field),
    )
    .map(({ name }) => name)
  const ignored = namesIgnored(resource, sendable)
  const about = `Members that the server sets are ignored: ${ignored.map((name) => `\`${name}\``).join(', ')}.`
  return {
    type: 'object',
    description: ignored.length === 0 ? NEEDS[mode] : `${NEEDS[mode]} ${about}`,
    properties: Object.fromEntries(
      fields.map((field) => {
        const { default: standard, ...schema } = schemas.taken(field, field.name in links)
        // Clients cannot send a default that the field rejects.
        const isGiven = mode === 'create' && standard !== undefined && !(standard === '' && rejectsEmpty(field))
        return [field.name, isGiven ? { ...schema, default: standard } : schema]
      }),
    ),
    ...(required.length > 0 && { required }),
    // Clients can send back what they read; as properties, these members would look writable.
    ...(ignored.length === 0
      ? { additionalProperties: false }
      : { propertyNames: { enum: [...fields.map(({ name }) => name), ...ignored] } }),
  }
}

/** Whether the field is required in this kind of body. */
export function isNeeded(field: FieldSpec, mode: DocumentedMode): boolean {
  if (mode === 'create') return !isOptional(field)
  return mode === 'replace' && !field.primaryKey
}

/** Members of responses that are ignored in bodies. */
function namesIgnored({ spec }: Resource, sendable: Sendable | undefined): readonly string[] {
  const { model } = spec
  const fields = sendable?.fields ?? model.fields
  return [
    ...addressMembers(spec),
    ...fields.filter((field) => field.readOnly && !field.private).map(({ name }) => name),
    ...model.relations.flatMap(({ member }) => member?.name ?? []),
    ...unsettableMembers(spec),
    ...(sendable?.ignored.filter((name) => !fields.some((field) => field.name === name)) ?? []),
  ]
}

/** Whether a grant sets the field, so that its callers need not send it. */
function isPreset({ spec: { access = [] } }: Resource, { name }: FieldSpec): boolean {
  return access.some(({ set }) => set.some(({ field }) => field.name === name))
}
