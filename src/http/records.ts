import type { ModelSpec } from '../config/spec.js'
import type { Connection, InternalTransactionOptions } from '../db/database.js'
import type { SkippedRows } from '../db/records/skipped-rows.js'
import type { StoredResponses } from '../db/records/stored-responses.js'
import type { Store } from '../db/records/store.js'
import { observed } from '../db/wrap.js'
import type { Bounds } from '../db/statements/rules/bounds.js'
import type { Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import type { Exports } from './operations/exports.js'
import type { ReadMemberships } from './key-owner.js'
import type { RecordQueries } from './registrations/queries.js'
import type { Exchange } from './server/exchange.js'

/** Access to records; inside a transaction, through the transaction. */
export interface Records {
  store(resource: Resource, bounds?: Bounds): Store<Row>
  documents(resource: Resource, bounds?: Bounds): Store<string, Uint8Array>
  /** @throws Error naming the nearest resource if the name is unknown */
  readonly modelOf: (resource: string) => ModelSpec
  /** Queries of plugins. */
  readonly queries: RecordQueries
  /** @throws Error if no resource has idempotency */
  answers(): StoredResponses
  readonly memberships: ReadMemberships
  readonly needsTransaction: SkippedRows['needsTransaction']
  transaction<T>(work: (records: Records) => Promise<T>, options?: InternalTransactionOptions): Promise<T>
  /** In a transaction, runs work whose error undoes no more than its own changes. */
  readonly attempt?: <T>(work: (records: Records) => Promise<T>) => Promise<T>
  /** Undefined in a transaction. */
  readonly exports?: Exports
  /** Whether a statement that may write was sent; only defined in a transaction. */
  readonly hasWritten?: () => boolean
  /** The same for requests that may read from a replica; undefined without one. */
  readonly reading?: Records | undefined
}

/** Returns access to records inside a transaction. `bind` makes it for a connection; transactions in it are part of the outer transaction. */
export function recordsInside(
  connection: Connection,
  bind: (connection: Connection, transaction: Records['transaction']) => Records,
): Records {
  let written = false
  const recordsOn = (connection: Connection): Records => {
    const { savepoint } = connection
    const records: Records = {
      ...bind(connection, (work) => work(records)),
      hasWritten: () => written,
      ...(savepoint && { attempt: (work) => savepoint((inner) => work(recordsOn(inner))) }),
    }
    return records
  }
  const noting = observed(connection, ({ retry }) => {
    written ||= retry !== true
  })
  return recordsOn(noting)
}

const PRIMARY = /(?:^|,)\s*read\s*=\s*"?primary"?\s*(?:[;,]|$)/i

/** Writes, and reads with `Prefer: read=primary` (RFC 7240), must not use a replica. */
export function recordsFor({ request, route }: Exchange, records: Records): Records {
  if (!records.reading || route?.method !== 'GET') return records
  const { prefer } = request.headers
  return typeof prefer === 'string' && PRIMARY.test(prefer) ? records : records.reading
}
