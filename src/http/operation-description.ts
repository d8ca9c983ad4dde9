import type { Json, JsonSchema } from '../foundation/json.js'

/** Describes a query parameter or a header, for documents. */
export interface ValueDescription {
  readonly description: string
  readonly schema: JsonSchema
  /** Whether it is always present. */
  readonly required?: boolean
}

/** Describes the responses with one status. */
export interface ResponseDescription {
  readonly description: string
  /** The schema of the body. By default, a success has no body and an error is a problem document. */
  readonly schema?: JsonSchema
  readonly example?: Json
  readonly headers?: Readonly<Record<string, ValueDescription>>
}

/**
 * Describes a hand-written route in the OpenAPI document. Schemas are JSON Schema 2020-12 and may refer to those of resources: `{ $ref:
 * '#/components/schemas/BookCreate' }`.
 */
export interface OperationDescription {
  /** A few words, with no full stop. */
  readonly summary: string
  readonly description?: string
  /** The tag that the route is listed under; the default is the first plain segment of its path. */
  readonly tag?: string
  /** The path parameters by name; the default is text. */
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
