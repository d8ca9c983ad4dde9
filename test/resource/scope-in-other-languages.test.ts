import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import type { Connection, Database } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  shelf:
    table: shelves
    fields:
      id: { type: bigint, primary_key: true }
      tenant: { type: integer }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      shelf: { type: belongs_to, model: shelf }
resources:
  shelf: { model: shelf, path: /shelves/ }
  book: { model: book, path: /books/ }
`

const plugin: Plugin = (app) => {
  app.use((context, next) => {
    context.scope('shelf', [{ field: 'tenant', value: 7 }])
    return next()
  })
}

/** A server whose messages have the quotes of German. */
function inGerman(database: Database): Database {
  const translate = ({ query }: Connection): Connection => ({
    query: (statement) =>
      query(statement).catch((error: Error) => {
        const driverError = error.cause instanceof Error ? error.cause : error
        driverError.message = driverError.message.replace(/"(.*)"/, '»$1«')
        throw error
      }),
  })
  const transaction: Database['transaction'] = (work, options) =>
    database.transaction((connection) => work(translate(connection)), options)
  return Object.create(database, {
    query: { value: translate(database).query },
    transaction: { value: transaction },
  }) as Database
}

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await database.query({ text: 'insert into shelves (tenant) values (7), (8)', values: [] })
  api = await startApi(YAML, { plugin, database: inGerman(database) })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test.each([
  ['/api/shelves/', { tenant: 8 }, 400, 'The record would be outside the scope of this request'],
  ['/api/books/', { shelf: 2 }, 409, 'Shelf names a record that does not exist'],
])(
  'a write to %s outside the scope is rejected whatever quotes the server uses',
  async (path, body, status, detail) => {
    const answer = await api.send('POST', path, body)
    expect([answer.status, await answer.json()]).toEqual([status, expect.objectContaining({ detail })])
  },
)
