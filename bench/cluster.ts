import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { createCluster } from '../test/support/servers.js'
import { HOME } from './contestants.js'
import { insertRows } from './rows.js'

/** A PostgreSQL server for this run. */
export interface BenchServer {
  readonly version: string
  /** The postmaster, whose children are the backends. */
  readonly pid: number
  /** Returns the URL of a database, which is created empty if it does not exist. */
  database(name: string): Promise<string>
  remove(): Promise<void>
}

/** As in production: commits are durable. No background activity that would affect some samples more than others. */
const SETTINGS: readonly string[] = [
  'listen_addresses=127.0.0.1',
  'max_connections=200',
  'shared_buffers=512MB',
  'max_wal_size=8GB',
  'checkpoint_timeout=1h',
  'autovacuum=off',
  'jit=off',
]

/** Starts PostgreSQL from the installed binaries, on loopback, with durable commits. */
export async function startPostgres(): Promise<BenchServer> {
  const port = await freePort()
  const cluster = createCluster({ settings: SETTINGS, port })
  const version = await cluster.start()
  const urlOf = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}`
  const pid = await withClient(urlOf('postgres'), async (client) => {
    const { rows } = await client.query<{ directory: string }>("select current_setting('data_directory') as directory")
    return Number(readFileSync(join(rows[0]?.directory ?? '', 'postmaster.pid'), 'utf8').split('\n')[0])
  })
  return {
    version,
    pid,
    database: async (name) => {
      await withClient(urlOf('postgres'), async (client) => {
        const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
        if (rowCount === 0) await client.query(`create database "${name}"`)
      })
      return urlOf(name)
    },
    remove: () => cluster.remove(),
  }
}

/** Creates the table by the project's migrations, and fills it. */
export async function loadRows(server: BenchServer, rows: number): Promise<string> {
  const url = await server.database(`rows_${rows}`)
  execFileSync(process.execPath, ['bin/snippetctl.js', 'migrate', 'up'], {
    cwd: HOME,
    env: { ...process.env, DATABASE_URL: url },
    stdio: 'pipe',
  })
  await withClient(url, async (client) => {
    const { rows: found } = await client.query<{ count: string }>('select count(*) from snippets')
    if (Number(found[0]?.count) === rows) return
    await client.query(insertRows(rows))
    await client.query('vacuum analyze snippets')
    await client.query('checkpoint')
  })
  return url
}

/** Deletes created rows, and vacuums after updates. */
export async function putRight(url: string, rows: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('delete from snippets where id > $1', [rows])
    await client.query('vacuum analyze snippets')
  })
}

/** Runs work with a connection of its own. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Returns a free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('the system gave no port')
  return address.port
}
