import type { App } from './application.js'
import { compileAuthenticate } from './auth/authenticate.js'
import { compileStoredKeys } from './db/records/stored-keys.js'
import { credentialHeaders } from './auth/protected-resource.js'
import { type StoredResponses, compileStoredResponses } from './db/records/stored-responses.js'
import { suggest } from './config/words.js'
import type { Connection, Database } from './db/database.js'
import { documentProjection, rowProjection } from './db/statements/projections.js'
import { guardTransactions } from './db/records/guards.js'
import type { Bounds } from './db/statements/rules/bounds.js'
import { membershipStatement } from './db/statements/rules/rules.js'
import { varying, varyingColumns } from './db/statements/lists/varied-documents.js'
import { tableAlias } from './fields/table-name.js'
import type { StatementCounts } from './db/statements/prepared-statements.js'
import { compileQueries, type Queries } from './db/queries/compile-queries.js'
import { compileListReader } from './db/records/list-reader.js'
import { compileStore, type StoreParts } from './db/records/compile-store.js'
import { watchSkippedRows } from './db/records/skipped-rows.js'
import type { Store } from './db/records/store.js'
import { createDriftGate, type DriftGate } from './health/drift.js'
import { type Records, recordsInside } from './http/records.js'
import { bindExports, type Exports } from './http/operations/exports.js'
import { compileCors } from './http/headers/cors.js'
import { boundStores, lengthOfRows, lengthOfText } from './http/bounded-store.js'
import { DEFAULT_LIMITS, type Limits } from './http/connections/limits.js'
import { compileHosts } from './http/headers/hosts.js'
import type { Log } from './http/log.js'
import { withBuiltIn, protectedResourceRoutes } from './http/built-in-routes.js'
import { createLargeReads, type LargeReads } from './http/connections/large-reads.js'
import { createSendBudget, type SendBudget } from './http/connections/send-budget.js'
import { compilePublicUrl } from './http/headers/public-url.js'
import { endsWithin } from './http/connections/ends-within.js'
import { createServer, type HttpServer, type ServerParts } from './http/server/server.js'
import type { Spans } from './http/server/spans.js'
import type { Traffic } from './http/connections/traffic.js'
import { liveTables } from './migrations/drift/misfits.js'
import type { Reading } from './resource/access.js'
import type { Row } from './resource/plan.js'
import type { Resource } from './resource/resource.js'
import { remember } from './foundation/remember.js'
import { openApiRoutes } from './openapi/serve.js'

interface ServiceOptions {
  readonly log: Log
  /** Counts requests, if metrics are on. */
  readonly traffic?: Traffic | undefined
  /** Traces requests, if tracing is on. */
  readonly spans?: Spans | undefined
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Limits>
}

/** A running server and its state. */
export interface Service extends Omit<HttpServer, 'replace'> {
  /** Serves another application on the same database, from the next request on. */
  replace(app: App): void
  /** Has the pages say that the configuration that was saved last is not served. */
  warn(failure: string): void
  /** The tables that differ from their models: those that cannot be served, and all. */
  readonly unserved: () => readonly string[]
  readonly drifted: () => readonly string[]
  readonly statements: Readonly<StatementCounts>
}

/** Serves an application on a database, which it does not own. */
export function createService(
  app: App,
  database: Database,
  { log, traffic, spans, limits = {} }: ServiceOptions,
): Service {
  const statements: StatementCounts = { kept: 0, unkept: 0, generation: 0 }
  const allLimits = { ...DEFAULT_LIMITS, ...limits }
  const budget = createSendBudget(allLimits)
  const largeReads = createLargeReads()
  const slots = { running: 0 }
  const onAltered = () => (statements.generation += 1)
  let own: string | undefined
  const serve = (served: App) => {
    const tables = liveTables(served.spec, database, served.isReplaced)
    const gate = createDriftGate({ tables, log, onAltered, interval: allLimits.tableCheckInterval })
    const records = bindRecords(served, database, { gate, statements, budget, largeReads, slots, times: allLimits })
    const { mounts, pages } = served
    pages?.nameDatabase(database)
    const routes = withBuiltIn(served.routes, [...openApiRoutes(served), ...protectedResourceRoutes(served.spec.auth)])
    const cors = served.spec.api.cors && compileCors(served.spec.api.cors)
    const hosts = compileHosts({ ...served.spec.api, development: served.development, own: () => own })
    const publicUrl = compilePublicUrl(served.spec.api)
    const access = servedAccess(served, database, gate)
    const { compression } = served.spec.api
    const parts = { routes, mounts, pages, records, access, cors, hosts, publicUrl, compression }
    return { gate, parts: { ...parts, onMismatch: gate.suspect } }
  }
  let now = serve(app)
  database.replica?.onChange((change) => {
    if (!change) return log.info({ event: 'replica_used', msg: 'reads go to the replica again' })
    log.error({ event: 'replica_unused', msg: `reads go to the primary: ${change.reason}`, cause: change.cause })
  })
  const versions = createVersions(app, allLimits.replacedTimeout, log)
  let drained: Promise<void> | undefined
  const drain = async (): Promise<void> => {
    try {
      await server.drain()
      await versions.close()
    } finally {
      now.gate.close()
    }
  }
  const server = createServer({ ...now.parts, log, traffic, spans, limits, budget, largeReads })
  return {
    ...server,
    listen: (address) => {
      own = address.host.includes(':') ? `[${address.host}]` : address.host.toLowerCase()
      return server.listen(address)
    },
    replace: (next) => {
      const { gate } = now
      Object.assign(statements, { kept: 0, generation: statements.generation + 1 })
      now = serve(next)
      versions.replace(next, server.replace(now.parts))
      gate.close()
    },
    warn: (failure) => now.parts.pages?.warn(failure),
    drain: () => (drained ??= drain()),
    unserved: () => now.gate.unserved(),
    drifted: () => now.gate.drifted(),
    statements,
  }
}

/** The versions of an application with open plugins: the current one, and older ones with requests in progress. */
interface Versions {
  /** Closes the current version once its last request has ended. */
  replace(next: App, ended: Promise<void>): void
  /** Closes all versions. */
  close(): Promise<void>
}

function createVersions(first: App, replacedTimeout: number, log: Log): Versions {
  const open = new Set([first])
  let serving = first
  const closeAfter = async (version: App, ended: Promise<void>): Promise<void> => {
    await endsWithin(ended, replacedTimeout, { ref: false })
    await version.close(log)
    open.delete(version)
  }
  return {
    replace: (next, ended) => {
      open.add(next)
      void closeAfter(serving, ended)
      serving = next
    },
    close: async () => {
      await Promise.all([...open].map((version) => version.close(log)))
    },
  }
}

/** How the server authenticates callers and limits them; undefined without `auth`. */
function servedAccess(
  { access, authenticators, development, routes, spec }: App,
  database: Database,
  gate: DriftGate,
): ServerParts['access'] {
  const { keys } = spec
  const stored = keys && compileStoredKeys(keys)(database)
  const findKey =
    stored &&
    (async (id: string) => {
      gate.admit(keys)
      return stored.find(id)
    })
  return (
    access && {
      ...access,
      vary: credentialHeaders(access.auth),
      isOwn: (path) => routes.match('OPTIONS', path) !== undefined,
      authenticate: compileAuthenticate(access.auth, { development, findKey, authenticators }),
    }
  )
}

interface Watch {
  readonly gate: DriftGate
  readonly statements: StatementCounts
  readonly budget: SendBudget
  readonly largeReads: LargeReads
  /** Exports in progress, of all versions. */
  readonly slots: { running: number }
  readonly times: Exports['times']
}

interface Stores {
  readonly rows: (connection: Connection) => (bounds?: Bounds) => Store<Row>
  readonly documents: (connection: Connection) => (bounds?: Bounds) => Store<string, Uint8Array>
}

/** Creates the stores of resources; statements are compiled on first use and kept. */
function bindRecords(app: App, database: Database, { gate, statements, budget, largeReads, ...watch }: Watch): Records {
  const queries = compileQueries(app.spec)
  const skipped = watchSkippedRows(database)
  const common = { counts: statements, skipped }
  const storesOf = remember((resource: Resource): Stores => compileStores(resource, app, common))
  const { answers } = app.spec
  const models = new Map(app.resources.map(({ spec }) => [spec.name, spec.model]))
  const modelOf = (name: string) => models.get(name) ?? unknownResource(name, [...models.keys()])
  const bindAnswers = answers && compileStoredResponses(answers)
  const answersOn = (connection: Connection): StoredResponses => {
    if (!answers || !bindAnswers) throw new Error('no resource has `idempotency`, so responses cannot be stored')
    gate.admit(answers)
    return bindAnswers(connection)
  }
  const on = (connection: Connection, transaction: Records['transaction'], bound: Bound): Records => ({
    store: storeFinder(gate, (resource) => [storesOf(resource).rows, bound(lengthOfRows)], connection),
    documents: storeFinder(gate, (resource) => [storesOf(resource).documents, bound(lengthOfText)], connection),
    modelOf,
    queries: bindQueries(queries, connection, gate),
    answers: () => answersOn(connection),
    memberships: async (memberships, caller) =>
      JSON.stringify((await connection.query(membershipStatement(memberships, caller))).rows),
    needsTransaction: skipped.needsTransaction,
    transaction,
  })
  const inside = (connection: Connection): Records =>
    recordsInside(connection, (connection, transaction) => on(connection, transaction, unbounded))
  const transaction = guardTransactions(database, app.spec.models)
  const outside: Records['transaction'] = (work, options) =>
    transaction((connection) => work(inside(connection)), options)
  const { reads } = database
  const bound: Bound = (measure) => boundStores(budget, largeReads, measure)
  const reader = (resource: Resource) =>
    compileListReader(resource.spec.model, documentsOf(resource, app, resource.access?.list))
  const exports = bindExports(database, { ...watch, transaction, admit: gate.admit, reader })
  return { ...on(database, outside, bound), exports, reading: reads && on(reads, outside, bound) }
}

function unknownResource(name: string, names: readonly string[]): never {
  throw new Error(`no resource is named \`${name}\`; ${suggest(name, names, 'resource').join('; ')}`)
}

function bindQueries({ knex, models, run }: Queries, connection: Connection, gate: DriftGate): Records['queries'] {
  return {
    knex,
    models: (knex) => models(knex, gate.admit),
    run: (query, options) => run(connection, query, options),
  }
}

/** Bounds the memory of lists from some stores. */
type Bound = <Items>(measure: (items: Items) => number) => Bind<Items>
type Bind<Items> = <Item>(store: Store<Item, Items>) => Store<Item, Items>

/** Lists in a transaction do not wait for clients, because that would occupy its connection. */
const unbounded: Bound = () => (store) => store

/** Finds the stores of resources on one connection. Stores without bounds are kept, and those of each caller; stores with a scope belong to one request. */
function storeFinder<Item, Items>(
  gate: DriftGate,
  find: (
    resource: Resource,
  ) => readonly [open: (connection: Connection) => (bounds?: Bounds) => Store<Item, Items>, bind: Bind<Items>],
  connection: Connection,
): (resource: Resource, bounds?: Bounds) => Store<Item, Items> {
  const of = remember((resource: Resource) => {
    const [open, bind] = find(resource)
    const opened = open(connection)
    const within = (bounds: Bounds) => bind(opened(bounds))
    return { all: bind(opened()), within, ofCaller: remember(within) }
  })
  return (resource, bounds) => {
    gate.admit(resource.spec.model)
    const { all, within, ofCaller } = of(resource)
    if (bounds === undefined) return all
    return bounds.scopes === undefined ? ofCaller(bounds) : within(bounds)
  }
}

/** The documents of a resource, as grants show them. */
function documentsOf(resource: Resource, { routes, computationsOf }: App, reading: Reading | undefined) {
  return documentProjection(resource, routes, computationsOf(resource), reading && varying(reading, readOf(resource)))
}

function readOf({ spec, shown }: Resource) {
  return { owner: tableAlias(spec.model.table), shown }
}

function compileStores(resource: Resource, app: App, parts: Omit<StoreParts, 'spec'>): Stores {
  const around = { ...parts, spec: app.spec }
  const { access } = resource
  const documents = (reading: Reading | undefined) => documentsOf(resource, app, reading)
  const rows = (reading: Reading | undefined) =>
    rowProjection(resource, reading && varyingColumns(reading, readOf(resource)))
  return {
    rows: compileStore(resource, { projection: rows(access?.retrieve), listed: rows(access?.list) }, around),
    documents: compileStore(
      resource,
      { projection: documents(access?.retrieve), listed: documents(access?.list) },
      around,
    ),
  }
}
