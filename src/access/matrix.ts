import type { AppSpec, GrantSpec, ResourceSpec } from '../config/spec.js'
import type { Path } from '../config/yaml/located.js'
import { formatFields, formatRule, formatValue } from './format.js'

/** One grant of a resource. */
export interface MatrixGrant {
  readonly to: string
  readonly may: readonly string[]
  /** Undefined for all records. */
  readonly rows: string | undefined
  /** Undefined if it is the same as `rows`, or if the grant allows no change. */
  readonly becomes: string | undefined
  /** The fields that it shows or that may be sent: `all`, `all but cost`, or their names. */
  readonly fields: string
  readonly set: readonly string[]
  /** Where the file has the grant. */
  readonly path: Path
}

export interface MatrixResource {
  readonly name: string
  readonly path: string
  readonly grants: readonly MatrixGrant[]
  /** Operations that nobody may request. */
  readonly nobody: readonly string[]
}

/** Lists the grants of each resource. Mounts have the grants of their resources. */
export function accessMatrix({ resources }: AppSpec): readonly MatrixResource[] {
  return resources.map((resource) => ({
    name: resource.name,
    path: resource.path,
    grants: (resource.access ?? []).map((grant, index) => grantOf(resource, grant, index)),
    nobody: resource.operations.filter((operation) => !resource.access?.some(({ may }) => may.includes(operation))),
  }))
}

/** The names that the grants of a resource can have under `fields`. */
export function grantableFields({ model, computed }: ResourceSpec): readonly string[] {
  return [...model.fields.filter((each) => !each.private), ...computed.map(({ field }) => field)].map(
    ({ name }) => name,
  )
}

/** Where the file has a grant. */
export function grantPath({ name, mounted }: ResourceSpec, index: number): Path {
  return ['resources', mounted ?? name, 'access', index]
}

function grantOf(resource: ResourceSpec, grant: GrantSpec, index: number): MatrixGrant {
  const { to, may, rows, becomes, fields, set } = grant
  const changes = may.includes('update') || may.includes('partial_update')
  const before = rows && formatRule(rows)
  const after = becomes && formatRule(becomes)
  return {
    to,
    may: may.includes('all') ? ['all'] : may,
    rows: before,
    becomes: changes && after !== before ? after : undefined,
    fields: formatFields(fields, grantableFields(resource)),
    set: set.map(({ field, value }) => `${field.name}: ${formatValue(value, field)}`),
    path: grantPath(resource, index),
  }
}
