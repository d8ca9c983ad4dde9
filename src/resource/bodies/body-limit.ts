import type { Rejection } from '../../config/parse/rejection.js'
import { type AppSpec, type FieldSpec, isWritable } from '../../config/spec.js'

const ENVELOPE_BYTES = 4096
const MIN_LIMIT = 1024 * 1024

/**
 * Returns the bytes of the longest valid body for this many records, with every field at its maximum and every character escaped: at least 1 MiB, and
 * at most `most`. Unbounded fields are not counted.
 */
export function bodyLimit(fields: readonly FieldSpec[], most: number, records = 1): number {
  return Math.min(most, Math.max(MIN_LIMIT, records * longestRecord(fields)))
}

function longestRecord(fields: readonly FieldSpec[]): number {
  const bytes = fields.filter(isWritable).map((field) => field.type.maxBytes(field.options) ?? 0)
  return bytes.reduce((sum, each) => sum + each, ENVELOPE_BYTES)
}

/** Reports resources whose records may be too long for any body. */
export function checkBodyLimits({ api: { maxBody }, resources }: AppSpec): readonly Rejection[] {
  return resources.flatMap(({ name, operations, model }): readonly Rejection[] => {
    const bytes = longestRecord(model.fields)
    const isWritten = operations.some((operation) => operation !== 'list' && operation !== 'retrieve')
    if (!isWritten || bytes <= maxBody) return []
    const message = `a valid record of \`${name}\` can take ${bytes} bytes, and a body is at most ${maxBody} (\`api.max_body\`)`
    const help = [`raise \`api.max_body\`, or lower \`max\` of its texts; longer bodies are rejected with 413`]
    return [{ code: 'SC406', path: ['resources', name], part: 'key', message, help }]
  })
}
