import type { FieldSpec } from '../config/spec.js'
import type { BodyMode } from '../resource/body.js'
import type { Resource } from '../resource/resource.js'
import type { FieldSchemas } from './field-schema.js'
import { toPascal } from '../resource/names.js'
import type { Part } from './part.js'

/** The kinds of bodies that documents tell apart. */
export type DocumentedMode = Exclude<BodyMode, 'assign'>

/** What the schemas of a resource are called. */
export interface SchemaNames {
  readonly shown: string
  /** What clients can ask to see of a record. */
  readonly selected: string
  readonly bodies: Readonly<Record<DocumentedMode, string>>
}

/** `Book`, `BookCreate`, `BookUpdate`, `BookPatch`, unless another resource has such a name. */
export function nameSchemas(resource: string, unique: (wanted: string) => string): SchemaNames {
  const shown = unique(toPascal(resource))
  return {
    shown,
    selected: unique(`${shown}Selected`),
    bodies: {
      create: unique(`${shown}Create`),
      replace: unique(`${shown}Update`),
      update: unique(`${shown}Patch`),
    },
  }
}

/** A record as answers show it. */
export function shownSchema({ spec, shown }: Resource, schemas: FieldSchemas): Part {
  const url = { type: 'string', format: 'uri-reference', readOnly: true, description: 'Where the record is.' }
  const members = shown.map((field) => [field.name, schemas.shown(field, field.name in spec.links)] as const)
  const properties = Object.fromEntries([...(spec.url ? [['url', url] as const] : []), ...members])
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** What reading answers: a record of which any member may be missing, where clients can ask for some only. */
export function selectedSchema(resource: Resource, schemas: FieldSchemas): Part {
  const { properties } = shownSchema(resource, schemas)
  return { type: 'object', description: 'Those of these members that the request asks for.', properties }
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
  return {
    type: 'object',
    description: [NEEDS[mode], ignored(resource)].filter(Boolean).join(' '),
    properties: Object.fromEntries(
      fields.map((field) => {
        const { default: standard, ...schema } = schemas.taken(field, field.name in links)
        return [field.name, mode === 'create' && standard !== undefined ? { ...schema, default: standard } : schema]
      }),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

/** Whether a body of this kind must have the field. */
export function isNeeded(field: FieldSpec, mode: DocumentedMode): boolean {
  if (mode === 'create') return !field.nullable && field.default === undefined
  return mode === 'replace'
}

function ignored({ spec: { model, url } }: Resource): string {
  const set = model.fields.filter((field) => field.readOnly && !field.private).map(({ name }) => name)
  const names = [...(url ? ['url'] : []), ...set].map((name) => `\`${name}\``)
  return names.length === 0 ? '' : `What the server sets is ignored: ${names.join(', ')}.`
}
