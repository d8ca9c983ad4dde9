import type { FieldSpec } from '../../config/spec.js'
import type { Resource } from '../../resource/resource.js'

/** Describes the action of a route, for documents. */
export interface ActionDescription {
  readonly resource: Resource
  readonly name: string
  readonly on: 'record' | 'collection'
  readonly summary: string
  /** The fields of the body, or of the query for GET; undefined if it takes none. */
  readonly input: readonly FieldSpec[] | undefined
  /** The fields of the response body, or the record; undefined if it has none. */
  readonly output: readonly FieldSpec[] | 'record' | undefined
}
