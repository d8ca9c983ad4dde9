import { randomUUID } from 'node:crypto'
import { doc, oneOfNames } from '../config/schema/parts.js'
import type { Feature, HeaderDescription } from './feature.js'

export interface IdempotencySpec {
  /** The handling of requests with an `Idempotency-Key`; undefined if the header has no meaning. */
  readonly idempotency: Idempotency | undefined
}

export interface Idempotency {
  /** Whether the key is required. */
  readonly required: boolean
  /** How long responses are stored. */
  readonly hours: number
}

const DEFAULTS = { idempotency: 'none', idempotency_hours: 24 } as const
/** A year. */
const MAX_HOURS = 8_784

/** `idempotency: optional`: a `POST` with an `Idempotency-Key` takes effect once, however often it is sent. */
export const idempotency: Feature<IdempotencySpec> = {
  keys: {
    idempotency: doc(
      oneOfNames(['none', 'optional', 'required'], DEFAULTS.idempotency),
      'Whether a `POST` may, or must, have an `Idempotency-Key`, which makes it safe to repeat.',
      'idempotency: optional',
    ),
    idempotency_hours: doc(
      { type: 'integer', minimum: 1, maximum: MAX_HOURS, default: DEFAULTS.idempotency_hours },
      'Hours for which responses are stored for repeated requests.',
    ),
  },

  parse({ path, given, has }, { report }) {
    const mode = given('idempotency') ?? DEFAULTS.idempotency
    if (has('idempotency_hours') && mode === 'none') {
      const message = '`idempotency_hours` has no effect: no responses are stored'
      const help = ['add `idempotency: optional`, or remove it']
      report.add({ code: 'SC319', path: [...path, 'idempotency_hours'], part: 'key', message, help })
    }
    const hours = (given('idempotency_hours') as number | undefined) ?? DEFAULTS.idempotency_hours
    return () => ({ idempotency: mode === 'none' ? undefined : { required: mode === 'required', hours } })
  },

  options: ({ idempotency: kept }): Readonly<Record<string, string>> =>
    kept ? { idempotency: kept.required ? 'required' : 'optional' } : {},

  responses({ idempotency: kept }, { operation }) {
    if (!kept || (operation !== 'create' && operation !== 'action')) return {}
    return {
      requestHeaders: { 'Idempotency-Key': describeKey(kept) },
      headers: ['Idempotency-Replayed'],
      problems: ['malformed_request', 'request_in_progress', 'idempotency_key_reused'],
    }
  },
}

function describeKey({ required, hours }: Idempotency): HeaderDescription {
  const description = `A random key for the request. If the request is repeated with it within ${hours} hours, it returns the stored response and has no further effect.`
  const schema = { type: 'string', minLength: 1, maxLength: 257, examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'] }
  return { description, required, schema, any: randomUUID }
}
