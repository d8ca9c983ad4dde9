import type { Json, JsonSchema } from '../json.js'
import type { ColumnForm, ExistingColumn, FilledColumn } from './existing-column.js'

/** The ways in which the server assigns the values of a primary key. */
export type AssignedKey = 'identity' | 'uuid'
/** The source of a primary key's values: `key` in resources.yaml. */
export type KeySource = AssignedKey | 'client'

/** How values of a type can be compared. Lookups say which of these they need; every type can be compared with null. */
export type ComparisonKind = 'equality' | 'membership' | 'order' | 'text' | 'items'

/**
 * One rule of a field: what JSON Schema says of it, what the database enforces, and what the client reads.
 * `message` follows the field's label: `must be between 1 and 100 characters`. A rule owns the keywords of its `schema`:
 * no two rules of a field share one, so a failing keyword leads back to its rule.
 */
export interface Rule {
  readonly name: string
  readonly schema: JsonSchema
  /** What documents for clients say of a rule that is validated by `admits`, beyond `schema`. */
  readonly described?: JsonSchema
  readonly message: string
  /** The CHECK expression for a column (already quoted); left out where the column's type enforces the rule by itself. */
  readonly check?: (column: string) => string
}

/** One value of a type in each of its forms: in a JSON body, as a query parameter, as a JavaScript value. */
export interface Example<Value> {
  readonly json: Json
  /** The exact JSON text that is sent, where `JSON.stringify(json)` would lose digits or say something else. */
  readonly source?: string
  /** The JSON value of the answer, where the canonical form differs from what was sent. */
  readonly wire?: Json
  readonly text: string
  readonly value: Value
  /** Options the example needs, when the type has required ones. */
  readonly options?: Readonly<Record<string, Json>>
}

/**
 * A kind of field, one object in one file: everything that differs between `string` and `timestamp` stands here.
 * `Value` is what handlers see. On the way to and from the database every value is PostgreSQL's text form.
 */
export interface FieldType<Value = unknown, Options extends object = object> {
  /** What stands after `type:` in resources.yaml. */
  readonly name: string
  /** Its names in other tools; the help for an unknown type suggests it. */
  readonly synonyms?: readonly string[]
  /** One sentence for the reference and the editor. */
  readonly summary: string
  /** The options of this type beyond those every field has, each as the JSON Schema of its value in YAML. */
  readonly options: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  /** Options of which a field has all or none. */
  readonly together?: readonly string[]
  /** What documents for clients say beyond the rules: how many bits a number has. */
  documented?(options: Options): JsonSchema
  /** What documents say of rules that JSON Schema has no word for, as near as it gets: it takes the place of keywords of the rules. */
  documentedRules?(options: Options): JsonSchema
  /** Whether requests can never set it. */
  readonly readOnly?: boolean
  /** How `Value` is spelled in generated TypeScript. */
  readonly typescript: string
  /** The same of a field, where its options say more. */
  typescriptOf?(options: Options): string
  readonly comparisons: readonly ComparisonKind[]
  /** The type of input in HTML forms; a plain text input when left out. */
  readonly input?: string
  readonly orderable: boolean
  /** Whether the type can be a primary key or a part of one: each value has one canonical text form. See also `hasManySpellings`. */
  readonly key: boolean
  /** Whether equal values of a field can have several text forms, so that it cannot be a key. Left out where none can. */
  hasManySpellings?(options: Options): boolean
  /** Whether texts of a key need escaping in a path. Left out where none does. */
  escapes?(options: Options): boolean
  readonly examples: readonly Example<Value>[]
  /** The examples of a field, where its options decide on them. */
  examplesOf?(options: Options): readonly Example<unknown>[]
  /** How many values there are; left out where they are many. */
  values?(options: Options): number
  /** The texts that a value can be, where they are listed. */
  choices?(options: Options): readonly string[]
  /** The types that the option `items` can name, for a type of lists. */
  readonly itemTypes?: readonly FieldType[]
  /** The type of the items, for a type of lists. */
  items?(options: Options): Typed
  /** The PostgreSQL type of the column, collation included. */
  column(options: Options): string
  /**
   * The other direction: how a field of this type describes a column that exists; undefined when it cannot. Left out where a column does
   * not show the type: nothing tells that of an email address from others.
   */
  fromColumn?(column: ExistingColumn): ColumnForm | undefined
  /** Whether an existing column of another type than `column` can hold the values. Left out where none can. */
  serves?(column: ExistingColumn, options: Options): boolean
  /** Values by which plans are tried, as text, and the columns that take them. Left out where another type has them. */
  readonly samples?: { readonly columns: RegExp; readonly texts: readonly string[] }
  /** The functions that `default:` can call, each in SQL. */
  readonly functions?: Readonly<Partial<Record<'now' | 'uuid', string>>>
  /** How the server assigns the values of a primary key: `key:` in resources.yaml, and the SQL after the type of the column. */
  readonly assigned?: {
    readonly key: AssignedKey
    readonly sql: string
    /** Whether an existing column is filled in this way. */
    fills(column: FilledColumn): boolean
  }
  /** In order; the first is the type itself (`must be a string`). */
  rules(options: Options): readonly Rule[]
  /**
   * The name of the rule that a JSON value breaks although it satisfies every `schema`, because JSON Schema sees a rounded
   * number or cannot say the rule; undefined when it breaks none. Asked only after the schemas pass, and never for null.
   */
  admits?(json: Json, source: string, options: Options): string | undefined
  /** The options that contradict each other, as sentences with the option to blame; empty when none do. */
  conflicts?(options: Options): readonly { readonly option: string; readonly message: string }[]
  /** Longest JSON text of a valid value, in bytes; undefined when nothing bounds it. Used to compute body limits. */
  maxBytes(options: Options): number | undefined
  /** Longest text form of a value, in characters; undefined when nothing bounds it. Used to bound cursors. */
  longest(options: Options): number | undefined
  /** The SQL expression whose JSON form (by row_to_json) is the wire form; the column (already quoted) when left out. */
  select?(column: string, options: Options): string
  /** A value from PostgreSQL's text form of `select`. */
  read(text: string, options: Options): Value
  /** A value from the text of a query parameter or path segment; undefined when the text is no value of this type. */
  parse(text: string, options: Options): Value | undefined
  /** A value from a JSON value that satisfies the rules; `source` is its exact JSON text. */
  fromJson(json: Json, source: string, options: Options): Value
  /** The change of a stored value that a JSON value means in a body which changes a record; undefined when it replaces it. */
  patch?(json: Json, source: string, options: Options): Value | undefined
  /** PostgreSQL's text form. */
  write(value: Value, options: Options): string
  /** The text that `parse` reads as this value; that of `write` when left out. */
  spell?(value: Value, options: Options): string
}

/** Whether a field of a type can be a primary key or a part of one. */
export const canBeKey = (type: FieldType, options: object): boolean =>
  type.key && type.hasManySpellings?.(options) !== true

/** A field type, with the options of one field. */
export interface Typed {
  readonly type: FieldType
  readonly options: object
}
