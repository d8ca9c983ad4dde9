import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'

const key = 'id: { type: bigint, primary_key: true }'
const author = 'type: belongs_to, model: author'
const YAML = `version: 1
api: { prefix: "" }
models:
  author: { fields: { ${key} } }
  book: { fields: { ${key}, author: { ${author} } } }
  note: { fields: { ${key}, author: { ${author} } } }
  bill: { fields: { ${key}, payer: { ${author}, private: true, default: 1 } } }
resources:
  author: { model: author, path: /authors/ }
  novel: { model: book, path: /novels/ }
  bill: { model: bill, path: /bills/, read_only: true }
`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test.each([
  ['a public relation', 'insert into book (author_id) values (1)', 'A record of novel still refers to it, by author'],
  [
    'a model that is not exposed',
    'insert into note (author_id) values (1)',
    'The change conflicts with another record',
  ],
  ['a private relation', 'insert into bill (payer_id) values (1)', 'The change conflicts with another record'],
])(
  'a record that %s references is not deleted, and the message names only public fields',
  async (_what, text, detail) => {
    const run = (sql: string) => database.query({ text: sql, values: [] })
    await run('truncate author, book, note, bill restart identity')
    await run('insert into author default values')
    await run(text)
    const answer = await api.fetch('/authors/1/', { method: 'DELETE' })
    expect(answer.status).toBe(409)
    expect(await answer.json()).toMatchObject({ detail })
  },
)
