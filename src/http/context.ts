import type { Store } from '../db/store.js'
import type { JsonBody } from '../json-body.js'
import type { Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import { readBody } from './body.js'
import type { Exchange } from './exchange.js'
import type { BodyPolicy, Context } from './route.js'
import type { Params } from './routes.js'

/** Where handlers find records; inside a transaction, those of the transaction. */
export interface Records {
  store(resource: Resource): Store<Row>
  documents(resource: Resource): Store<string, Uint8Array>
  readonly graph: Context['graph']
  transaction<T>(work: (records: Records) => Promise<T>): Promise<T>
  /** The same, for requests that take what a replica has; undefined when there is none. */
  readonly reading?: Records | undefined
}

/** What every request's context has in common. */
export interface Surroundings {
  readonly records: Records
  readonly reverse: Context['reverse']
}

/** Makes what a handler sees of a request. */
export function makeContext(exchange: Exchange, params: Params, surroundings: Surroundings): Context {
  const { request, requestId, search } = exchange
  let reading: Promise<JsonBody> | undefined
  const around = (records: Records): Context =>
    Object.freeze<Context>({
      method: request.method ?? '',
      requestId,
      trace: exchange.trace,
      params,
      search,
      headers: request.headers,
      // A stream gives its bytes once, so the first policy decides.
      body: (policy) => (reading ??= startReading(exchange, policy)),
      store: (resource) => records.store(resource),
      documents: (resource) => records.documents(resource),
      graph: (resource, ids, relations) => records.graph(resource, ids, relations),
      transaction: (work) => records.transaction((inside) => work(around(inside))),
      reverse: surroundings.reverse,
    })
  return around(recordsFor(exchange, surroundings.records))
}

const PRIMARY = /(?:^|,)\s*read\s*=\s*"?primary"?\s*(?:[;,]|$)/i

/** Who changes something must not read what is older, and neither who has just done so and says it (RFC 7240). */
function recordsFor({ request, route }: Exchange, records: Records): Records {
  if (!records.reading || route?.method !== 'GET') return records
  const { prefer } = request.headers
  return typeof prefer === 'string' && PRIMARY.test(prefer) ? records : records.reading
}

/** A handler may leave a body unread, or answer before it is complete: that it was bad then concerns nobody. */
function startReading(exchange: Exchange, policy: BodyPolicy): Promise<JsonBody> {
  const reading = readBody(exchange, policy)
  reading.catch(() => {})
  return reading
}
