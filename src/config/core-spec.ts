import type { Dialect } from '../dialects/dialect.js'
import type { FieldType } from '../fields/field-type.js'
import type { Json } from '../json.js'
import type { Lookup } from '../lookups/lookup.js'
import type { Ordered } from '../pagination/paginator.js'

export interface ModelSpec {
  readonly name: string
  /** As `readTableName` reads it; in canonical spelling. */
  readonly table: string
  /** Whether migrations make the table. That of others, or a view, is only used. */
  readonly managed: boolean
  /** The query of a view that migrations make. */
  readonly view: string | undefined
  /** What the table was called before. */
  readonly renamedFrom: string | undefined
  /** Fields that the model had, and whose values may go. */
  readonly dropped: readonly string[]
  /** In YAML order. */
  readonly fields: readonly FieldSpec[]
  /** The fields of the primary key, in its order; empty if records have none. */
  readonly key: readonly FieldSpec[]
  /** Those of its fields, and those over several fields. */
  readonly relations: readonly ModelRelation[]
  readonly indexes: readonly IndexSpec[]
  /** What clients read when a constraint refuses a change, by its name in the database. */
  readonly messages: Readonly<Record<string, string>>
}

/** The field that is the whole primary key of a model; undefined if several are, or none is. */
export function loneKey({ key: [first, ...others] }: Pick<ModelSpec, 'key'>): FieldSpec | undefined {
  return others.length === 0 ? first : undefined
}

/** `default:` of a field: a literal in its JSON form, or one of a fixed set of functions. */
export type DefaultSpec = { readonly literal: Json } | { readonly call: 'now' | 'uuid' | 'database' }

export interface FieldSpec {
  readonly name: string
  /** By default the field's name, but `<name>_id` for a relation. */
  readonly column: string
  /** What the field was called before. */
  readonly renamedFrom: string | undefined
  readonly label: string
  readonly type: FieldType
  /** Only the options that the type declares. For belongs_to the target is in `target`. */
  readonly options: object
  /** Whether it is the primary key, or a part of it. */
  readonly primaryKey: boolean
  /** Whether the server assigns the value, as that of most primary keys. */
  readonly assigned: boolean
  readonly nullable: boolean
  readonly unique: boolean
  readonly default: DefaultSpec | undefined
  readonly auto: 'on_create' | 'on_update' | undefined
  /** In answers, never taken from a body. True for primary keys that the server assigns and for `auto`. */
  readonly readOnly: boolean
  /** Taken from a body, never in answers. */
  readonly writeOnly: boolean
  /** Whether the database fills the column, in a way that migrations know nothing of: by a trigger, or as a generated column. */
  readonly generated: boolean
  /** Neither: storage only. */
  readonly private: boolean
  /** Replaces the message of every broken rule. */
  readonly message: string | undefined
  /** Of a relation. */
  readonly target: RelationSpec | undefined
  /** Of the member of records that a relation over several fields is. It has no column of its own. */
  readonly joined?: Pick<ModelRelation, 'target' | 'parts'>
}

/** Whether answers show the field. */
export const isShown = (field: FieldSpec): boolean => !field.private && !field.writeOnly

/** Whether texts of a key's field may need escaping in a path. */
export function isEscaped({ type, options }: Pick<FieldSpec, 'type' | 'options'>): boolean {
  return type.escapes?.(options) ?? false
}

/** The records that a relation refers to. */
export interface TargetSpec {
  readonly model: string
  readonly table: string
  /** Whether the relation has the primary key of the other model, so that its value leads to the record. */
  readonly isKey: boolean
  /** Whether migrations make the other table, so that a foreign key can refer to it. */
  readonly managed: boolean
  readonly onDelete: 'restrict' | 'cascade' | 'set_null'
}

/** The target of a relation of one field. */
export interface RelationSpec extends TargetSpec {
  /** The field of the other model whose values the relation has. */
  readonly field: string
  /** The column of that field. */
  readonly column: string
}

/** A relation of a model, of one field or over several. */
export interface ModelRelation {
  readonly name: string
  readonly target: TargetSpec
  readonly parts: readonly RelationPart[]
  /** Over several fields: the member of records that has their values; undefined if responses do not include one of them. */
  readonly member: FieldSpec | undefined
}

/** A field of a relation, and what it refers to in the other model. */
export interface RelationPart {
  readonly field: FieldSpec
  readonly to: { readonly name: string; readonly column: string }
}

/** Whether a record may refer to none. */
export const isOptional = ({ parts }: Pick<ModelRelation, 'parts'>): boolean =>
  parts.some(({ field }) => field.nullable)

/** The columns of a relation. */
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
  /** What clients read when the values are taken, in place of the usual words. */
  readonly message?: string | undefined
  readonly method: IndexMethod
  /** The columns of texts that it compares without case. */
  readonly ignoreCase: readonly string[]
  /** The conditions of the rows that it has; none if it has all rows. */
  readonly where: readonly IndexCondition[]
}

/** A condition of a partial index, as a filter makes it. */
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

/** What answers records as they are, and changes nothing. */
export const READS = ['list', 'retrieve'] as const satisfies readonly Operation[]

/** Whether an operation answers records as they are, and changes nothing. */
export const isReading = (operation: Operation): boolean => (READS as readonly Operation[]).includes(operation)

/** The operations that can be done to several records with one request. */
export const BULK_OPERATIONS = ['create', 'partial_update', 'destroy'] as const satisfies readonly Operation[]
export type BulkOperation = (typeof BULK_OPERATIONS)[number]

export interface OrderSpec extends Ordered {
  readonly field: FieldSpec
}

/** The member of answers that holds related records. */
export const EXPANDED = 'expanded'

/** A related record that an answer can hold, and those that this one can hold. */
export interface ExpansionSpec {
  /** As clients name it: the fields that lead to it, between dots. */
  readonly path: string
  /** The last of them, of the model that refers to the record. */
  readonly relation: ModelRelation
  /** As what the record is shown. */
  readonly resource: string
  readonly model: ModelSpec
  /** What is shown of it, in order. */
  readonly fields: readonly FieldSpec[]
  /** The records that the caller may see; undefined for all. */
  readonly rows?: Rule | undefined
  /** Whether what is shown depends on the caller. */
  readonly varies: boolean
  /** As of the resource. */
  readonly url: boolean
  readonly links: Readonly<Record<string, string>>
  readonly expand: readonly ExpansionSpec[]
}

/** A field of answers that is stored nowhere. */
export interface ComputedSpec {
  readonly field: FieldSpec
  /** The stored fields that it is made of, hidden ones perhaps. */
  readonly from: readonly FieldSpec[]
}

/** What every resource says of itself; the features add what they make of their keys. */
export interface CoreSpec {
  readonly name: string
  /** The name of the resource that this one is at a mount; undefined for one of the file. */
  readonly mounted: string | undefined
  readonly model: ModelSpec
  /** The stored fields of answers, in order. */
  readonly shown: readonly FieldSpec[]
  /** The most bytes that a body may have. */
  readonly maxBody: number
  /** With the API prefix; starts and ends with a slash. */
  readonly path: string
  readonly operations: readonly Operation[]
  readonly unknownQuery: 'refuse' | 'ignore'
  /** undefined: lists are what `pagination` says. */
  readonly dialect: Dialect | undefined
  /** Whether each object starts with its own `url`. */
  readonly url: boolean
  /** Relation fields shown as links: field name to route name. */
  readonly links: Readonly<Record<string, string>>
}

/** A grant to everybody, and one to whoever has signed in. All others are to roles. */
export const ANYONE = 'anyone'
export const SIGNED_IN = 'signed_in'

/** One line of `access`: who may do what to which records. */
export interface GrantSpec {
  /** `anyone`, `signed_in`, or a role. */
  readonly to: string
  /** Names of operations and actions. */
  readonly may: readonly string[]
  /** The records, as they are stored; of those to create, the new ones. Undefined for all. */
  readonly rows: Rule | undefined
  /** What a changed record may become. */
  readonly becomes: Rule | undefined
  /** The names of fields that it shows, or that may be sent. */
  readonly fields: readonly string[]
  /** Values that the server sets, in place of what clients send. */
  readonly set: readonly { readonly field: FieldSpec; readonly value: RuleValue }[]
}

/** Conditions on a record: at least one list of them holds as a whole. */
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
  /** The subject of the caller. */
  | { readonly subject: true }
  /** The name of a claim of the caller. */
  | { readonly claim: string }
  /** The key of the record that stands for the caller. */
  | { readonly user: UserSpec }
  /** Values of a field, in the records that belong to the caller. */
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
