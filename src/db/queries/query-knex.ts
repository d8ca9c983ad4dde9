import { createRequire } from 'node:module'
import type { Knex, knex as KnexFactory } from 'knex'
import type { Result } from '../database.js'
import { readerOf, writeValue } from './values.js'

/** A statement of knex, with its values as PostgreSQL's text. */
export interface Query {
  readonly text: string
  readonly values: readonly (string | null)[]
}

/** Sends a statement of knex. */
export type SendQuery = (query: Query) => Promise<Result>

/** The data that knex passes to its client. */
interface KnexQuery {
  readonly sql: string
  readonly bindings?: readonly unknown[]
  response?: object
}

/** The parts of knex's client for PostgreSQL that its types leave out. */
interface PostgresClient extends Knex.Client {
  positionBindings(sql: string): string
}

interface ClientConfig extends Knex.Config {
  readonly send: SendQuery
}

type ClientClass = new (config: ClientConfig) => PostgresClient

interface Loaded {
  readonly knex: typeof KnexFactory
  readonly Client: typeof Knex.Client
}

function ignore(): void {}
const silent = { debug: ignore, warn: ignore, error: ignore, deprecate: ignore }

let loaded: Loaded | undefined

/** Loads knex at first use, because loading it takes longer than loading everything else. */
function load(): Loaded {
  if (loaded) return loaded
  const require = createRequire(import.meta.url)
  const { knex } = require('knex') as { readonly knex: typeof KnexFactory }
  const Postgres = require('knex/lib/dialects/postgres/index.js') as ClientClass
  loaded = { knex, Client: clientClass(Postgres) }
  return loaded
}

/** Knex whose statements are sent by `send`, for one request. It opens no connection and no transaction. */
export function knexOver(send: SendQuery): Knex {
  const { knex, Client } = load()
  // With a version, knex does not query the server for it.
  const config: ClientConfig = { client: Client, version: '14', log: silent, send }
  return knex(config)
}

/** Knex's own client would write values into the messages of errors, and take connections from a pool. */
function clientClass(Postgres: ClientClass): typeof Knex.Client {
  class QueryClient extends Postgres {
    override readonly canCancelQuery = false

    override acquireConnection(): Promise<object> {
      return Promise.resolve({})
    }

    override releaseConnection(): Promise<void> {
      return Promise.resolve()
    }

    override async query(_connection: unknown, given: KnexQuery | string): Promise<KnexQuery> {
      const query: KnexQuery = typeof given === 'string' ? { sql: given } : given
      const { sql, bindings = [] } = query
      if (!sql) throw new Error('the query is empty')
      const { send } = this.config as ClientConfig
      const result = await send({ text: this.positionBindings(sql), values: bindings.map(writeValue) })
      query.response = toResponse(result)
      return query
    }

    override transaction(): never {
      throw new Error('knex cannot begin a transaction here; use `context.transaction`, and its `knex` and `models`')
    }

    /** Runs one builder. Its own streams need the driver's connection, and report errors where nobody may listen. */
    override runner(builder: unknown): object {
      return Object.assign(super.runner(builder) as object, { stream: rejectStream, pipe: rejectStream })
    }
  }
  return QueryClient as unknown as typeof Knex.Client
}

function rejectStream(): never {
  throw new Error('knex cannot stream here; read pages by `limit`, or use `batches` of a store')
}

/** Returns a result in the form that knex expects from the driver. */
function toResponse({ rows, columns, count, command = '' }: Result): object {
  const readers = columns.map(({ name, dataTypeID }) => [name, readerOf(dataTypeID)] as const)
  const read = (cells: Result['rows'][number]): object =>
    Object.fromEntries(readers.map(([name, reader], index) => [name, reader(cells[index] ?? null)]))
  return { command, rowCount: count, rows: rows.map(read), fields: columns.map(({ name }) => ({ name })) }
}
