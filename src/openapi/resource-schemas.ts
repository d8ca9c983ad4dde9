import { EXPANDED, type ExpansionSpec, type FieldSpec } from '../config/spec.js'
import type { BodyMode } from '../resource/body.js'
import type { Resource } from '../resource/resource.js'
import type { FieldSchemas } from './field-schema.js'
import { toPascal } from '../resource/names.js'
import type { Part } from './json-part.js'

/** The kinds of bodies that documents tell apart. */
export type DocumentedMode = Exclude<BodyMode, 'assign'>

/** What the schemas of a resource are called. */
export interface SchemaNames {
  readonly shown: string
  /** A record with the related ones that clients can ask for. */
  readonly selected: string
  /** What clients can ask to see of a record. */
  readonly partial: string
  readonly bodies: Readonly<Record<DocumentedMode, string>>
}

/** `Book`, `BookCreate`, `BookUpdate`, `BookPatch`, unless another resource has such a name. */
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

/** A record as answers show it. */
export function shownSchema({ spec, shown }: Resource, schemas: FieldSchemas): Part {
  const fields = [...shown, ...spec.computed.map(({ field }) => field)]
  const properties = recordProperties({ ...spec, fields }, schemas)
  return { type: 'object', properties, required: Object.keys(properties) }
}

function recordProperties(
  { url, links, fields }: Pick<ExpansionSpec, 'url' | 'links' | 'fields'>,
  schemas: FieldSchemas,
): Part {
  const address = { type: 'string', format: 'uri-reference', readOnly: true, description: 'Where the record is.' }
  const members = fields.map((field) => [field.name, schemas.shown(field, field.name in links)] as const)
  return Object.fromEntries([...(url ? [['url', address] as const] : []), ...members])
}

/** What reading answers: a whole record, with the related ones that are asked for. */
export function selectedSchema(resource: Resource, schemas: FieldSchemas): Part {
  const { properties, required } = shownSchema(resource, schemas)
  return {
    type: 'object',
    description: 'A record, with the related ones that the request asks for.',
    properties: { ...(properties as Part), ...expandedProperty(resource.spec.expand, schemas) },
    required,
  }
}

/** The same, of which any member may be missing. */
export function partialSchema(resource: Resource, schemas: FieldSchemas): Part {
  const { required: _, ...schema } = selectedSchema(resource, schemas)
  return { ...schema, description: 'What the request asks to see of a record.' }
}

function expandedProperty(expansions: readonly ExpansionSpec[], schemas: FieldSchemas): Part {
  if (expansions.length === 0) return {}
  const related = expansions.map((expansion) => {
    const shown = recordProperties(expansion, schemas)
    const schema = {
      type: expansion.field.nullable ? ['object', 'null'] : 'object',
      description: `The related record, as \`${expansion.resource}\` shows it.`,
      properties: { ...shown, ...expandedProperty(expansion.expand, schemas) },
      required: Object.keys(shown),
    }
    return [expansion.field.name, schema] as const
  })
  const description = 'The related records that `expand` asks for, by the names of their relations.'
  return { [EXPANDED]: { type: 'object', readOnly: true, description, properties: Object.fromEntries(related) } }
}

const NEEDS: Readonly<Record<DocumentedMode, string>> = {
  create: 'A new record.',
  replace: 'Every field that can be written.',
  update: 'The fields to change (RFC 7396); the others stay as they are.',
}

/** What a body may say. */
export function bodySchema(resource: Resource, mode: DocumentedMode, schemas: FieldSchemas): Part {
  const { model, links } = resource.spec
  const fields = model.fields.filter((field) => !field.readOnly && !field.private)
  const required = fields.filter((field) => isNeeded(field, mode)).map(({ name }) => name)
  const ignored = namesIgnored(resource)
  const about = `What the server sets is ignored: ${ignored.map((name) => `\`${name}\``).join(', ')}.`
  return {
    type: 'object',
    description: ignored.length === 0 ? NEEDS[mode] : `${NEEDS[mode]} ${about}`,
    properties: Object.fromEntries(
      fields.map((field) => {
        const { default: standard, ...schema } = schemas.taken(field, field.name in links)
        return [field.name, mode === 'create' && standard !== undefined ? { ...schema, default: standard } : schema]
      }),
    ),
    ...(required.length > 0 && { required }),
    // What was read can be sent back; properties of their own would make such members look as if they could be set.
    ...(ignored.length === 0
      ? { additionalProperties: false }
      : { propertyNames: { enum: [...fields.map(({ name }) => name), ...ignored] } }),
  }
}

/** Whether a body of this kind must have the field. */
export function isNeeded(field: FieldSpec, mode: DocumentedMode): boolean {
  if (mode === 'create') return !field.nullable && field.default === undefined
  return mode === 'replace'
}

/** The members of answers that bodies may have and nobody reads. */
function namesIgnored({ spec: { model, url, expand, computed } }: Resource): readonly string[] {
  return [
    ...(url ? ['url'] : []),
    ...model.fields.filter((field) => field.readOnly && !field.private).map(({ name }) => name),
    ...computed.map(({ field }) => field.name),
    ...(expand.length > 0 ? [EXPANDED] : []),
  ]
}
