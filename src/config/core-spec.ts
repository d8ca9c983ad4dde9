import type { Dialect } from '../dialects/dialect.js'
import type { FieldType } from '../fields/field-type.js'
import type { Json } from '../json.js'
import type { Lookup } from '../lookups/lookup.js'
import type { Ordered } from '../pagination/paginator.js'

export interface ModelSpec {
  readonly name: string
  /** In the canonical spelling, as `readTableName` reads it. */
  readonly table: string
  /** Whether migrations make the table. Tables of others, and views, are only used. */
  readonly managed: boolean
  /** The query of a view that migrations make. */
  readonly view: string | undefined
  /** The former name of the table. */
  readonly renamedFrom: string | undefined
  /** Former fields whose values may be deleted. */
  readonly dropped: readonly string[]
  /** In YAML order. */
  readonly fields: readonly FieldSpec[]
  /** The fields of the primary key, in its order; empty if records have no key. */
  readonly key: readonly FieldSpec[]
  /** Relations of one field and relations over several fields. */
  readonly relations: readonly ModelRelation[]
  readonly indexes: readonly IndexSpec[]
  /** Messages for violated constraints, by the name of the constraint. */
  readonly messages: Readonly<Record<string, string>>
}

/** The field that is the whole primary key of a model; undefined if the key has several fields or none. */
export function loneKey({ key: [first, ...others] }: Pick<ModelSpec, 'key'>): FieldSpec | undefined {
  return others.length === 0 ? first : undefined
}

/** `default:` of a field: a literal in its JSON form, or one of a fixed set of functions. */
export type DefaultSpec = { readonly literal: Json } | { readonly call: 'now' | 'uuid' | 'database' }

export interface FieldSpec {
  readonly name: string
  /** By default the name of the field; `<name>_id` for a relation. */
  readonly column: string
  /** The former name of the field. */
  readonly renamedFrom: string | undefined
  readonly label: string
  readonly type: FieldType
  /** Only the options that the type declares. The target of a belongs_to is in `target`. */
  readonly options: object
  /** Whether it is the primary key, or a part of it. */
  readonly primaryKey: boolean
  /** Whether the server assigns the value, as for most primary keys. */
  readonly assigned: boolean
  readonly nullable: boolean
  /** Whether records can have a null: in views, and in tables of other programs, also where the file does not say so. */
  readonly mayBeNull: boolean
  readonly unique: boolean
  readonly default: DefaultSpec | undefined
  readonly auto: 'on_create' | 'on_update' | undefined
  /** In responses, never read from a body. True for primary keys that the server assigns and for `auto`. */
  readonly readOnly: boolean
  /** Read from a body, never in responses. */
  readonly writeOnly: boolean
  /** Whether a trigger fills the column, or PostgreSQL generates it; migrations know nothing of either. */
  readonly generated: boolean
  /** Neither in requests nor in responses. */
  readonly private: boolean
  /** Replaces the messages of all rules of the field. */
  readonly message: string | undefined
  /** Set for relations. */
  readonly target: RelationSpec | undefined
  /** Set for the member that has the values of a relation over several fields. It has no column of its own. */
  readonly joined?: Pick<ModelRelation, 'target' | 'parts'>
}

/** Whether responses include the field. */
export const isShown = (field: FieldSpec): boolean => !field.private && !field.writeOnly

/** Whether values of a key field may need escaping in a path. */
export function isEscaped({ type, options }: Pick<FieldSpec, 'type' | 'options'>): boolean {
  return type.escapes?.(options) ?? false
}

/** The records that a relation refers to. */
export interface TargetSpec {
  readonly model: string
  readonly table: string
  /** Whether the relation refers to the primary key of the other model, so that its value leads to the record. */
  readonly isKey: boolean
  /** Whether migrations make the other table, so that a foreign key can refer to it. */
  readonly managed: boolean
  readonly onDelete: 'restrict' | 'cascade' | 'set_null'
}

/** The target of a relation of one field. */
export interface RelationSpec extends TargetSpec {
  /** The field of the other model that the relation refers to. */
  readonly field: string
  /** The column of that field. */
  readonly column: string
}

/** A relation of a model, of one field or over several. */
export interface ModelRelation {
  readonly name: string
  readonly target: TargetSpec
  readonly parts: readonly RelationPart[]
  /** For a relation over several fields: the member of responses that has its values; undefined if a field of it is hidden. */
  readonly member: FieldSpec | undefined
}

/** A field of a relation, and the field of the other model that it refers to. */
export interface RelationPart {
  readonly field: FieldSpec
  readonly to: { readonly name: string; readonly column: string }
}

/** Whether a record may have no related record. */
export const isOptional = ({ parts }: Pick<ModelRelation, 'parts'>): boolean =>
  parts.some(({ field }) => field.nullable)

export const columnsOf = ({ parts }: Pick<ModelRelation, 'parts'>): readonly string[] =>
  parts.map(({ field }) => field.column)

/** The stored fields of responses, and their relations over several fields, in order. */
export const shownFields = ({ fields, relations }: Pick<ModelSpec, 'fields' | 'relations'>): readonly FieldSpec[] => [
  ...fields.filter(isShown),
  ...relations.flatMap(({ member }) => member ?? []),
]

export interface IndexSpec {
  readonly columns: readonly string[]
  readonly unique: boolean
  /** Replaces the default message for values that are taken. */
  readonly message?: string | undefined
  readonly method: IndexMethod
  /** The text columns that the index compares without case. */
  readonly ignoreCase: readonly string[]
  /** The conditions of the rows in the index; empty if it has all rows. */
  readonly where: readonly IndexCondition[]
}

/** A condition of a partial index, with the same meaning as a filter. */
export interface IndexCondition {
  readonly field: FieldSpec
  readonly lookup: Lookup
  readonly value: unknown
}

/** The kinds of indexes of PostgreSQL that a model can declare. */
export const INDEX_METHODS = ['btree', 'hash', 'gin', 'gist', 'brin'] as const
export type IndexMethod = (typeof INDEX_METHODS)[number]

/** Whether an index has every row, ordered by the values of its columns. */
export const isPlain = ({ method, ignoreCase, where }: IndexSpec): boolean =>
  method === 'btree' && ignoreCase.length === 0 && where.length === 0

export const OPERATIONS = ['list', 'create', 'retrieve', 'update', 'partial_update', 'destroy'] as const
export type Operation = (typeof OPERATIONS)[number]

/** The operations that return records and change nothing. */
export const READS = ['list', 'retrieve'] as const satisfies readonly Operation[]

/** Whether an operation returns records and changes nothing. */
export const isReading = (operation: Operation): boolean => (READS as readonly Operation[]).includes(operation)

/** The operations that one request can apply to several records. */
export const BULK_OPERATIONS = ['create', 'partial_update', 'destroy'] as const satisfies readonly Operation[]
export type BulkOperation = (typeof BULK_OPERATIONS)[number]

export interface OrderSpec extends Ordered {
  readonly field: FieldSpec
}

/** The member of responses that holds related records. */
export const EXPANDED = 'expanded'

/** A related record that a response can include, with the related records of its own. */
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
  /** The stored fields of responses, in order. */
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
   * Set in dialects, whose clients know a record by one `id`, if the key has several fields: the path of a record has them as one text, and `shown` says
   * whether each object starts with it.
   */
  readonly joinedId: { readonly shown: boolean } | undefined
  /** Relation fields shown as links: field name to route name. */
  readonly links: Readonly<Record<string, string>>
}

/** The member of records, and the path parameter, with a key of several fields as one text. */
export const JOINED_ID = 'id'

/** The members with the address of a record, which bodies ignore. */
export const addressMembers = ({ url, joinedId }: Pick<CoreSpec, 'url' | 'joinedId'>): readonly string[] => [
  ...(url ? ['url'] : []),
  ...(joinedId ? [JOINED_ID] : []),
]

/** How a dialect identifies the records of a model. */
export const joinedIdOf = (model: ModelSpec, dialect: Dialect | undefined): CoreSpec['joinedId'] =>
  dialect !== undefined && model.key.length > 1 ? { shown: true } : undefined

/** Grants to everybody, and to every caller who has signed in. All other grants are to roles. */
export const ANYONE = 'anyone'
export const SIGNED_IN = 'signed_in'

/** One line of `access`: who may do what to which records. */
export interface GrantSpec {
  /** `anyone`, `signed_in`, or a role. */
  readonly to: string
  /** Names of operations and actions. */
  readonly may: readonly string[]
  /** The condition on the stored record, or on the new record of a creation. Undefined for all records. */
  readonly rows: Rule | undefined
  /** The condition on a changed record. */
  readonly becomes: Rule | undefined
  /** The names of the fields that responses show, or that requests may send. */
  readonly fields: readonly string[]
  /** Values that the server sets instead of those that clients send. */
  readonly set: readonly { readonly field: FieldSpec; readonly value: RuleValue }[]
}

/** Conditions on a record: all conditions of at least one list must hold. */
export type Rule = readonly (readonly RuleCondition[])[]

export interface RuleCondition {
  /** The relations that lead to the record of the field; empty for the record itself. */
  readonly relations: readonly { readonly field: FieldSpec; readonly target: RelationSpec }[]
  readonly field: FieldSpec
  readonly lookup: Lookup
  readonly value: RuleValue
}

/** The right side of a condition. */
export type RuleValue =
  | { readonly literal: unknown }
  | { readonly subject: true }
  /** The name of a claim of the caller. */
  | { readonly claim: string }
  /** The key of the record that stands for the caller. */
  | { readonly user: UserSpec }
  /** The values of a field in the records that belong to the caller. */
  | { readonly set: SetSpec }

/** `auth.user`: the record that stands for the caller. */
export interface UserSpec {
  readonly model: ModelSpec
  readonly key: FieldSpec
  /** The field with the subject. */
  readonly match: FieldSpec
}

/** One of `auth.sets`. */
export interface SetSpec {
  readonly name: string
  readonly model: ModelSpec
  readonly field: FieldSpec
  readonly rows: Rule
}
