import type { Json, JsonSchema } from '../foundation/json.js'
import type { ColumnForm, ExistingColumn, FilledColumn } from './existing-column.js'

/** The ways in which the server assigns the values of a primary key. */
export type AssignedKey = 'identity' | 'uuid'
/** The source of a primary key's values: `key` in resources.yaml. */
export type KeySource = AssignedKey | 'client'

/** How values of a type can be compared. Each lookup needs one of these; every type can be compared with null. */
export type ComparisonKind = 'equality' | 'membership' | 'order' | 'text' | 'items'

/** How the texts of two values compare: as numbers, by code point, as true and false, or as the keys of records, which are numbers or texts. */
export type TextOrder = 'number' | 'text' | 'boolean' | 'key'

/**
 * One rule of a field: its JSON Schema, its database constraint, and its message for clients.
 * `message` follows the field's label: `must be between 1 and 100 characters`. A rule owns the keywords of its `schema`:
 * no two rules of a field share a keyword, so a failing keyword identifies its rule.
 */
export interface Rule {
  readonly name: string
  readonly schema: JsonSchema
  /** The schema for documents, if the rule is validated by `admits`, beyond `schema`. */
  readonly described?: JsonSchema
  readonly message: string
  /** The CHECK expression for a column (already quoted); left out if the column's type enforces the rule. */
  readonly check?: (column: string) => string
}

/** An option that cannot have its value. */
export interface Conflict {
  readonly option: string
  /** The option that contradicts it; undefined if the value itself is invalid. */
  readonly other?: string
  readonly message: string
}

/** The conflict of an option that is more than the one that bounds it. */
export function exceeds(option: string, value: unknown, other: string, bound: unknown): Conflict {
  return { option, other, message: `\`${option}\` is ${value}, which is more than \`${other}\`, ${bound}` }
}

/** One value of a type in each of its forms: in a JSON body, as a query parameter, as a JavaScript value. */
export interface Example<Value> {
  readonly json: Json
  /** The exact JSON text to send, if `JSON.stringify(json)` would lose digits or differ. */
  readonly source?: string
  /** The JSON value in responses, if the canonical form differs from the sent one. */
  readonly wire?: Json
  readonly text: string
  readonly value: Value
  /** The options that the example needs, if the type has required ones. */
  readonly options?: Readonly<Record<string, Json>>
}

/**
 * A kind of field, one object in one file: everything that differs between `string` and `timestamp`.
 * `Value` is the type that handlers see. On the way to and from the database every value is in PostgreSQL's text form.
 */
export interface FieldType<Value = unknown, Options extends object = object> {
  /** The name after `type:` in resources.yaml. */
  readonly name: string
  /** Its names in other tools; the help for an unknown type uses them to suggest this one. */
  readonly synonyms?: readonly string[]
  /** One sentence for the reference and the editor. */
  readonly summary: string
  /** The options of this type beyond those that every field has, each with the JSON Schema of its value in YAML. */
  readonly options: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  /** Options that must be given together or not at all. */
  readonly together?: readonly string[]
  /** The keywords for documents beyond the rules, such as the size of a number. */
  documented?(options: Options): JsonSchema
  /** The nearest keywords for documents, for rules that JSON Schema cannot express: they replace keywords of the rules. */
  documentedRules?(options: Options): JsonSchema
  /** Whether requests can never set it. */
  readonly readOnly?: boolean
  /** The TypeScript type of `Value`. */
  readonly typescript: string
  /** The TypeScript type for a field whose options make it more specific. */
  typescriptOf?(options: Options): string
  readonly comparisons: readonly ComparisonKind[]
  /** How values compare in memory, for the evaluation of access rules without the database. Left out if only the database can tell. */
  readonly comparesAs?: TextOrder
  /** The input type in HTML forms; left out for a plain text input. */
  readonly input?: string
  readonly orderable: boolean
  /** Whether the type can be a primary key or a part of one: each value has one canonical text form. See also `hasManySpellings`. */
  readonly key: boolean
  /** Whether a default can be an object, without the key `function`, which calls one. Left out if no value is an object. */
  readonly objects?: true
  /** Whether two values are equal although the texts that are sent to PostgreSQL differ. Left out if only PostgreSQL can tell. */
  areEqual?(one: string, other: string): boolean
  /** Whether equal values of a field can have several text forms, so that it cannot be a key. Left out if none can. */
  hasManySpellings?(options: Options): boolean
  /** Whether values of a key need escaping in a path. Left out if none does. */
  escapes?(options: Options): boolean
  readonly examples: readonly Example<Value>[]
  /** The examples of a field, if they depend on its options. */
  examplesOf?(options: Options): readonly Example<unknown>[]
  /** Two short values as text, which serve as examples of most fields. Left out if values have a format, as dates do. */
  readonly plainTexts?: readonly string[]
  /** The number of possible values; left out if there are many. */
  values?(options: Options): number
  /** The texts that a value can be, if they are listed. */
  choices?(options: Options): readonly string[]
  /** The types that the option `items` can name, if this is a type of lists. */
  readonly itemTypes?: readonly FieldType[]
  /** The type of the items, if this is a type of lists. */
  items?(options: Options): Typed
  /** The PostgreSQL type of the column, including its collation. */
  column(options: Options): string
  /**
   * How a field of this type describes an existing column; undefined if it cannot. Left out if a column does not reveal the
   * type, as for email addresses.
   */
  fromColumn?(column: ExistingColumn): ColumnForm | undefined
  /** Whether an existing column of another type than `column` can hold the values. Left out if none can. */
  serves?(column: ExistingColumn, options: Options): boolean
  /** Values with which plans are tested, as text, and the columns that accept them. Left out if another type has them. */
  readonly samples?: { readonly columns: RegExp; readonly texts: readonly string[] }
  /** The functions that `default:` can call, and the SQL of each. */
  readonly functions?: Readonly<Partial<Record<'now' | 'uuid', string>>>
  /** How the server can assign the values of a primary key: the value of `key:` in resources.yaml, and the SQL after the column's type. */
  readonly assigned?: {
    readonly key: AssignedKey
    readonly sql: string
    /** Whether an existing column is filled in this way. */
    fills(column: FilledColumn): boolean
  }
  /** In order; the first rule is the type itself (`must be a string`). */
  rules(options: Options): readonly Rule[]
  /**
   * Returns the name of the rule that a JSON value violates although it satisfies every `schema`, because JSON Schema sees a
   * rounded number or cannot express the rule; undefined if it violates none. Called only after the schemas pass, and never for null.
   */
  admits?(json: Json, source: string, options: Options): string | undefined
  /** The same for a value that is stored as it is: the database checks one that `patch` changes. */
  admitsWhole?(json: Json, source: string, options: Options): string | undefined
  /** Returns the options that contradict each other, as messages with the option to report; empty if none do. */
  conflicts?(options: Options): readonly Conflict[]
  /** The length of the longest JSON text of a valid value, in bytes; undefined if unbounded. Body limits are computed from it. */
  maxBytes(options: Options): number | undefined
  /** The length of the longest text form of a value, in characters; undefined if unbounded. Cursors are bounded by it. */
  longest(options: Options): number | undefined
  /** Whether a value may be of a composite type. For PostgreSQL, a row of nulls `is null`. */
  readonly mayBeComposite?: true
  /** The SQL expression whose JSON form (by row_to_json) is the wire form; the column (already quoted) if left out. */
  select?(column: string, options: Options): string
  /** Parses PostgreSQL's text form of a value. */
  read(text: string, options: Options): Value
  /** Parses a query parameter or path segment; undefined if it is not a value of this type. */
  parse(text: string, options: Options): Value | undefined
  /** Does the same in a cursor, which can also have values that only other programs store; `parse` if left out. */
  parseStored?(text: string, options: Options): Value | undefined
  /** Converts a JSON value that satisfies the rules; `source` is its exact JSON text. */
  fromJson(json: Json, source: string, options: Options): Value
  /** The change of a stored value that a JSON value means in an update; undefined if it replaces the value. */
  patch?(json: Json, source: string, options: Options): Value | undefined
  /** The SQL of a value for comparisons that tell apart values that PostgreSQL calls equal; its text if left out. */
  exact?(value: string): string
  /** Returns the SQL condition that a stored value that is not null is read as null. */
  isReadAsNull?(column: string): string
  /** Returns PostgreSQL's text form of a value. */
  write(value: Value, options: Options): string
  /** Returns PostgreSQL's own spelling of a value, as its messages have it; the result of `write` if left out. */
  print?(value: Value, options: Options): string
  /** Returns the text that `parse` reads as this value; the result of `write` if left out. */
  format?(value: Value, options: Options): string
}

/** Whether a field of a type can be a primary key or a part of one. */
export function canBeKey(type: FieldType, options: object): boolean {
  return type.key && type.hasManySpellings?.(options) !== true
}

/** A field type, with the options of one field. */
export interface Typed {
  readonly type: FieldType
  readonly options: object
  /** False if the column may have another type that the field can serve, such as an enum for a text. */
  readonly managed?: boolean
}
