import type { JsonSchema } from '../../json.js'
import { doc, listOf, oneOfNames } from './parts.js'
import { BULK_OPERATIONS } from '../spec.js'

/** What a resource says of writes where resources.yaml does not. */
export const WRITE_DEFAULTS = { idempotency: 'none', idempotency_hours: 24, bulk: [], bulk_max: 100 } as const

/** A year. */
const MOST_HOURS = 8_784
const MOST_AT_ONCE = 1_000

/** The keys of a resource for what clients may ask of writes. */
export const writeKeys = (): Readonly<Record<string, JsonSchema>> => ({
  idempotency: doc(
    oneOfNames(['none', 'optional', 'required'], WRITE_DEFAULTS.idempotency),
    'Whether a `POST` may, or must, have an `Idempotency-Key`, so that sending it again does nothing twice.',
    'idempotency: optional',
  ),
  idempotency_hours: doc(
    { type: 'integer', minimum: 1, maximum: MOST_HOURS, default: WRITE_DEFAULTS.idempotency_hours },
    'How many hours answers are kept for requests that are sent again with their key.',
  ),
  bulk: doc(
    listOf({ enum: BULK_OPERATIONS }, { minItems: 0, default: WRITE_DEFAULTS.bulk }),
    'What can be done to several records with one request to the path of the resource, all of it or nothing; nothing when left out.',
    'bulk: [create, partial_update, destroy]',
  ),
  bulk_max: doc(
    { type: 'integer', minimum: 1, maximum: MOST_AT_ONCE, default: WRITE_DEFAULTS.bulk_max },
    'How many records such a request may be about.',
  ),
})
