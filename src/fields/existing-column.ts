import type { Json } from '../foundation/json.js'

/** An existing column, as described by PostgreSQL's catalogue. */
export interface ExistingColumn {
  /** With its sizes: `character varying(100)`. */
  readonly type: string
  /** Null for the type's default collation. */
  readonly collation: string | null
  /** The values of an enum, or of an enum that is the item type of an array, in order; null for all other types. */
  readonly labels: readonly string[] | null
}

/** How the database fills an existing column. */
export interface FilledColumn {
  /** The SQL of its default; null if it has none. */
  readonly default: string | null
  /** When its sequence sets the value; null if it is not an identity column. */
  readonly identity: string | null
}

/** Restrictions on the values of a column, as options of a field. Numbers are texts, so that no digit is lost. */
export interface Limits {
  readonly minimum?: string
  readonly maximum?: string
  /** Bounds on the length of a text. */
  readonly min?: number
  readonly max?: number
  readonly choices?: readonly string[]
}

/**
 * How constants in checks compare with the values of a column: as texts, whose length the type of the column may bound, as bytes, as lists, as JSON, or as
 * numbers with a fixed number of decimals, or with any number of decimals, or (if that number is undefined) as floating-point numbers.
 */
export type Comparison =
  | { readonly as: 'text'; readonly room: number | undefined }
  | { readonly as: 'bytes' | 'list' | 'json' }
  | { readonly as: 'number'; readonly decimals: number | 'any' | undefined }

const KEEPING = {
  text: ['text', 'character varying'],
  bytes: [],
  list: ['text[]'],
  json: ['text'],
  integers: ['integer', 'bigint', 'numeric'],
  decimals: ['numeric'],
  floats: ['double precision'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Whether a cast of the column to a type keeps each value and the order of values, so that a check can be read without it. */
export function keepsValues(comparison: Comparison, type: string): boolean {
  const types: readonly string[] = KEEPING[comparison.as === 'number' ? numbersOf(comparison.decimals) : comparison.as]
  return types.includes(type)
}

function numbersOf(decimals: number | 'any' | undefined): 'integers' | 'decimals' | 'floats' {
  if (decimals === undefined) return 'floats'
  return decimals === 0 ? 'integers' : 'decimals'
}

/** How a field of one type describes an existing column. */
export interface ColumnForm {
  /** The limits that the type of the column has but the type of the field does not, such as those of `smallint`. */
  readonly limits?: Limits
  /** The range of the type, if a sequence can fill the column. */
  readonly sequenceRange?: { readonly minimum: bigint; readonly maximum: bigint }
  /** Left out if no check is read. */
  readonly comparison?: Comparison
  /** The limits that options of the field can express. */
  readonly expresses: readonly (keyof Limits)[]
  /** The options of the field; undefined if the field needs a limit that the column lacks. */
  options(limits: Limits): Readonly<Record<string, Json>> | undefined
  /** The effect of a default that calls a function, where programs differ. */
  readonly callRemark?: string
  /** The JSON form of a default, which is the same for all spellings of a value; undefined if a file cannot contain it. */
  literal?(text: string): Json | undefined
}
