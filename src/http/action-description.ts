import type { FieldSpec } from '../config/spec.js'
import type { Resource } from '../resource/resource.js'

/** What a route says of the action that it does, for documents. */
export interface ActionDescription {
  readonly resource: Resource
  readonly on: 'record' | 'collection'
  readonly summary: string
  /** Of the body, or, of GET, of the query; undefined when it takes none. */
  readonly input: readonly FieldSpec[] | undefined
  /** Of the answer, or the record; undefined when there is none. */
  readonly output: readonly FieldSpec[] | 'record' | undefined
}
