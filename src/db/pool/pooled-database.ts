import type { Knex, knex as KnexFactory } from 'knex'
import pg from 'pg'
import { Problem } from '../../foundation/problem.js'
import type { Database } from '../database.js'
import type { Sending } from '../driver/cell-query.js'
import { driverTypes } from '../driver/parsers.js'
import { RowClient } from '../driver/row-messages.js'
import { createSend } from '../driver/send.js'
import type { End } from '../driver/transaction.js'
import { createConnector } from './connect.js'
import { createFairQueue } from './fair-queue.js'
import { createHandover } from './handover.js'
import { openPipelined, type PipelinedOptions } from './pipelined-connections.js'
import { createQueries } from './pooled-queries.js'
import { createTransactions } from './pooled-transactions.js'
import { createProbe } from './probe.js'
import { createSendOnce } from './send-once.js'
import { createRequire } from 'node:module'

interface PooledOptions extends Pick<Database, 'description' | 'whenPending' | 'concurrent'> {
  /** How connections are opened, and the maximum number. */
  readonly pool: pg.PoolConfig
  readonly sending: Sending
  /** Additional connections for quick reads. */
  readonly quick?: PipelinedOptions
  /** Runs after all connections are closed. */
  readonly closed?: () => Promise<void>
}

function ignore(): void {}

/**
 * A database behind one pool of connections for requests and knex. It recovers without a restart: a connection that broke or did not respond in time
 * is destroyed, and the next statement opens a new one.
 */
export function poolDatabase({
  pool: config,
  quick,
  sending,
  closed,
  description,
  whenPending,
  concurrent,
}: PooledOptions): Database {
  const pool = new pg.Pool({ types: driverTypes, Client: RowClient, ...config })
  // Without listeners a dropped connection would end the process, whether it is idle or in use.
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  const send = createSend(sending)
  const queue = createFairQueue({
    connections: pool.options.max,
    patience: config.connectionTimeoutMillis ?? Infinity,
  })

  const ends = new Set<End>()
  const pipelined = quick && openPipelined(quick)
  const connector = createConnector(pool, pipelined)
  const once = createSendOnce({ queue, handover: createHandover(pool, connector), send })

  const end = async (): Promise<void> => {
    const reason = new Problem('unavailable', 'The service stops', { headers: { 'Retry-After': '1' } })
    for (const end of ends) end(reason)
    await pipelined?.close()
    await pool.end()
    await closed?.()
  }

  let knex: Knex | undefined
  let ended: Promise<void> | undefined
  return {
    description,
    whenPending,
    concurrent,
    get knex() {
      return (knex ??= makeKnex(pool))
    },
    query: createQueries(once, pipelined),
    transaction: createTransactions({
      connect: connector.connect,
      queue,
      send,
      sendUnlimited: createSend({ ...sending, patience: undefined }),
      ends,
    }),
    probe: createProbe({ pool, pipelined, once }),
    usage: () => {
      const pipelinedUsage = pipelined?.usage() ?? { pipelinedConnections: 0, pipelinedStatements: 0, rejected: 0 }
      return {
        ...pipelinedUsage,
        max: pool.options.max,
        open: pool.totalCount,
        idle: pool.idleCount,
        waiting: queue.waiting(),
        rejected: queue.rejected() + pipelinedUsage.rejected,
      }
    },
    close: () => (ended ??= end()),
  }
}

const silent = { debug: ignore, warn: ignore, error: ignore, deprecate: ignore }

/** Creates a Knex instance over one of our pools. Knex is loaded on first use, because it takes longer to load than everything else. */
export function makeKnex(connectionPool: NonNullable<Knex.Config['connectionPool']>): Knex {
  const { knex } = createRequire(import.meta.url)('knex') as { readonly knex: typeof KnexFactory }
  // With a version, Knex does not query the server for it. It only checks whether the version is very old.
  return knex({ client: 'pg', version: '14', connectionPool, log: silent })
}
