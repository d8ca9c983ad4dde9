export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A value with its JSON, which can have more digits. */
export interface Literal {
  readonly value: Json
  readonly source: string
}

export type JsonSchema = { readonly [keyword: string]: unknown }

/** Names that no member of an object may have, because JavaScript gives them another meaning. */
export const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
