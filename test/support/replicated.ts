import type { Database } from '../../src/db/database.js'
import { openDatabase } from '../../src/db/open.js'
import { testDatabaseKind } from './database.js'
import { type Cluster, createCluster, installedBinaries } from './servers.js'

/** Whether this machine can start a server and a replica of it. */
export const hasReplicas = testDatabaseKind() === 'postgres' && installedBinaries() !== undefined

/** A server with a replica. */
export interface Replicated {
  /** Reads from the replica where that is allowed. */
  readonly database: Database
  readonly replica: Cluster
  /** The replica alone. */
  readonly follower: Database
  /** Stops and continues the replay of changes. */
  pause(): Promise<unknown>
  resume(): Promise<unknown>
  close(): Promise<void>
}

/** Starts a server with these statements, and its replica; `lag` is the bound in milliseconds. */
export async function startReplicated(statements: readonly string[], lag: number): Promise<Replicated> {
  const primary = createCluster()
  await primary.start()
  const admin = await openDatabase({ url: primary.url, directory: '' }, {})
  for (const text of statements) await admin.query({ text, values: [] })
  await admin.close()
  const replica = primary.replicate()
  await replica.start()
  const follower = await openDatabase({ url: replica.url, directory: '' }, {})
  const env = { DATABASE_REPLICA_URL: replica.url, DATABASE_REPLICA_LAG: String(lag) }
  const database = await openDatabase({ url: primary.url, directory: '' }, env)
  return {
    database,
    replica,
    follower,
    pause: () => follower.query({ text: 'select pg_wal_replay_pause()', values: [] }),
    resume: () => follower.query({ text: 'select pg_wal_replay_resume()', values: [] }),
    async close() {
      await Promise.all([database.close(), follower.close()])
      await replica.remove()
      await primary.remove()
    },
  }
}
