import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { freePort, withClient } from '../bench/cluster.js'
import { installedBinaries, serverUser } from '../test/support/servers.js'
import { Skipped } from './trial.js'

/** A PostgreSQL server that a trial may break as it likes. */
export interface Postgres {
  readonly url: string
  readonly port: number
  readonly data: string
  /** Resolves with the milliseconds from the start of the process to its first response. */
  start(): Promise<number>
  /** SIGINT: at once but in order; SIGQUIT: as a crash; SIGKILL: the postmaster alone, as a bug of the system would. */
  stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
  /** Turns a standby into a primary. */
  promote(): void
  database(name: string): Promise<string>
  remove(): Promise<void>
}

export interface PostgresOptions {
  readonly settings?: readonly string[]
  /** The server whose standby it is to be. */
  readonly standbyOf?: Postgres
  /** Where its folder is made. */
  readonly parent?: string
}

/** As in production: a commit is on disk before it is acknowledged. */
const DURABLE = ['fsync=on', 'full_page_writes=on', 'listen_addresses=127.0.0.1', 'max_connections=100']
const PATIENCE = 30_000

/** @throws Skipped where PostgreSQL is not installed */
export function postgresBinary(name: string): string {
  const binaries = installedBinaries()
  if (binaries === undefined) throw new Skipped('PostgreSQL is not installed')
  // On PATH there may be links to some of them only.
  return join(dirname(realpathSync(join(binaries, 'initdb'))), name)
}

/** Makes a server from the installed binaries; it is not running yet. */
export async function makePostgres({
  settings = [],
  standbyOf,
  parent = tmpdir(),
}: PostgresOptions = {}): Promise<Postgres> {
  const folder = mkdtempSync(join(parent, 'torture-pg-'))
  const owner = serverUser()
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const port = await freePort()
  const run = (name: string, args: readonly string[]) =>
    execFileSync(postgresBinary(name), args, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  if (standbyOf) run('pg_basebackup', ['-R', '-D', data, '-d', standbyOf.url, '-c', 'fast', '-X', 'stream'])
  else run('initdb', [...INITDB, '-D', data])
  const own = [`port=${port}`, `unix_socket_directories=${folder}`]
  const flags = [...DURABLE, ...settings, ...own].flatMap((setting) => ['-c', setting])
  const urlOf = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}`
  let postmaster: ChildProcess | undefined

  const launch = () =>
    (postmaster = spawn(postgresBinary('postgres'), ['-D', data, ...flags], { ...owner, cwd: folder, stdio: 'ignore' }))

  async function start(): Promise<number> {
    const deadline = Date.now() + PATIENCE
    launch()
    for (let started = performance.now(); ; ) {
      if (await answers(urlOf('postgres'))) return performance.now() - started
      if (Date.now() > deadline) throw new Error('PostgreSQL did not answer in time')
      // While children of a killed postmaster are running, a new one exits immediately.
      if (isOver(postmaster)) {
        await delay(20)
        started = performance.now()
        launch()
      }
      await delay(5)
    }
  }

  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (!postmaster || isOver(postmaster)) return
    const exit = once(postmaster, 'exit')
    postmaster.kill(signal)
    await exit
  }

  return {
    url: urlOf('postgres'),
    port,
    data,
    start,
    stop,
    promote: () => void run('pg_ctl', ['-D', data, '-w', 'promote']),
    database: async (name) => {
      await withClient(urlOf('postgres'), (client) => client.query(`create database "${name}"`))
      return urlOf(name)
    },
    remove: async () => {
      await stop('SIGQUIT')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}

const INITDB = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']

function isOver(child: ChildProcess | undefined): boolean {
  return child === undefined || child.exitCode !== null || child.signalCode !== null
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
