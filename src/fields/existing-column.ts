import type { Json } from '../json.js'

/** A column that exists, as the catalogue of PostgreSQL describes it. */
export interface ExistingColumn {
  /** With its sizes: `character varying(100)`. */
  readonly type: string
  /** Null if it is the default of the type. */
  readonly collation: string | null
  /** The values of an enum, in order, also of the items of an array; null for all other types. */
  readonly labels: readonly string[] | null
}

/** The ways in which the database fills a column that exists. */
export interface FilledColumn {
  /** The SQL of its default; null if it has none. */
  readonly default: string | null
  /** When its counter gives the value; null if it has none. */
  readonly identity: string | null
}

/** Restrictions on the values of a column, as options of a field. Numbers are texts, so that no digit is lost. */
export interface Limits {
  readonly minimum?: string
  readonly maximum?: string
  /** Bounds of the length of a text. */
  readonly min?: number
  readonly max?: number
  readonly choices?: readonly string[]
}

/**
 * How constants in checks compare with the values of a column: as texts, of which the type of the column may bound the length, as bytes, as lists, or as
 * numbers with a fixed number of decimals, or with any, or as floating-point numbers when that number is undefined.
 */
export type Comparison =
  | { readonly as: 'text'; readonly room: number | undefined }
  | { readonly as: 'bytes' | 'list' }
  | { readonly as: 'number'; readonly decimals: number | 'any' | undefined }

/** How a field of one type describes a column that exists. */
export interface ColumnForm {
  /** The limits that the type of the column has and the type of the field does not have: those of `smallint`. */
  readonly limits?: Limits
  /** The numbers that fit in the column, if a counter can fill it. */
  readonly counts?: { readonly minimum: bigint; readonly maximum: bigint }
  /** Left out where no check is read. */
  readonly comparison?: Comparison
  /** The limits that options of the field can express. */
  readonly expresses: readonly (keyof Limits)[]
  /** The options of the field; undefined when the field needs a limit that the column does not have. */
  options(limits: Limits): Readonly<Record<string, Json>> | undefined
  /** The effect of a default that calls a function, where programs differ. */
  readonly callRemark?: string
  /** The JSON form of a default, which is the same for all spellings of one value; undefined when a file cannot contain it. */
  literal?(text: string): Json | undefined
}
