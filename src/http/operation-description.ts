import type { Json, JsonSchema } from '../json.js'

/** A query parameter or a header, as documents describe it. */
export interface ValueDescription {
  readonly description: string
  readonly schema: JsonSchema
  /** Whether it is always there. */
  readonly required?: boolean
}

/** What one status means. */
export interface ResponseDescription {
  readonly description: string
  /** What the body holds. Left out, an answer has none, and a refusal is a problem document. */
  readonly schema?: JsonSchema
  readonly example?: Json
  readonly headers?: Readonly<Record<string, ValueDescription>>
}

/**
 * What a hand-written route tells its clients: it stands beside the route and is part of the OpenAPI document. Schemas are
 * JSON Schema 2020-12, and may refer to those of resources: `{ $ref: '#/components/schemas/BookCreate' }`.
 */
export interface OperationDescription {
  /** A few words, with no full stop. */
  readonly summary: string
  readonly description?: string
  /** What the route is listed under; the first plain segment of its path when left out. */
  readonly tag?: string
  /** The parameters of the path, by name; text when left out. */
  readonly params?: Readonly<Record<string, ValueDescription>>
  readonly query?: Readonly<Record<string, ValueDescription>>
  /** Of the request. */
  readonly headers?: Readonly<Record<string, ValueDescription>>
  readonly body?: {
    readonly schema: JsonSchema
    readonly example?: Json
    /** `application/json` when left out. */
    readonly mediaTypes?: readonly string[]
  }
  /** By status. */
  readonly responses: Readonly<Record<number, ResponseDescription>>
}
