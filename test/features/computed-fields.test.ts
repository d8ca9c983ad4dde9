import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { loadApplication } from '../../src/internal.js'
import type { Statement } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { makeProject } from '../support/cli.js'
import { ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../support/database.js'
import { linksOf } from '../support/links.js'
import { startTasks } from '../support/tasks.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  author:
    table: authors
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      extra: { type: json, nullable: true }
      author: { type: belongs_to, model: author, nullable: true }
      pages: { type: integer, nullable: true }
      secret: { type: string, default: hidden, private: true }
    indexes: [[title, id]]
resources:
  author: { model: author, path: /authors/ }
  book:
    model: book
    path: /books/
    orderable: [title]
    sparse_fields: true
    expand: [author]
    pagination: { style: cursor, page_size: 2 }
    computed:
      full_title: { from: [title, id], type: string }
      sheets: { from: [pages], type: bigint, nullable: true }
      letters: { from: [secret], type: integer, label: Letters of the secret }
  hooked:
    model: book
    path: /hooked/
    computed: { full_title: { from: [title, id], type: string } }
  several:
    model: book
    path: /several/
    bulk: [create, partial_update]
    idempotency: optional
    computed: { full_title: { from: [title, id], type: string } }
  plain: { model: book, path: /plain/ }
  panel: { model: book, path: /panel/, dialect: simple-rest, computed: { full_title: { from: [title, id], type: string } } }
`

interface Book {
  readonly id: bigint
  readonly title: string
  readonly pages: number | null
  readonly secret: string
}

/** Titles that make the function throw, or return a value that is not a text. */
const fullTitle = ({ title, id }: Book): unknown => {
  if (title === 'broken') throw new Error('the binding is broken')
  return title === 'odd' ? Promise.resolve(title) : `"${title}" no. ${id}`
}

const plugin: Plugin = (app) => {
  app.compute<Book>('book', 'full_title', fullTitle)
  app.compute<Book>('book', 'sheets', ({ pages }) => (pages === null ? null : 2n ** 60n + BigInt(pages)))
  app.compute<Book>('book', 'letters', (values) => values.secret.length + Object.keys(values).length - 1)
  app.compute<Book>('hooked', 'full_title', fullTitle)
  app.compute<Book>('several', 'full_title', fullTitle)
  app.compute<Book>('panel', 'full_title', fullTitle)
  app.hooks('hooked', { afterCreate: () => undefined })
}

let database: TestDatabase
let sent: readonly Statement[]
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const watch = watchDatabase(database)
  sent = watch.sent
  api = await startApi(YAML, { database: watch.watched, plugin, checkResponses: true })
  await api.send('POST', '/api/authors/', { name: 'Ada' })
  for (const title of ['One', 'Two', ',"full_title":'])
    await api.send('POST', '/api/plain/', { title, author: 1, extra: { full_title: 1, a: 2 } })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await api.fetch(path, { headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}
const rowsIn = async (table: string) =>
  Number((await database.query({ text: `select count(*) from ${table}`, values: [] })).rows[0]?.[0])

const ONE = '"full_title":"\\"One\\" no. 1","sheets":null,"letters":6}'

describe('computed fields are at the end', () => {
  test.each([
    ['of one record', '/api/books/1/', `"pages":null,${ONE}`],
    [
      'of each record of a page',
      '/api/books/?ordering=-title',
      `,"full_title":"\\"Two\\" no. 2","sheets":null,"letters":6},{"id":1`,
    ],
    ['of a record with hooks', '/api/hooked/1/', ',"full_title":"\\"One\\" no. 1"}'],
    ['if they are selected', '/api/books/1/?fields=letters,title', '{"title":"One","letters":6}'],
    ['alone if no other field is selected', '/api/books/1/?fields=full_title', '{"full_title":"\\"One\\" no. 1"}'],
    ['of a list from which no other field is selected', '/api/books/?fields=letters', '[{"letters":6},{"letters":6}]'],
    ['after related records', '/api/books/1/?expand=author', `"expanded":{"author":{"id":1,"name":"Ada"}},${ONE}`],
  ])('%s', async (_what, path, text) => {
    const answer = await get(path)
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(text)])
    expect(answer.text).not.toMatch(/"secret"|hidden/)
  })

  test('of created and updated records, with every digit', async () => {
    const made = await api.send('POST', '/api/books/', { title: 'New', pages: 3, full_title: 'ignored' })
    const text = await made.text()
    const { id } = JSON.parse(text) as { id: number }
    expect([made.status, text]).toEqual([
      201,
      expect.stringContaining(`,"full_title":"\\"New\\" no. ${id}","sheets":1152921504606846979,`),
    ])
    const changed = await api.send('PATCH', `/api/books/${id}/`, { title: 'Newer' })
    expect([changed.status, await changed.text()]).toEqual([200, expect.stringContaining(`"\\"Newer\\" no. ${id}"`)])
    expect((await api.fetch(`/api/books/${id}/`, { method: 'DELETE' })).status).toBe(204)
  })

  test('of every page that links lead to', async () => {
    const { next = '' } = linksOf(await get('/api/books/?ordering=-title'))
    expect((await get(next)).text).toMatch(/^\[{"id":3,"title":",\\"full_title\\":",.*"letters":6}\]$/)
  })

  test('with one statement, which reads only the needed columns', async () => {
    const from = sent.length
    await get('/api/books/?fields=letters')
    await get('/api/books/1/?fields=full_title')
    expect(sent).toHaveLength(from + 2)
    const [list, one] = sent.slice(from)
    expect(list?.text).not.toMatch(/title|pages|extra/)
    expect(one?.text).not.toMatch(/secret|pages|extra/)
  })

  test('at no cost for resources without them', async () => {
    await get('/api/plain/1/')
    const [document, ...others] = sent.at(-1)?.text.split('::text') ?? []
    expect(document).toMatch(/^select \(select row_to_json\("@"\)$/)
    expect(others).toHaveLength(1)
  })
})

describe("a record's version", () => {
  const tagOf = async (path: string) => (await get(path)).headers.get('etag') ?? ''

  test.each(['1', '3'])('has a hash of its stored fields: %s', async (id) => {
    const computed = await tagOf(`/api/books/${id}/`)
    expect(computed.slice(0, 44)).toBe((await tagOf(`/api/plain/${id}/`)).slice(0, 44))
    expect((await get(`/api/books/${id}/`, { 'if-none-match': computed })).status).toBe(304)
    const change = (tag: string) => api.send('PATCH', `/api/books/${id}/`, {}, { 'if-match': tag })
    expect((await change(computed)).headers.get('etag')).toBe(computed)
    expect((await change('"x"')).status).toBe(412)
  })

  test('is another for readers if a computed field changes with a hidden field, but not for writers', async () => {
    const before = await tagOf('/api/books/2/')
    await database.query({ text: "update books set secret = 'hidden longer' where id = 2", values: [] })
    const read = await get('/api/books/2/', { 'if-none-match': before })
    const after = read.headers.get('etag') ?? ''
    expect([read.status, read.text]).toEqual([200, expect.stringContaining('"letters":13}')])
    expect(after).not.toBe(before)
    const statuses = (tags: string) =>
      Promise.all([
        get('/api/books/2/', { 'if-match': tags }),
        api.send('PATCH', '/api/books/2/', {}, { 'if-match': tags }),
      ]).then((answers) => answers.map(({ status }) => status))
    expect(await statuses(before)).toEqual([412, 200])
    expect(await statuses(`${before}, ${after.slice(0, -1)}-br"`)).toEqual([200, 200])
    expect(await statuses(`W/${after}`)).toEqual([412, 412])
  })

  test('can be named by callers who see only computed fields', async () => {
    const yaml = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { development: { ann: {} } }
models:
  card: { table: cards, fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 9 } } }
resources:
  card:
    model: card
    path: /cards/
    concurrency: required
    computed: { full: { from: [title], type: string } }
    access: [{ to: signed_in, may: read, fields: [full] }, { to: signed_in, may: change, fields: [title] }]
`
    const cards = await startTasks({ yaml, plugin: (app) => app.compute('card', 'full', ({ title }) => `${title}!`) })
    try {
      await cards.database.query({ text: "insert into cards (title) values ('a')", values: [] })
      const { headers } = await cards.as('ann', 'GET', '/cards/1/')
      const change = (title: string) =>
        cards.as('ann', 'PATCH', '/cards/1/', { title }, { 'if-match': headers.get('etag') ?? '' })
      expect(await change('b')).toMatchObject({ status: 200, json: { full: 'b!' } })
    } finally {
      await cards.close()
    }
  })
})

describe('a function that fails', () => {
  test.each([
    ['throws', 'broken', 'the computed field `full_title` of `book` (plugin ./plugin.mjs): the binding is broken'],
    [
      'returns a value of another type',
      'odd',
      'the computed field `full_title` of `book` (plugin ./plugin.mjs): it returned {}, which is not a valid string',
    ],
  ])('because it %s causes a logged 500 without details, and writes nothing', async (_what, title, message) => {
    const rows = await rowsIn('books')
    const from = api.logged.length
    const made = await api.send('POST', '/api/books/', { title })
    expect([made.status, await made.text()]).toEqual([500, expect.not.stringMatching(/full_title|binding|plugin/)])
    expect(api.logged.slice(from)).toContainEqual(
      expect.objectContaining({ event: 'failure', cause: expect.objectContaining({ message }) }),
    )
    expect((await api.send('POST', '/api/hooked/', { title })).status).toBe(500)
    expect((await api.send('PATCH', '/api/books/1/', { title })).status).toBe(500)
    expect([await rowsIn('books'), (await get('/api/plain/1/')).text]).toEqual([rows, expect.stringContaining('"One"')])
  })

  test('rolls back a bulk operation', async () => {
    const rows = await rowsIn('books')
    const titles = ['fine', 'broken'].map((title) => ({ title }))
    expect((await api.send('POST', '/api/several/', titles)).status).toBe(500)
    const changes = titles.map(({ title }, place) => ({ id: place + 1, title }))
    expect((await api.send('PATCH', '/api/several/', changes)).status).toBe(500)
    expect([await rowsIn('books'), (await get('/api/plain/1/')).text]).toEqual([rows, expect.stringContaining('"One"')])
  })

  test('keeps a record if its deletion would return it', async () => {
    const made = await api.send('POST', '/api/plain/', { title: 'broken' })
    const { id } = (await made.json()) as { id: number }
    expect((await api.fetch(`/api/panel/${id}`, { method: 'DELETE' })).status).toBe(500)
    expect((await api.fetch(`/api/plain/${id}/`, { method: 'DELETE' })).status).toBe(204)
  })

  test('does not truncate a list', async () => {
    await api.send('POST', '/api/plain/', { title: 'broken' })
    const list = await get('/api/books/?page_size=50')
    expect([list.status, list.headers.get('content-type')]).toEqual([500, 'application/problem+json'])
    expect((await get('/api/books/?page_size=50&fields=id')).status).toBe(200)
    await database.query({ text: `delete from books where title = 'broken'`, values: [] })
  })
})

test('bulk responses and replayed responses have computed fields', async () => {
  const key = { 'idempotency-key': 'one-that-was-made-for-this' }
  const [first, second] = [
    await api.send('POST', '/api/several/', [{ title: 'A' }, { title: 'B' }], key),
    await api.send('POST', '/api/several/', [{ title: 'A' }, { title: 'B' }], key),
  ]
  const text = await first.text()
  expect(text).toMatch(/"full_title":"\\"A\\" no\. \d+"}.*"full_title":"\\"B\\" no\. \d+"}/)
  expect([second.status, await second.text()]).toEqual([201, text])
})

test('OPTIONS describes computed fields', async () => {
  const options = await api.fetch('/api/books/', { method: 'OPTIONS' })
  expect(await options.json()).toMatchObject({
    fields: { letters: { type: 'integer', label: 'Letters of the secret', read_only: true, required: false } },
  })
})

describe('the configuration', () => {
  const withComputed = (computed: string) => YAML.replace(/ {4}computed:\n(?: {6}.*\n)+/, `    computed: ${computed}\n`)

  test.each([
    ['the name of a field', '{ pages: { from: [id], type: string } }', '28:17 SC304'],
    ['the name `expanded`', '{ expanded: { from: [id], type: string } }', '28:17 SC304'],
    ['an unknown field', '{ a: { from: [titel], type: string } }', '28:29 SC305'],
    ['an unknown type', '{ a: { from: [title], type: str } }', '28:43 SC204'],
    ['a type that needs options', '{ a: { from: [title], type: choice } }', '28:43 SC204'],
    ['a type that is not a single value', '{ a: { from: [title], type: json } }', '28:43 SC204'],
    ['no source fields', '{ a: { from: [], type: string } }', '28:28 SC207'],
    ['a missing type', '{ a: { from: [title] } }', '28:17 SC202'],
  ])('rejects %s', (_what, computed, mistake) => {
    expect(mistakesOf(withComputed(computed))).toEqual([mistake])
  })
})

describe('an application', () => {
  const load = async (register: Plugin, text = YAML) => {
    const { folder, remove } = await makeProject({ 'resources.yaml': text, 'plugin.mjs': '' })
    const importModule = async () => ({ default: register })
    const loaded = await loadApplication({ file: `${folder}/resources.yaml`, env: {}, importModule })
    await remove()
    return loaded.ok
      ? []
      : loaded.diagnostics.map(
          ({ code, message, range, help }) => `${range.start.line} ${code} ${[message, ...help].join('; ')}`,
        )
  }

  test('does not start unless plugins compute each of them', async () => {
    const some: Plugin = (app) => app.compute('book', 'sheets', () => null)
    const missing = (resource: string, field: string, from: string) =>
      `SC355 no plugin computes \`${field}\` of \`${resource}\`; compute it in a plugin with \`app.compute('${resource}', '${field}', ({ ${from} }) => …)\``
    expect(await load(some)).toEqual([
      `29 ${missing('book', 'full_title', 'title, id')}`,
      `31 ${missing('book', 'letters', 'secret')}`,
      `35 ${missing('hooked', 'full_title', 'title, id')}`,
      `41 ${missing('several', 'full_title', 'title, id')}`,
      `43 ${missing('panel', 'full_title', 'title, id')}`,
    ])
  })

  test.each<[what: string, register: Plugin, message: string]>([
    [
      'an undeclared field',
      (app) => app.compute('book', 'sheet', () => 1),
      'declares no computed field `sheet`; a computed field with a similar name exists: `sheets`',
    ],
    [
      'a field of an unknown resource',
      (app) => app.compute('boook', 'sheets', () => 1),
      'no resource is named `boook`',
    ],
    [
      'a field that is computed already',
      (app) => [1, 2].forEach(() => app.compute('book', 'sheets', () => 1)),
      '`sheets` of `book` is already computed',
    ],
    [
      'a field with a value that is not a function',
      (app) => app.compute('book', 'sheets', 5 as never),
      'the computation of `sheets` of `book` is 5; it must be a function',
    ],
  ])('rejects a plugin that computes %s', async (_what, register, message) => {
    expect(await load(register)).toEqual([expect.stringContaining(message)])
  })
})
