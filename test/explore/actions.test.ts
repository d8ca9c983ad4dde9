import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'

const YAML = `version: 1
api: { prefix: "", explore: true }
auth:
  roles: { names: [reader, editor] }
  development: { ann: { roles: [reader] }, eve: { roles: [editor] } }
  routes: { explore: anyone }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 100 } }
  part:
    table: parts
    primary_key: [shelf, place]
    fields: { shelf: { type: string, max: 10 }, place: { type: integer } }
resources:
  book:
    model: book
    path: /books/
    read_only: true
    idempotency: required
    access: [{ to: editor, may: [read, lend, cover, clear] }, { to: reader, may: [read, cover] }]
  part: { model: part, path: /parts/, dialect: plain, access: [{ to: editor, may: [read, move] }] }
`

const plugin: Plugin = (app) => {
  app.action<{ readonly days: number }>('book', 'lend', {
    summary: 'Lend <this> book',
    input: { days: { type: 'integer', minimum: 1, maximum: 28, default: 14 }, note: { type: 'string', max: 9 } },
    output: { days: { type: 'integer' } },
    handle: ({ input: { days } }) => ({ days }),
  })
  app.action<{ readonly width: number | null }>('book', 'cover', {
    method: 'GET',
    summary: 'Draw a cover',
    input: {
      width: { type: 'integer', maximum: 9, nullable: true },
      language: { type: 'string', max: 2, nullable: true, default: 'en' },
    },
    output: { width: { type: 'integer', nullable: true } },
    handle: ({ input: { width } }) => ({ width }),
  })
  app.action('book', 'clear', { on: 'collection', method: 'DELETE', summary: 'Clear', handle: () => undefined })
  app.action('part', 'move', { method: 'PUT', summary: 'Move it', output: 'record', handle: () => undefined })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, env: { NODE_ENV: 'development' }, checkResponses: false })
  await api.database.query({ text: `insert into books (title) values ('Always')`, values: [] })
  await api.database.query({ text: `insert into parts values ('a/b', 1)`, values: [] })
})
afterAll(() => api.close())

const page = async (path: string, name = 'eve') =>
  (await api.fetch(`/explore${path}`, { headers: { authorization: `Dev ${name}` } })).text()
const formsOf = (html: string) =>
  [...html.matchAll(/<form data-method="([^"]+)" data-path="([^"]+)"/g)].map((all) => all.slice(1))

describe('the page of a record', () => {
  test('has a button for each action, and a form with its input and its title', async () => {
    const html = await page('/books/1/')
    expect(html).toContain('data-open="action-lend" accesskey="a">Lend &lt;this&gt; book</button>')
    expect(html).toContain('<h2 id="heading-action-lend">Lend &lt;this&gt; book</h2>')
    expect(formsOf(html)).toEqual([['POST', '/books/1/lend/']])
    expect(html).toMatch(/<form data-method="POST" [^>]* data-keyed data-runs="Lend &lt;this&gt; book" data-result/)
    expect(html).toMatch(/<input id="action-lend-days" name="days" data-kind="number"/)
    expect(html).toContain('default 14')
    expect(html).toContain('<form method="get" action="/explore/books/1/cover/"')
    expect(html).toContain('default &quot;en&quot;')
    expect(html).not.toContain('action-clear')
  })

  test('has them where the key has several fields', async () => {
    expect(formsOf(await page('/parts/a%2Fb/1/'))).toEqual([['PUT', '/parts/a%2Fb/1/move/']])
  })

  test('has only those that the caller may run', async () => {
    const html = await page('/books/1/', 'ann')
    expect(html).toContain('Draw a cover')
    expect(html).not.toContain('action-lend')
    expect(await page('/books/', 'ann')).not.toContain('action-clear')
  })
})

test('a list has the actions of the list', async () => {
  expect(formsOf(await page('/books/'))).toEqual([['DELETE', '/books/clear/']])
  expect(await page('/books/')).toContain('<p>This action takes no input.</p>')
})

test('the page of an action has its form, with the values of the query', async () => {
  const html = await page('/books/1/cover/?width=7')
  expect(html).toContain('<h1 dir="auto">Draw a cover</h1>')
  expect(html).toMatch(/name="width"[^>]* value="7"/)
  expect(formsOf(await page('/books/1/lend/'))).toEqual([['POST', '/books/1/lend/']])
  expect(await page('/books/1/lend/', 'ann')).not.toContain('data-open="action')
})

test('a page links to the operations of its resource in Swagger UI', async () => {
  const here = await startApi(SNIPPETS_FILE, { checkResponses: false })
  try {
    expect(await (await here.fetch('/explore/api/snippets-viewset/')).text()).toMatch(
      /<a href="\/docs\/#\/[a-z]+">Documentation<\/a>/,
    )
  } finally {
    await here.close()
  }
  // Swagger UI is not installed next to the configuration of the other tests.
  expect(await page('/books/')).not.toContain('/docs/#')
})
