import type { App } from './application.js'
import type { Connection, Database } from './db/database.js'
import { documentForm, rowForm } from './db/forms.js'
import { compileGraphs } from './db/graph.js'
import { guardTransactions } from './db/guards.js'
import { compileStore, type Store } from './db/store.js'
import type { Records } from './http/context.js'
import type { Log } from './http/log.js'
import { createServer, type HttpServer } from './http/server.js'
import type { Row } from './resource/plan.js'
import type { Resource } from './resource/resource.js'
import { remember } from './remember.js'
import type { RouteTable } from './http/routes.js'

interface ServiceOptions {
  readonly log: Log
}

/** An application on a database: what listens, answers and drains. Does not own the database. */
export function createService(app: App, database: Database, { log }: ServiceOptions): HttpServer {
  return createServer({ routes: app.routes, mounts: app.mounts, records: bindRecords(app, database), log })
}

interface Stores {
  readonly rows: (connection: Connection) => Store<Row>
  readonly documents: (connection: Connection) => Store<string, Uint8Array>
}

/** The records of every resource; statements are compiled at a resource's first use and kept. */
function bindRecords(app: App, database: Database): Records {
  const graphs = compileGraphs(app.spec.models)
  const storesOf = remember((resource: Resource): Stores => compileStores(resource, app.routes))
  const on = (connection: Connection, transaction: Records['transaction']): Records => ({
    store: remember((resource: Resource) => storesOf(resource).rows(connection)),
    documents: remember((resource: Resource) => storesOf(resource).documents(connection)),
    graph: graphs(connection),
    transaction,
  })
  const inside = (connection: Connection): Records => {
    const records: Records = on(connection, (work) => work(records))
    return records
  }
  const transaction = guardTransactions(database, app.spec.models)
  return on(database, (work) => transaction((connection) => work(inside(connection))))
}

function compileStores(resource: Resource, routes: RouteTable): Stores {
  return {
    rows: compileStore(resource, rowForm(resource)),
    documents: compileStore(resource, documentForm(resource, routes)),
  }
}
