import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import pg from 'pg'
import type { Connection, Database, Result, Statement } from './database.js'
import { isBroken, isLost, isStale, isTransient, isUnsent, toProblem, toRefusal } from './errors.js'
import { makeKnex } from './knex.js'
import { driverTypes, textCells } from './parsers.js'

interface PooledOptions extends Pick<Database, 'description' | 'whenPending'> {
  /** How a connection is made, and how many of them there may be. */
  readonly pool: pg.PoolConfig
  /** Milliseconds after which a statement without an answer counts as lost; the server's own limit comes first. */
  readonly patience: number | undefined
  /** Runs when all connections are closed. */
  readonly closed?: () => Promise<void>
}

const RERUNS = 3

function ignore(): void {}

/**
 * A database behind one pool of connections, which requests and knex share. It needs no restart: a connection that
 * broke, or that did not answer in time, is destroyed, and the next statement makes a new one.
 */
export function poolDatabase({ pool: config, patience, closed, description, whenPending }: PooledOptions): Database {
  const pool = new pg.Pool({ types: driverTypes, ...config })
  // Without listeners a dropped connection would end the process, whether it is idle or in use.
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))

  async function acquire(): Promise<pg.PoolClient> {
    try {
      return await pool.connect()
    } catch (error) {
      throw toProblem(error)
    }
  }

  async function once(statement: Statement): Promise<Result> {
    const client = await acquire()
    try {
      const result = await run(client, statement, patience)
      client.release()
      return result
    } catch (error) {
      client.release(isBroken(error))
      throw error
    }
  }

  async function query(statement: Statement): Promise<Result> {
    try {
      return await once(statement)
    } catch (error) {
      const second = secondTry(statement, error)
      if (second === undefined) throw toProblem(error)
      return once(second).catch((error: unknown) => {
        throw toProblem(error)
      })
    }
  }

  async function transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (let reruns = 0; ; reruns++) {
      try {
        return await runTransaction(await acquire(), work, patience)
      } catch (error) {
        if (reruns === RERUNS || !isTransient(error)) throw error
        await delay(Math.random() * 20 * 2 ** reruns)
      }
    }
  }

  async function probe(): Promise<void> {
    try {
      await query({ text: 'select 1', values: [], retry: true })
    } catch (error) {
      throw toRefusal(error) ?? error
    }
  }

  async function end(): Promise<void> {
    await pool.end()
    await closed?.()
  }

  let knex: Knex | undefined
  let ended: Promise<void> | undefined
  return {
    description,
    whenPending,
    get knex() {
      return (knex ??= makeKnex(pool))
    },
    query,
    transaction,
    probe,
    close: () => (ended ??= end()),
  }
}

interface Answer extends Result {
  /** The first word of the server's answer: what was really done. */
  readonly command: string
}

interface DriverResult {
  readonly rows: Result['rows']
  readonly fields: Result['columns']
  readonly rowCount: number | null
  readonly command: string
}

const NOTHING: DriverResult = { rows: [], fields: [], rowCount: 0, command: '' }

function run(client: pg.PoolClient, { text, values, name }: Statement, patience: number | undefined): Promise<Answer> {
  const config = { text, values, name, rowMode: 'array', types: textCells, query_timeout: patience }
  return new Promise((resolve, reject) => {
    const settle = (error: Error | null, results: DriverResult | readonly DriverResult[]) => {
      if (error) return reject(error)
      const { rows, fields, rowCount, command } = 'rows' in results ? results : (results.at(-1) ?? NOTHING)
      resolve({ rows, columns: fields, count: rowCount ?? 0, command })
    }
    // The driver's types know neither `query_timeout` nor that several statements at once give a list of results.
    void client.query(config as unknown as pg.QueryArrayConfig, settle as Parameters<typeof client.query>[1])
  })
}

/** What to send instead of a statement that failed; undefined when it may have been done, or would only fail again. */
function secondTry(statement: Statement, error: unknown): Statement | undefined {
  if (isStale(error)) return { text: statement.text, values: statement.values }
  if (isUnsent(error) || (statement.retry && isLost(error))) return statement
  return undefined
}

async function runTransaction<T>(
  client: pg.PoolClient,
  work: (connection: Connection) => Promise<T>,
  patience: number | undefined,
): Promise<T> {
  let open = true
  let broken = false
  let failure: unknown
  const send = async (statement: Statement): Promise<Answer> => {
    if (!open) throw new Error('a statement was sent after the end of its transaction')
    try {
      return await run(client, statement, patience)
    } catch (error) {
      broken ||= isBroken(error)
      failure ??= toProblem(error)
      throw toProblem(error)
    }
  }
  try {
    await send({ text: 'begin', values: [] })
    const result = await work({ query: send })
    const { command } = await send({ text: 'commit', values: [] })
    // After a failed statement the server answers COMMIT with a rollback, even if `work` has swallowed the failure.
    if (command === 'ROLLBACK') throw failure
    return result
  } catch (error) {
    if (!broken) await send({ text: 'rollback', values: [] }).catch(() => (broken = true))
    throw error
  } finally {
    open = false
    client.release(broken)
  }
}
