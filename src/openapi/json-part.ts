/** A part of an OpenAPI document: a JSON object. */
export type JsonPart = Readonly<Record<string, unknown>>

/** A reference to a component: `reference('schemas', 'Book')`. */
export function reference(kind: 'schemas' | 'responses' | 'headers', name: string): JsonPart {
  return { $ref: `#/components/${kind}/${name}` }
}
