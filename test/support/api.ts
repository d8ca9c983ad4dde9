import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Plugin } from '../../src/index.js'
import { createService, type Database, loadApplication } from '../../src/internal.js'
import type { Limits } from '../../src/http/connections/limits.js'
import { type Comparison, compareResponses } from './responses.js'
import { ddlOf } from './config.js'
import { openTestDatabase } from './database.js'

/** An application that serves with its own database. */
export interface Api {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  readonly database: Database
  /** The SQL texts that the server caches. */
  readonly statements: { readonly kept: number }
  /** The log entries, in order. */
  readonly logged: readonly { readonly event: string }[]
  /** Every response, compared with the OpenAPI document. */
  readonly comparison: Comparison | undefined
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Sends `body` as JSON. */
  send(method: string, path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Serves another configuration from the next request on, like a reload. Responses must not be compared with a document. */
  replace(yaml: string): Promise<void>
  /** @throws Error if a response differs from the OpenAPI document */
  close(): Promise<void>
}

interface ApiOptions {
  readonly database?: Database
  readonly env?: Readonly<Record<string, string>>
  /** The plugin for `plugins: [./plugin.mjs]` in a YAML text. */
  readonly plugin?: Plugin
  /** Whether responses are compared with the OpenAPI document; false if the database contains invalid values. */
  readonly checkResponses?: boolean
  readonly limits?: Partial<Limits>
  readonly host?: string
}

const UNDISTURBED: Partial<Limits> = {
  /** The check sends statements of its own, and has others prepared again: on a slow machine, in the middle of a test that counts them. */
  tableCheckInterval: Infinity,
  /** On a slow machine, seconds can pass between two requests of a test: the server then closes the connection on which the second one is sent. */
  keepAliveTimeout: 60_000,
}

/** The repository's own application. */
export const SNIPPETS_FILE = resolve('resources.yaml')

/** Starts the application of a file or a YAML text, with empty tables. */
export async function startApi(
  yaml: string,
  { database, env = {}, plugin, checkResponses = true, limits = {}, host = '127.0.0.1' }: ApiOptions = {},
): Promise<Api> {
  const load = async (file: string) => {
    const found = await loadApplication({
      file,
      env,
      importModule: async (path) => (plugin ? { default: plugin } : import(path)),
    })
    if (!found.ok) throw new Error(found.diagnostics.map((each) => JSON.stringify(each)).join('\n'))
    return found
  }
  const { file, remove } = await asFile(yaml)
  const loaded = await load(file)
  const opened = database ?? (await openTestDatabase(ddlOf(loaded.spec)))
  const logged: { event: string }[] = []
  const log = {
    info: (entry: { event: string }) => void logged.push(entry),
    error: (entry: { event: string }) => void logged.push(entry),
  }
  const service = createService(loaded.app, opened, { log, limits: { ...UNDISTURBED, ...limits } })
  const comparison = checkResponses ? compareResponses(service.server, loaded.app) : undefined
  const { url } = await service.listen({ port: 0, host })
  const request = (path: string, init?: RequestInit) => fetch(url + path, init)
  return {
    url,
    database: opened,
    statements: service.statements,
    logged,
    comparison,
    fetch: request,
    send: (method, path, body, headers = {}) =>
      request(path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    async replace(next) {
      const other = await asFile(next)
      service.replace((await load(other.file)).app)
      await other.remove()
    },
    async close() {
      await service.drain()
      if (!database) await opened.close()
      await remove()
      if (comparison && comparison.errors.length > 0) throw new Error(comparison.errors.slice(0, 10).join('\n'))
    },
  }
}

async function asFile(yaml: string): Promise<{ file: string; remove: () => Promise<void> }> {
  if (!yaml.includes('\n')) return { file: yaml, remove: async () => {} }
  const folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  const file = join(folder, 'resources.yaml')
  await writeFile(file, yaml)
  await writeFile(join(folder, 'plugin.mjs'), '')
  return { file, remove: () => rm(folder, { recursive: true }) }
}
