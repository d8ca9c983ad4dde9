import type { App } from './application.js'
import { type Answers, compileAnswers } from './db/answers.js'
import type { Connection, Database } from './db/database.js'
import { documentForm, rowForm } from './db/forms.js'
import { compileGraphs } from './db/graph.js'
import { guardTransactions, referrersOf } from './db/guards.js'
import type { StatementCounts } from './db/statements.js'
import { compileStore, type Store } from './db/store.js'
import { createDriftGate, type DriftGate } from './health/drift.js'
import type { Records } from './http/context.js'
import { compileCors } from './http/cors.js'
import type { Limits } from './http/limits.js'
import type { Log } from './http/log.js'
import type { Route } from './http/route.js'
import { createServer, type HttpServer, type ServerParts } from './http/server.js'
import type { Spans } from './http/spans.js'
import type { Traffic } from './http/traffic.js'
import { findMisfits } from './migrations/verify.js'
import type { Row } from './resource/plan.js'
import type { Resource } from './resource/resource.js'
import { remember } from './remember.js'
import { RouteTable } from './http/routes.js'
import { openApiRoutes } from './openapi/serve.js'

interface ServiceOptions {
  readonly log: Log
  /** Where requests are counted, if anybody wants to know. */
  readonly traffic?: Traffic | undefined
  /** Where requests are traced, if anybody has set that up. */
  readonly spans?: Spans | undefined
  /** What its server puts up with, where that is not the usual. */
  readonly limits?: Partial<Limits>
}

/** A server, and what there is to know about it while it runs. */
export interface Service extends Omit<HttpServer, 'replace'> {
  /** Serves another application, on the same database, from the next request on. */
  replace(app: App): void
  /** The tables that are others than those of their models, so that nothing can be served from them. */
  readonly drifted: () => readonly string[]
  readonly statements: Readonly<StatementCounts>
}

/** An application on a database: what listens, answers and drains. Does not own the database. */
export function createService(
  app: App,
  database: Database,
  { log, traffic, spans, limits = {} }: ServiceOptions,
): Service {
  const statements: StatementCounts = { kept: 0, unkept: 0 }
  const serve = (served: App) => {
    const gate = createDriftGate(() => findMisfits(served.spec, database), log)
    const records = bindRecords(served, database, { gate, statements })
    const { mounts, pages } = served
    const routes = withBuiltIn(served.routes, openApiRoutes(served))
    const cors = served.spec.api.cors && compileCors(served.spec.api.cors)
    return { gate, parts: { routes, mounts, pages, records, cors, onMismatch: gate.suspect } }
  }
  let now = serve(app)
  const server = createServer({ ...now.parts, log, traffic, spans, limits })
  return {
    ...server,
    replace: (next) => {
      const { gate } = now
      now = serve(next)
      server.replace(now.parts)
      gate.close()
    },
    drain: () => server.drain().finally(() => now.gate.close()),
    drifted: () => now.gate.drifted(),
    statements,
  }
}

/** The routes of an application, and behind them, at paths that none of them takes, those of the framework. */
function withBuiltIn(routes: RouteTable, builtIn: readonly Route[]): ServerParts['routes'] {
  const behind = new RouteTable()
  for (const route of builtIn) behind.add(route)
  return {
    match: (method, path) => routes.match(method, path) ?? behind.match(method, path),
    rendererAt: (path) => routes.rendererAt(path),
    reverse: (name, params) => routes.reverse(name, params),
  }
}

interface Watch {
  readonly gate: DriftGate
  readonly statements: StatementCounts
}

interface Stores {
  readonly rows: (connection: Connection) => Store<Row>
  readonly documents: (connection: Connection) => Store<string, Uint8Array>
}

/** The records of every resource; statements are compiled at a resource's first use and kept. */
function bindRecords(app: App, database: Database, { gate, statements }: Watch): Records {
  const graphs = compileGraphs(app.spec.models)
  const storesOf = remember((resource: Resource): Stores => compileStores(resource, app, statements))
  const guarded =
    <Found>(find: (resource: Resource) => Found) =>
    (resource: Resource): Found => {
      gate.admit(resource.spec.model)
      return find(resource)
    }
  const { answers } = app.spec
  const bindAnswers = answers && compileAnswers(answers)
  const answersOn = (connection: Connection): Answers => {
    if (!answers || !bindAnswers) throw new Error('no resource has `idempotency`, so that no answers are kept')
    gate.admit(answers)
    return bindAnswers(connection)
  }
  const on = (connection: Connection, transaction: Records['transaction']): Records => ({
    store: guarded(remember((resource) => storesOf(resource).rows(connection))),
    documents: guarded(remember((resource) => storesOf(resource).documents(connection))),
    graph: graphs(connection),
    answers: () => answersOn(connection),
    transaction,
  })
  const inside = (connection: Connection): Records => {
    const records: Records = on(connection, (work) => work(records))
    return records
  }
  const transaction = guardTransactions(database, app.spec.models)
  const outside: Records['transaction'] = (work, options) =>
    transaction((connection) => work(inside(connection)), options)
  const { reads } = database
  return { ...on(database, outside), reading: reads && on(reads, outside) }
}

function compileStores(resource: Resource, { spec, routes, computations }: App, counts: StatementCounts): Stores {
  const around = { counts, referrers: referrersOf(spec, resource.spec.model) }
  return {
    rows: compileStore(resource, rowForm(resource), around),
    documents: compileStore(resource, documentForm(resource, routes, computations.get(resource)), around),
  }
}
