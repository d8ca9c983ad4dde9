import { collationOf } from '../fields/compared-column.js'
import type { FieldType } from '../fields/field-type.js'
import type { Json } from '../foundation/json.js'
import type { Lookup } from '../lookups/lookup.js'

export interface ModelSpec {
  readonly name: string
  /** In the canonical spelling, as `readTableName` reads it. */
  readonly table: string
  /** Whether migrations create the table. Unmanaged tables, and views, are only used. */
  readonly managed: boolean
  /** The query of a view that migrations create. */
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

/**
 * Whether records are rows of a table that migrations create, whose keys the database keeps unique and not null. Tables of other programs may be views or
 * have inheriting tables: a key can occur twice, or be null.
 */
export function isOwnTable({ managed, view }: Pick<ModelSpec, 'managed' | 'view'>): boolean {
  return managed && view === undefined
}

/** Whether another program makes the table or view. */
export function isUnmanaged({ managed, view }: Pick<ModelSpec, 'managed' | 'view'>): boolean {
  return !managed && view === undefined
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
  /** Whether migrations create the column. Columns of unmanaged tables may have another type that the field can serve. */
  readonly managed: boolean
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
export function isShown(field: FieldSpec): boolean {
  return !field.private && !field.writeOnly
}

/** Whether clients may write the field. */
export function isWritable(field: FieldSpec): boolean {
  return !field.readOnly && !field.private
}

/** Whether two fields compare values in the same way, so that a condition gives the same result for a value in either field. */
export function comparesAlike(one: FieldSpec, other: FieldSpec): boolean {
  const isNumber = ({ type }: FieldSpec) => type.comparesAs === 'number' || type.comparesAs === 'key'
  return collationOf(one) === collationOf(other) && (one.type === other.type || (isNumber(one) && isNumber(other)))
}

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
  /** Whether migrations create the other table, so that a foreign key can refer to it. */
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
export function isOptional({ parts }: Pick<ModelRelation, 'parts'>): boolean {
  return parts.some(({ field }) => field.nullable)
}

export function columnsOf({ parts }: Pick<ModelRelation, 'parts'>): readonly string[] {
  return parts.map(({ field }) => field.column)
}

/** The stored fields of responses, and their relations over several fields, in order. */
export function shownFields({ fields, relations }: Pick<ModelSpec, 'fields' | 'relations'>): readonly FieldSpec[] {
  return [...fields.filter(isShown), ...relations.flatMap(({ member }) => member ?? [])]
}

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

/** The maximum number of conditions of an index. */
export const MAX_CONDITIONS = 10

/** Whether an index has every row, ordered by the values of its columns. */
export function isPlain({ method, ignoreCase, where }: IndexSpec): boolean {
  return method === 'btree' && ignoreCase.length === 0 && where.length === 0
}
