import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Statement } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, watchDatabase } from '../support/database.js'

// The SQL of a service without `auth`. SNIPPETCTL_DOCS=write rewrites it; review the difference.
const FILE = 'test/fixtures/statements-without-auth.txt'

const YAML = `version: 1
api: { prefix: "" }
models:
  shelf:
    table: shelves
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      shelf: { type: belongs_to, model: shelf, nullable: true }
      sold: { type: integer, default: 0 }
resources:
  shelf: { model: shelf, path: /shelves/ }
  book:
    model: book
    path: /books/
    filterable: { title: [exact], sold: [gt] }
    orderable: [title]
    search: [title]
    distinct: [title]
    expand: [shelf]
    sparse_fields: true
    bulk: [create, partial_update, destroy]
`

let api: Api
let sent: readonly Statement[]
beforeAll(async () => {
  const { watched, sent: seen } = watchDatabase(await openTestDatabase(ddlOf(specOf(YAML))))
  sent = seen
  api = await startApi(YAML, { database: watched })
})
afterAll(() => api.close())

const REQUESTS: readonly (readonly [string, string, unknown?, string?])[] = [
  ['POST', '/shelves/', { name: 'a' }],
  ['POST', '/books/', { title: 'a', shelf: 1 }],
  ['POST', '/books/', [{ title: 'b' }, { title: 'c', sold: 3 }]],
  ['GET', '/books/1/'],
  ['GET', '/books/1/?fields=title&expand=shelf'],
  ['GET', '/books/?title=a&sold__gt=1&ordering=-title&search=x'],
  ['GET', '/books/?distinct=title'],
  ['GET', '/books/?expand=shelf'],
  ['PUT', '/books/1/', { title: 'd', shelf: null, sold: 1 }],
  ['PATCH', '/books/1/', { title: 'e' }],
  ['PATCH', '/books/1/', { title: 'f' }, '"0"'],
  ['PATCH', '/books/', [{ id: 2, title: 'g' }]],
  ['DELETE', '/books/1/', undefined, '"0"'],
  ['DELETE', '/books/1/'],
  ['DELETE', '/books/?ids=2,3'],
]

test('without `auth`, the statements are those of a service without grants', async () => {
  const parts: string[] = []
  for (const [method, path, body, match] of REQUESTS) {
    const start = sent.length
    const response = await api.fetch(path, {
      method,
      headers: { 'content-type': 'application/json', ...(match !== undefined && { 'if-match': match }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    await response.text()
    const texts = sent.slice(start).map(({ text }) => text)
    parts.push([`${method} ${path} ${response.status}`, ...texts].join('\n'))
  }
  const found = `${parts.join('\n\n')}\n`
  if (process.env.SNIPPETCTL_DOCS === 'write') writeFileSync(FILE, found)
  expect(found).toBe(readFileSync(FILE, 'utf8'))
})
