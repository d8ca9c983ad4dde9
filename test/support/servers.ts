import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { withFullDisk } from './full-disk.ts'

/** A source of databases for tests. */
export interface TestServer {
  readonly description: string
  /** Read by `database.ts` in the workers: a server's URL, or the file of a PGlite dump. */
  readonly environment: { readonly SNIPPETCTL_TEST_URL: string; readonly SNIPPETCTL_TEST_DUMP: string }
  stop(): Promise<void>
}

/** The server of TEST_DATABASE_URL, whose user must be allowed to create databases. */
export async function fromEnvironment(): Promise<TestServer> {
  const url = process.env.TEST_DATABASE_URL ?? ''
  const version = await versionOf(url)
  return { description: `PostgreSQL ${version} of TEST_DATABASE_URL`, environment: server(url), stop: async () => {} }
}

/** A temporary container. */
export async function fromDocker(): Promise<TestServer> {
  // Loaded on demand, because it takes half a second.
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql')
  const container = await new PostgreSqlContainer('postgres:16-alpine').withCommand(['-c', 'fsync=off']).start()
  const url = container.getConnectionUri()
  return {
    description: `PostgreSQL ${await versionOf(url)} in Docker`,
    environment: server(url),
    stop: async () => {
      await container.stop()
    },
  }
}

/** The PostgreSQL installed on this machine, with a socket in a temporary directory. */
export async function fromInstalled(): Promise<TestServer> {
  const cluster = createCluster()
  const version = await cluster.start()
  return {
    description: `PostgreSQL ${version} as installed, on a socket of its own`,
    environment: server(cluster.url),
    stop: () => cluster.remove(),
  }
}

/** A PostgreSQL server that can be stopped and started again. */
export interface Cluster {
  readonly url: string
  /**
   * Resolves with the version once the server responds.
   * @param fullAt the maximum size of files in bytes, which simulates a full disk; it must leave room for 16 MiB of log
   */
  start(fullAt?: number): Promise<string>
  /** Breaks all connections, by default without notice. */
  stop(signal?: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** Creates a stopped replica of this running server. */
  replicate(): Cluster
  remove(): Promise<void>
}

/** The set-up of a server other than the one for tests. */
interface ClusterOptions {
  readonly settings?: readonly string[]
  readonly port?: number
  /** The URL of the server that it replicates; without one it is empty. */
  readonly original?: string
}

/** No data needs to survive, and nobody else may connect. */
const TEST_SETTINGS = ['fsync=off', 'listen_addresses=', 'max_connections=200']

/** Creates a stopped server from the installed binaries. */
export function createCluster({ settings = TEST_SETTINGS, port = 5432, original }: ClusterOptions = {}): Cluster {
  const binaries = installedBinaries()
  if (binaries === undefined)
    throw new Error('PostgreSQL is not installed: initdb is neither on PATH nor in a usual place')
  const directory = mkdtempSync(join(tmpdir(), 'snippetctl-test-'))
  const owner = serverUser()
  if (owner) chownSync(directory, owner.uid, owner.gid)
  const data = join(directory, 'data')
  const [program, ...made] = original === undefined ? initdb(data) : copyOf(original, data)
  execFileSync(join(binaries, program), made, { ...owner, cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
  const own = [`port=${port}`, `unix_socket_directories=${directory}`]
  const options = [...settings, ...own].flatMap((option) => ['-c', option])
  const url = `postgres://postgres@localhost:${port}/postgres?host=${encodeURIComponent(directory)}`
  let postgres: ChildProcess | undefined

  async function stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGQUIT'): Promise<void> {
    if (postgres?.exitCode === null && postgres.kill(signal)) await once(postgres, 'exit')
  }
  return {
    url,
    start: (fullAt) => {
      const [command, ...args] = withFullDisk([join(binaries, 'postgres'), '-D', data, ...options], fullAt)
      postgres = spawn(command, args, {
        ...owner,
        cwd: directory,
        stdio: 'ignore',
      })
      return whenReady(url, postgres)
    },
    stop,
    replicate: () => createCluster({ settings, port, original: url }),
    remove: async () => {
      await stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function copyOf(original: string, data: string): [string, ...string[]] {
  return ['pg_basebackup', '-D', data, '-d', original, '-R', '-c', 'fast', '--no-sync']
}

function initdb(data: string): [string, ...string[]] {
  return ['initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']
}

/** PGlite in each worker's memory, restored from a dump. Making the dump takes seconds, so later runs use it too. */
export async function embedded(): Promise<TestServer> {
  const folder = resolve('.snippetctl', 'tests', `pglite-${releaseOf('@electric-sql/pglite')}-small-log`)
  if (!existsSync(folder)) await dumpInto(folder)
  const version = readFileSync(join(folder, 'version'), 'utf8')
  return {
    description: `embedded PGlite (PostgreSQL ${version}); what needs two sessions is skipped`,
    environment: { SNIPPETCTL_TEST_URL: '', SNIPPETCTL_TEST_DUMP: join(folder, 'dump.tar') },
    stop: async () => {},
  }
}

/** As in the template of embedded databases. */
const FIRST_STATEMENTS = [
  'update pg_database set datistemplate = false',
  'drop database template0',
  'drop database template1',
  'create temporary table first_table ()',
  'drop table first_table',
  'checkpoint',
]

async function dumpInto(folder: string): Promise<void> {
  const { PGlite } = await import('@electric-sql/pglite')
  const pglite = await PGlite.create({ initDbStartParams: ['--wal-segsize=1', '--set=wal_recycle=off'] })
  for (const statement of FIRST_STATEMENTS) await pglite.exec(statement)
  const dump = await pglite.dumpDataDir('none')
  const version = await pglite.query<{ server_version: string }>('show server_version')
  await pglite.close()
  mkdirSync(dirname(folder), { recursive: true })
  const unfinished = mkdtempSync(`${folder}-`)
  writeFileSync(join(unfinished, 'dump.tar'), Buffer.from(await dump.arrayBuffer()))
  writeFileSync(join(unfinished, 'version'), version.rows[0]?.server_version ?? '')
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another run may have finished first.
    rmSync(unfinished, { recursive: true })
    if (!existsSync(folder)) throw error
  }
}

function releaseOf(name: string): string {
  const manifest = JSON.parse(readFileSync(resolve('node_modules', name, 'package.json'), 'utf8')) as {
    version: string
  }
  return manifest.version
}

/** No database, for tests that need none. */
export async function none(): Promise<TestServer> {
  const environment = { SNIPPETCTL_TEST_URL: '', SNIPPETCTL_TEST_DUMP: '' }
  return { description: 'none', environment, stop: async () => {} }
}

/** The directory of the newest PostgreSQL on this machine. */
export function installedBinaries(): string | undefined {
  const packaged = '/usr/lib/postgresql'
  const versions = existsSync(packaged) ? readdirSync(packaged).sort((a, b) => Number(b) - Number(a)) : []
  const directories = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(packaged, version, 'bin')),
  ]
  const found = directories.find((directory) => existsSync(join(directory, 'initdb')))
  // Some distributions link initdb elsewhere without the other programs.
  return found === undefined ? undefined : dirname(realpathSync(join(found, 'initdb')))
}

/** The user that runs PostgreSQL, which rejects root; undefined if our own user can. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function server(url: string): TestServer['environment'] {
  return { SNIPPETCTL_TEST_URL: url, SNIPPETCTL_TEST_DUMP: '' }
}

async function versionOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  await client.connect()
  const { rows } = await client.query<{ server_version: string }>('show server_version')
  await client.end()
  return rows[0]?.server_version ?? ''
}

async function whenReady(url: string, postgres: ChildProcess): Promise<string> {
  for (const deadline = Date.now() + 20_000; ; ) {
    try {
      return await versionOf(url)
    } catch (error) {
      if (Date.now() > deadline || postgres.exitCode !== null) throw error
      await delay(30)
    }
  }
}
