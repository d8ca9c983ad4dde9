import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import pg from 'pg'
import { Problem } from '../../problem.js'
import type { Connection, Database, Result, QueueKey, InternalTransactionOptions, Statement } from '../database.js'
import { abortOn } from '../driver/cancel.js'
import { isDataException, isLost, isStale, isTransient, isUnsent, toProblem, toRejection } from '../driver/errors.js'
import type { WorkQueue } from './work-queues.js'
import { createFairQueue } from './fair-queue.js'
import { createHandover } from './handover.js'
import { makeKnex } from '../knex.js'
import {
  createLatencyTracker,
  isLarge,
  isQuick,
  type Latency,
  record,
  recordFailure,
  recordPipelined,
} from './latency-tracker.js'
import {
  HeadOfLineBlocked,
  openPipelined,
  type PipelinedConnections,
  type PipelinedOptions,
  type TimedResult,
} from './pipelined-connections.js'
import { toOutcome } from '../driver/outcome.js'
import { driverTypes } from '../driver/parsers.js'
import type { Sending } from '../driver/cell-query.js'
import { RowClient } from '../driver/row-messages.js'
import { createSend } from '../driver/send.js'
import { type End, openingOf, runTransaction } from '../driver/transaction.js'

interface PooledOptions extends Pick<Database, 'description' | 'whenPending' | 'concurrent'> {
  /** How connections are opened, and the maximum number. */
  readonly pool: pg.PoolConfig
  readonly sending: Sending
  /** Additional connections for quick reads. */
  readonly quick?: PipelinedOptions
  /** Runs after all connections are closed. */
  readonly closed?: () => Promise<void>
}

const MAX_RERUNS = 3

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
  const sendUnlimited = createSend({ ...sending, patience: undefined })
  const queue = createFairQueue({
    connections: pool.options.max,
    patience: config.connectionTimeoutMillis ?? Infinity,
  })

  const handover = createHandover(pool)

  /** Uses callbacks, because the promises on the path of every statement would cost more than the work. */
  function once(statement: Statement): Promise<TimedResult> {
    return new Promise((resolve, reject) => {
      const { signal } = statement
      signal?.throwIfAborted()
      const abortable = signal && abortOn(signal, reject)
      const fail = (error: Error): void => {
        abortable?.over()
        reject(error)
      }
      const giveUp = queue.enter(statement, (rejected, granted) => {
        if (rejected) return fail(rejected)
        handover.take((rejected, client) => {
          if (!client) {
            queue.leave(granted)
            return fail(toProblem(rejected ?? new Error('the pool returned no connection')))
          }
          // Rejected already, while the connection was made.
          if (signal?.aborted) return handover.offer(client, () => queue.leave(granted))
          abortable?.sent(client)
          const sent = performance.now()
          send(client, statement, (error, answer, isDone) => {
            const time = performance.now() - sent
            const isSpent = abortable?.over() || isDone
            if (error || isSpent) {
              client.release(isSpent)
              queue.leave(granted, time)
            } else handover.offer(client, () => queue.leave(granted, time))
            if (error) reject(error)
            else resolve({ ...answer, time })
          })
        })
      })
      abortable?.waits(giveUp)
    })
  }

  const ends = new Set<End>()
  const pipelined = quick && openPipelined(quick)
  const latencies = createLatencyTracker()

  async function first(statement: Statement): Promise<Result> {
    if (!pipelined || !statement.quick) return once(statement)
    // Without a name, its latency is unknown.
    if (statement.name === undefined)
      return statement.quick === true ? pipelined.query(statement, UNNAMED_MS) : once(statement)
    const latency = latencies.of(statement.name)
    try {
      if (!mayPipeline(statement, latency, pipelined)) {
        const answer = await once(statement)
        record(latency, answer.time, answer.size)
        return answer
      }
      const answer = await pipelined.query(statement, latency.cost)
      recordPipelined(latency, answer.time, answer.size)
      return answer
    } catch (error) {
      // A statement that only waited says nothing about its latency.
      if (!(error instanceof HeadOfLineBlocked || error instanceof Problem)) recordFailure(latency)
      throw error
    }
  }

  async function query(statement: Statement): Promise<Result> {
    try {
      return await first(statement)
    } catch (error) {
      const second = secondTry(statement, error)
      const toFailure = statement.retry ? toProblem<unknown> : toOutcome
      if (second === undefined) throw toFailure(error)
      // A statement that was accepted is not rejected after waiting.
      const follows = second.follows === true || !(error instanceof HeadOfLineBlocked) || error.waited
      return once({ ...second, follows }).catch((error: unknown) => {
        throw toFailure(error)
      })
    }
  }

  async function transaction<T>(
    work: (connection: Connection) => Promise<T>,
    options: InternalTransactionOptions = {},
  ): Promise<T> {
    const { snapshot, unlimited, signal, enforce, queueKey } = options
    const parts = { send: unlimited ? sendUnlimited : send, opening: openingOf(options), ends, signal, enforce }
    for (let reruns = 0; ; reruns++) {
      // A transaction that was accepted is not rejected after a deadlock.
      const granted = await enter({ ...queueKey, follows: reruns > 0 }, signal)
      try {
        signal?.throwIfAborted()
        return await runTransaction(await connect(), work, parts)
      } catch (error) {
        // The caller may already have passed on rows of the snapshot.
        if (snapshot || reruns === MAX_RERUNS || !isTransient(error)) throw error
      } finally {
        queue.leave(granted)
      }
      await delay(Math.random() * 20 * 2 ** reruns)
    }
  }

  /** Waits until a connection is granted or the signal aborts. */
  function enter(work: QueueKey & { readonly follows: boolean }, signal: AbortSignal | undefined): Promise<WorkQueue> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const giveUp = queue.enter(work, (rejected, granted) => {
        signal?.removeEventListener('abort', abort)
        if (rejected) reject(rejected)
        else resolve(granted)
      })
      function abort(): void {
        giveUp?.()
        reject(signal?.reason as Error)
      }
      if (giveUp) signal?.addEventListener('abort', abort, { once: true })
    })
  }

  async function connect(): Promise<pg.PoolClient> {
    try {
      return await pool.connect()
    } catch (error) {
      throw toProblem(error)
    }
  }

  /**
   * Bypasses admission control. A response to any other statement counts as well, so that an overloaded database is not taken for an unavailable one.
   */
  async function probe(): Promise<void> {
    const ask = () => once({ text: 'select 1', values: [], follows: true })
    const others = listenForAnswers(pool, pipelined)
    try {
      await Promise.race([others.heard, askAgain(ask)])
    } catch (error) {
      throw toRejection(error) ?? toProblem(error)
    } finally {
      others.stop()
    }
  }

  async function end(): Promise<void> {
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
    query,
    transaction,
    probe,
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

/** The expected milliseconds of an unnamed quick statement. */
const UNNAMED_MS = 1

/** Whether others may wait behind a statement. A lookup by key is quick; for other statements, the recent latency decides. */
function mayPipeline({ quick }: Statement, latency: Latency, pipelined: PipelinedConnections): boolean {
  return quick === true ? !isLarge(latency) : isQuick(latency) && pipelined.hasRoom()
}

const LISTEN_INTERVAL_MS = 50

/** Resolves with the next response to any statement. It costs nothing while no probe is running. */
function listenForAnswers(pool: pg.Pool, pipelined: PipelinedConnections | undefined) {
  const since = performance.now()
  let stop: () => void = ignore
  const heard = new Promise<void>((resolve) => {
    const onRelease = (error: unknown) => {
      if (!error) resolve()
    }
    const timer = setInterval(() => pipelined?.hasAnsweredSince(since) && resolve(), LISTEN_INTERVAL_MS).unref()
    pool.on('release', onRelease)
    stop = () => {
      clearInterval(timer)
      pool.off('release', onRelease)
    }
  })
  return { heard, stop: () => stop() }
}

/** Retries once, because an idle connection may have been lost. */
async function askAgain(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    if (!isUnsent(error) && !isLost(error)) throw error
    return ask()
  }
}

/** Returns the statement to retry after an error; undefined if the first try may have had an effect, or if a retry would fail as well. */
function secondTry(statement: Statement, error: unknown): Statement | undefined {
  const isOutdated = isStale(error) || (statement.name !== undefined && isDataException(error))
  if (isOutdated) return { ...statement, name: undefined }
  if (isUnsent(error) || (statement.retry && isLost(error))) return statement
  if (error instanceof HeadOfLineBlocked) return statement
  return undefined
}
