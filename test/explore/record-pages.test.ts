import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
api: { prefix: "", explore: true }
auth:
  roles: { names: [reader, editor] }
  development:
    ann: { roles: [reader] }
    eve: { roles: [editor] }
  routes: { explore: anyone }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      secret: { type: string, max: 20, nullable: true }
      shelf: { type: belongs_to, model: shelf, nullable: true }
  shelf:
    table: shelves
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 20 } }
  part:
    table: parts
    primary_key: [shelf, place]
    fields:
      shelf: { type: string, max: 10 }
      place: { type: integer }
      label: { type: string, max: 20, nullable: true }
  copy:
    table: copies
    fields: { id: { type: bigint, primary_key: true }, shelf: { type: belongs_to, model: shelf }, price: { type: integer }, year: { type: integer } }
  tag:
    table: tags
    fields: { id: { type: bigint, primary_key: true }, extra: { type: json } }
resources:
  copy:
    model: copy
    path: /copies/
    filterable: { price: [exact, gt], year: [exact] }
    access: [{ to: reader, may: read, fields: { except: [price] } }, { to: editor, may: all }]
  tag: { model: tag, path: /tags/, sparse_fields: true, access: [{ to: editor, may: all }] }
  book:
    model: book
    path: /books/
    concurrency: required
    sparse_fields: true
    filterable: { title: [exact, startswith] }
    access:
      - { to: reader, may: read, fields: { except: [secret, shelf] } }
      - { to: editor, may: all }
  shelf: { model: shelf, path: /shelves/, pagination: { style: none }, access: [{ to: editor, may: all }, { to: reader, may: read }] }
  server: { model: book, path: /server/books/, dialect: json-server, concurrency: required, access: [{ to: editor, may: all }] }
  part: { model: part, path: /parts/, dialect: plain, concurrency: required, access: [{ to: editor, may: all }] }
`

const EVE = { authorization: 'Dev eve' }
const ANN = { authorization: 'Dev ann' }
let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { env: { NODE_ENV: 'development' }, checkResponses: false })
  await api.database.query({
    text: `insert into books (title, secret) values ('Always', 'hush')`,
    values: [],
  })
  await api.database.query({ text: `insert into tags (extra) values ('{"size":"large"}')`, values: [] })
  await api.database.query({ text: `insert into parts values ('a/b', 1, 'one')`, values: [] })
})
afterAll(() => api.close())

const page = async (path: string, headers: Readonly<Record<string, string>> = EVE) =>
  (await api.fetch(`/explore${path}`, { headers })).text()
const formsOf = (html: string) =>
  [...html.matchAll(/<form data-method="([A-Z]+)" [^>]*data-version="([^"]+)"/g)].map(
    ([, method = '', version = '']) => ({
      method,
      version: version.replaceAll('&quot;', '"'),
    }),
  )

test('a record of which only a JSON object is shown has the name of the field', async () => {
  const html = await page('/tags/1/?fields=extra')
  expect(html).toContain('<dt>extra</dt>')
  expect(html).not.toContain('<dt>size</dt>')
})

describe('the forms of a record', () => {
  test.each([
    ['/books/1/', ''],
    ['/books/1/', '?fields=title'],
    ['/server/books/1/', ''],
    ['/parts/a%2Fb/1/', ''],
  ])('have the version that the API accepts: %s%s', async (path, query) => {
    const forms = formsOf(await page(path + query))
    const { headers } = await api.fetch(path, { headers: EVE })
    expect(forms).toEqual(['PATCH', 'DELETE'].map((method) => ({ method, version: headers.get('etag') })))
    const [edit] = forms
    const change = { method: 'PATCH', body: '{}', headers: { ...EVE, 'content-type': 'application/json' } }
    const stale = { ...change, headers: { ...change.headers, 'if-match': `"${'A'.repeat(43)}"` } }
    expect((await api.fetch(path, stale)).status).toBe(412)
    const fresh = { ...change, headers: { ...change.headers, 'if-match': edit?.version ?? '' } }
    expect((await api.fetch(path, fresh)).status).toBe(200)
  })

  test('have the values of the whole record where the page shows a part of it', async () => {
    const html = await page('/books/1/?fields=title')
    expect(html).not.toMatch(/<dt>secret/)
    expect(html).toMatch(/name="secret"[^>]* value="hush"/)
  })

  test('are only those that the caller may send', async () => {
    const html = await page('/books/1/', ANN)
    expect(html).toContain('Always')
    expect(html.match(/<dialog id="[^"]*"/g)).toEqual(['<dialog id="sign-in"'])
    expect(html).not.toContain('hush')
  })

  test('take the key of a relation as text, with proposals from a list without pages for scripts (D8)', async () => {
    const html = await page('/books/1/')
    expect(html).toContain('<div class="picker" data-picker data-path="/shelves/" data-key="id" data-label="name"')
    expect(html).toMatch(/<input id="edit-shelf" name="shelf"[^>]* role="combobox"/)
  })
})

test.each([{ depth: 1500 }, { depth: 4000 }])(
  'a JSON value of $depth levels is shown as the text of the response',
  async ({ depth }) => {
    const nested = '['.repeat(depth) + ']'.repeat(depth)
    const text = `insert into tags (extra) values ('${nested}') returning id::text`
    const id = (await api.database.query({ text, values: [] })).rows[0]?.[0] ?? ''
    try {
      for (const path of ['/tags/', `/tags/${id}/`]) {
        const response = await api.fetch(`/explore${path}`, { headers: EVE })
        expect(response.status).toBe(200)
        expect(await response.text()).toContain(nested)
      }
    } finally {
      await api.database.query({ text: `delete from tags where id = ${id}`, values: [] })
    }
  },
)

test('a record names what refers to it by a relation without a filter (D12)', async () => {
  await api.database.query({ text: `insert into shelves (name) values ('North')`, values: [] })
  const html = await page('/shelves/1/')
  expect(html).toContain('<h2>Refers to this</h2>')
  expect(html).toContain(
    '<li>book <span class="dim">by shelf: not counted, because the list of book has no filter for shelf</span><details>',
  )
  expect(html).toContain('<pre tabindex="0">filterable: { title: [exact, startswith], shelf: [exact] }</pre>')
  expect(html).toContain('<pre tabindex="0">filterable: [shelf]</pre>')
  expect(html).not.toContain('/books/?shelf')
  expect(await page('/shelves/1/', ANN)).toContain('North')
  expect(await page('/shelves/1/', ANN)).not.toMatch(/book(?:<\/a>)? <span class="dim">by shelf/)
})

test('outside development a record does not say how to add a filter', async () => {
  const yaml = `version: 1
api: { prefix: "", explore: true }
models:
  shelf: { table: shelves, fields: { id: { type: bigint, primary_key: true } } }
  book: { table: books, fields: { id: { type: bigint, primary_key: true }, shelf: { type: belongs_to, model: shelf } } }
resources: { shelf: { model: shelf, path: /shelves/ }, book: { model: book, path: /books/ } }
`
  const other = await startApi(yaml, { env: { NODE_ENV: 'production' }, checkResponses: false })
  try {
    await other.send('POST', '/shelves/', {})
    const html = await (await other.fetch('/explore/shelves/1/')).text()
    expect(html).toContain('by shelf: not counted, because the list of book has no filter for shelf</span></li>')
    expect(html).not.toContain('filterable')
  } finally {
    await other.close()
  }
})

test('only a caller who sees all filters of a resource gets the line that adds one', async () => {
  await api.database.query({ text: `insert into shelves (name) values ('high')`, values: [] })
  const line = 'filterable: { price: [exact, gt], year: [exact], shelf: [exact] }'
  expect(await page('/shelves/1/')).toContain(`<pre tabindex="0">${line}</pre>`)
  const html = await page('/shelves/1/', ANN)
  expect(html).toContain('because the list of copy has no filter for shelf')
  expect(html).not.toContain('filterable')
  expect(html).not.toContain('price')
})
