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

interface TestServiceOptions {
  /** resources.yaml, whose `migrations` beside it make the tables; in the current folder when left out. */
  readonly file?: string
  /** An empty PostgreSQL database; left out, an embedded one that is gone at the end. */
  readonly databaseUrl?: string | undefined
  /** What plugins and settings read; nothing when left out. */
  readonly env?: Environment
}

/** An application that serves, for as long as a test takes. */
export interface TestService {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  readonly database: Database
  /** Asks the service: `fetch('/api/books/')`. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Answers what is under way, and stops. */
  close(): Promise<void>
}

const LOG: Log = {
  info: () => {},
  error: (entry) => void process.stderr.write(`${inspect(entry)}\n`),
}

/**
 * Starts an application inside a test, on a free port and on a database of its own, with all migrations applied. What fails
 * within a request goes to the error output.
 * @throws Error with every mistake of resources.yaml and its line; MigrationError; DatabaseRefused
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
      fetch: (asked, init) => fetch(url + asked, init),
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
