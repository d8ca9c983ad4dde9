/** Helpers for the tests of a project: `import { startTestService } from 'snippetctl/testing'`. */
import { dirname, join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { renderDiagnostics } from './config/diagnostic.js'
import type { Database } from './db/database.js'
import { openDatabase, openScratch } from './db/open.js'
import type { Log } from './http/log.js'
import { loadApplication } from './load.js'
import { migrateUp } from './migrations/run/run.js'
import { migrationFolder } from './plugins/migration-folder.js'
import { createService } from './service.js'
import type { Environment } from './settings.js'

/**
 * The options of `startTestService`.
 * @example
 * const options: TestServiceOptions = { file: 'test/resources.yaml', env: { SECRET: 'x' } }
 */
export interface TestServiceOptions {
  /** The path of `resources.yaml`, by default the one in the current folder. The migrations in the folder `migrations` next to it create the tables. */
  readonly file?: string
  /** The URL of an empty PostgreSQL database. By default, an embedded database that is deleted on `close`. */
  readonly databaseUrl?: string | undefined
  /** The environment variables that settings and plugins read, by default none. */
  readonly env?: Environment
}

/**
 * An application that runs inside a test.
 * @example
 * const statusOf = async (service: TestService, path: string) => (await service.fetch(path)).status
 */
export interface TestService {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  readonly database: Database
  /** Sends a request to the service: `fetch('/api/books/')`. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Waits for the requests that are running and stops the service. */
  close(): Promise<void>
}

const LOG: Log = {
  info: () => {},
  error: (entry) => void process.stderr.write(`${inspect(entry)}\n`),
}

/**
 * Starts an application inside a test, on a free port and a database of its own, with all migrations applied. Failed requests (500) are
 * logged to standard error.
 * @throws Error with every mistake in `resources.yaml` and its line; MigrationError; DatabaseRejected
 * @example
 * const service = await startTestService()
 * const response = await service.fetch('/api/books/')
 * await service.close()
 */
export async function startTestService({
  file = 'resources.yaml',
  databaseUrl,
  env = {},
}: TestServiceOptions = {}): Promise<TestService> {
  const path = resolve(file)
  const loaded = await loadApplication({ file: path, env })
  if (!loaded.ok) {
    await loaded.close(LOG)
    throw new Error(renderDiagnostics(loaded.diagnostics, loaded.source))
  }
  const database =
    databaseUrl === undefined ? await openScratch() : await openDatabase({ url: databaseUrl, directory: '' }, env)
  try {
    await migrateUp(database, migrationFolder(join(dirname(path), 'migrations')))
    const service = createService(loaded.app, database, { log: LOG })
    const { url } = await service.listen({ port: 0, host: '127.0.0.1' })
    return {
      url,
      database,
      fetch: (path, init) => fetch(url + path, init),
      close: async () => {
        await service.drain()
        await database.close()
      },
    }
  } catch (error) {
    await loaded.close(LOG)
    await database.close()
    throw error
  }
}
