import type { Dialect } from '../dialects/dialect.js'
import type { Ordered } from '../pagination/paginator.js'
import type { Rule } from './access-spec.js'
import { type FieldSpec, loneKey, type ModelRelation, type ModelSpec } from './model-spec.js'

export const OPERATIONS = ['list', 'create', 'retrieve', 'update', 'partial_update', 'destroy'] as const
export type Operation = (typeof OPERATIONS)[number]

/** The operations that return records and change nothing. */
export const READS = ['list', 'retrieve'] as const satisfies readonly Operation[]

/** Whether an operation returns records and changes nothing. */
export function isReading(operation: Operation): boolean {
  return (READS as readonly Operation[]).includes(operation)
}

/** The operations that one request can apply to several records. */
export const BULK_OPERATIONS = ['create', 'partial_update', 'destroy'] as const satisfies readonly Operation[]
export type BulkOperation = (typeof BULK_OPERATIONS)[number]

export interface OrderSpec extends Ordered {
  readonly field: FieldSpec
}

/** The member of responses that holds related records. */
export const EXPANDED = 'expanded'

/** A related record that a response can include, with its own related records. */
export interface ExpansionSpec {
  /** The name for clients: the relations that lead to the record, joined by dots. */
  readonly path: string
  /** The last of these relations, which belongs to the model that refers to the record. */
  readonly relation: ModelRelation
  /** The resource whose form the record has. */
  readonly resource: string
  readonly model: ModelSpec
  /** The fields in the response, in order. */
  readonly fields: readonly FieldSpec[]
  /** The records that the caller may see; undefined for all. */
  readonly rows?: Rule | undefined
  /** Whether the fields depend on the caller. */
  readonly varies: boolean
  /** As in the resource. */
  readonly url: boolean
  readonly links: Readonly<Record<string, string>>
  readonly expand: readonly ExpansionSpec[]
}

/** A response field that is not stored. */
export interface ComputedSpec {
  readonly field: FieldSpec
  /** The stored fields that it is computed from; some may be hidden. */
  readonly from: readonly FieldSpec[]
}

/** The settings that every resource has; features add the settings of their keys. */
export interface CoreSpec {
  readonly name: string
  /** At a mount: the name of the original resource. Undefined outside of mounts. */
  readonly mounted: string | undefined
  readonly model: ModelSpec
  /** The fields of responses, in order, without computed ones. Last are the members for relations over several fields, which have no column. */
  readonly shown: readonly FieldSpec[]
  /** The maximum size of a body, in bytes. */
  readonly maxBody: number
  /** With the API prefix; starts and ends with a slash. */
  readonly path: string
  readonly operations: readonly Operation[]
  readonly unknownQuery: 'refuse' | 'ignore'
  /** Undefined if lists have the form that `pagination` sets. */
  readonly dialect: Dialect | undefined
  /** Whether each object starts with its own `url`. */
  readonly url: boolean
  /**
   * Set in a dialect, whose clients identify a record by its `id`, unless the key is a field of this name. `shown` says whether each object starts with
   * the `id`: the value of the key, or the values of several fields joined to one text, which paths have, too.
   */
  readonly addedId: { readonly shown: boolean } | undefined
  /** Relation fields shown as links: field name to route name. */
  readonly links: Readonly<Record<string, string>>
}

/** The name of the member that a dialect adds, and of the path parameter that has a key of several fields as one text. */
export const ADDED_ID = 'id'

/** The members with the address of a record, which bodies ignore. */
export function addressMembers({ url, addedId }: Pick<CoreSpec, 'url' | 'addedId'>): readonly string[] {
  return [...(url ? ['url'] : []), ...(addedId ? [ADDED_ID] : [])]
}

/** How a dialect identifies the records of a model. */
export function addedIdOf(model: ModelSpec, dialect: Dialect | undefined): CoreSpec['addedId'] {
  const isAdded = model.key.length > 0 && loneKey(model)?.name !== ADDED_ID
  return dialect !== undefined && isAdded ? { shown: true } : undefined
}
