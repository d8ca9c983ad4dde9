import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'

const COLUMNS = Array.from({ length: 26 }, (_, index) => `column_${index}`)
const YAML = `version: 1
api: { prefix: "", explore: true }
plugins: [./plugin.mjs]
auth:
  roles: { names: [reader, editor] }
  development:
    ann: { roles: [reader] }
    eve: { roles: [editor] }
  routes: { explore: anyone, openapi: anyone, long: anyone }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: text }
      status: { type: choice, choices: [draft, published], default: draft }
      price: { type: decimal, precision: 10, scale: 2, nullable: true }
      copies: { type: integer, nullable: true }
      secret: { type: string, max: 20, nullable: true }
    indexes: [[title, id], [price, id]]
  wide:
    table: wides
    fields:
      id: { type: bigint, primary_key: true }
${COLUMNS.map((name) => `      ${name}: { type: string, max: 10, default: x }`).join('\n')}
  tag:
    table: tags
    fields: { name: { type: string, max: 40, primary_key: true, key: client }, colour: { type: string, max: 10, nullable: true } }
  part:
    table: parts
    primary_key: [shelf, place]
    fields:
      shelf: { type: string, max: 10 }
      place: { type: integer }
      label: { type: string, max: 20, nullable: true }
resources:
  joined: { model: part, path: /joined/, dialect: json-server, operations: [list, retrieve], access: [{ to: anyone, may: all }] }
  book:
    model: book
    path: /books/
    export: true
    bulk: [partial_update, destroy]
    filterable: { status: [exact], price: [gte], title: [contains] }
    search: [title]
    orderable: [title, price]
    default_order: [-price]
    sparse_fields: true
    pagination: { page_size: 25, count: exact }
    access:
      - { to: reader, may: [list, retrieve], fields: { except: [secret] } }
      - { to: editor, may: all }
  paged: { model: book, path: /page/books/, dialect: page, bulk: [destroy], access: [{ to: anyone, may: all }] }
  wide: { model: wide, path: /wide/, pagination: { style: none }, access: [{ to: anyone, may: all }] }
  tag: { model: tag, path: /tags/, dialect: plain, bulk: [destroy], access: [{ to: anyone, may: all }] }
  part:
    model: part
    path: /parts/
    dialect: plain
    bulk: [partial_update]
    operations: [list, retrieve, partial_update]
    pagination: { style: cursor, page_size: 2 }
    access: [{ to: anyone, may: all }]
`

/** A list of more than a page reads. */
async function* long(): AsyncGenerator<string> {
  yield '[{"id":0,"text":"first"}'
  for (let id = 1; id < 5_000; id += 1) yield `,{"id":${id},"text":"${'x, ]}'.repeat(20)}"}`
  yield ']'
}
const plugin: Plugin = (app) => {
  app.route('GET', '/long/', 'long', () => ({ status: 200, stream: long() }))
}

const ANN = { authorization: 'Dev ann' }
const EVE = { authorization: 'Dev eve' }

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, env: { NODE_ENV: 'development' }, checkResponses: false })
  const run = (text: string) => api.database.query({ text, values: [] })
  await run(`insert into books (title, status, price, copies, secret)
    select 'Book ' || n, case when n % 2 = 0 then 'draft' else 'published' end, n, n * 1000, 'hush' from generate_series(1, 2000) n`)
  await run(`insert into wides select from generate_series(1, 300)`)
  await run(`insert into tags (name) values ('a,b'), ('تجربة'), ('plain')`)
  await run(`insert into parts values ('a', 1, 'one'), ('a', 2, 'two'), ('b', 1, null)`)
})
afterAll(() => api.close())

async function page(path: string, headers: Readonly<Record<string, string>> = EVE): Promise<string> {
  const response = await api.fetch(`/explore${path}`, { headers })
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  return response.text()
}
const unescape = (html: string) => html.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")
const part = (html: string, start: string, end: string) =>
  unescape(html.slice(html.indexOf(start), html.indexOf(end, html.indexOf(start))))
const pagerOf = (html: string) => part(html, '<nav class="pager"', '</nav>')
const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
const headsOf = (html: string) =>
  [...part(html, '<thead>', '</thead>').matchAll(/<th [^>]*>(?:<a [^>]*>)?([^<]*)/g)].map(([, name]) => name)

describe('the pager', () => {
  test('says which records of how many are shown, and on which page', async () => {
    const pager = pagerOf(await page('/books/?page=40&status=draft'))
    expect(wordsOf(pager)).toMatch(/^976–1,000 of 1,000 page of 40 Go/)
    expect(wordsOf(pagerOf(await page('/books/?page=70')))).toMatch(/^1,726–1,750 of 2,000 page of 80 Go/)
    expect(pager).toContain('<input name="page" value="40"')
    expect(pager).toContain('<input type="hidden" name="status" value="draft">')
  })

  test('offers page sizes and keeps the rest of the query', async () => {
    const pager = pagerOf(await page('/books/?page=2&page_size=50&search=Book'))
    expect(pager).toMatch(/<option value="25">25<\/option><option value="50" selected>50<\/option>/)
    expect(pager).toMatch(/<input type="hidden" name="search" value="Book"><label><select name="page_size"/)
  })

  test('says that a page is past the end (D9)', async () => {
    const html = await page('/books/?page=9999&status=draft')
    expect(wordsOf(html)).toContain('This page is past the end: the list has 1,000 records. First page')
    expect(html).toContain('<a href="/explore/books/?status=draft">First page</a>')
    expect(html).not.toContain('No records that match')
  })

  test('has no numbers where pages have cursors', async () => {
    const pager = pagerOf(await page('/parts/'))
    expect(pager).not.toContain('name="page"')
    expect(pager).toContain('rel="next"')
  })
})

describe('a list without pages (D3)', () => {
  test('is shown whole', async () => {
    const html = await page('/wide/')
    expect(html.match(/<th scope="row"/g)).toHaveLength(300)
    expect(wordsOf(pagerOf(html))).toBe('300 records')
  })

  test('has the records that a page can read, and says that there are more', async () => {
    const html = await page('/long/')
    const rows = html.match(/<tbody>\n([^]*)<\/tbody>/)?.[1]?.match(/<tr>/g)?.length ?? 0
    expect(rows).toBeGreaterThan(900)
    expect(wordsOf(html)).toMatch(/Only the first 2,\d\d\d records: the response is longer than a page reads/)
    expect(wordsOf(pagerOf(html))).toMatch(/^2,\d\d\d records on this page$/)
  })
})

describe('the table', () => {
  test('has every column, the key first (D5)', async () => {
    expect(headsOf(await page('/wide/'))).toEqual(['id', ...COLUMNS])
    expect(headsOf(await page('/joined/'))).toEqual(['id', 'shelf', 'place', 'label'])
  })

  test('aligns numbers at the right, and lets each text have its direction (D13)', async () => {
    const html = await page('/books/?page_size=1&ordering=price')
    expect(html).toContain('<th scope="col" class="number">copies</th>')
    expect(html).toMatch(/<td class="number">1\.00<\/td>/)
    expect(html).toContain('<td dir="auto">Book 1</td>')
    expect(await page('/tags/')).toMatch(/<th scope="row" dir="auto"><a href="[^"]*">تجربة<\/a><\/th>/)
  })

  test('marks the default order', async () => {
    expect(await page('/books/')).toMatch(
      /<th scope="col"[^>]* aria-sort="descending" title="default order"><a [^>]*>price</,
    )
    const ordered = await page('/books/?ordering=title')
    expect(ordered).toMatch(/<th scope="col"[^>]* aria-sort="ascending"><a [^>]*>title</)
    expect(ordered).not.toContain('default order')
  })
})

describe('the form', () => {
  test('has a wide search, and the filters behind a button', async () => {
    const form = part(await page('/books/'), '<form class="query"', '</form>')
    expect(form).toMatch(/<input id="search" name="search" type="search"/)
    expect(form).toMatch(/<details class="menu"><summary class="button">\+ Filter<\/summary>/)
    expect(form).toContain('<select id="filter-status" name="status">')
  })

  test('keeps the page size and other parameters, and starts at the first page (D11)', async () => {
    const form = part(await page('/books/?page=2&page_size=50&fields=id,title'), '<form class="query"', '</form>')
    expect(form).toContain('<input type="hidden" name="page_size" value="50">')
    expect(form).toContain('<input type="hidden" name="fields" value="id,title">')
    expect(form).not.toContain('name="page"')
  })

  test('shows each filter with a link that removes it', async () => {
    const chips = part(await page('/books/?page=2&status=draft&search=a&ordering=title'), '<ul class="chips"', '</ul>')
    expect(chips).toContain(
      '<a class="chip" href="/explore/books/?search=a&ordering=title" aria-label="Remove status: draft">',
    )
    expect(chips).toContain(
      '<a class="chip" href="/explore/books/?status=draft&ordering=title" aria-label="Remove search: a">',
    )
    expect(chips).not.toContain('ordering:')
  })

  test('marks the parameter that the API rejects', async () => {
    const html = await page('/books/?price__gte=x&status=draft')
    expect(html).toMatch(/<details class="menu" open>/)
    expect(unescape(html)).toMatch(
      /<input id="filter-price__gte"[^>]* aria-invalid="true" aria-describedby="filter-price__gte-error" autofocus><span class="error" id="filter-price__gte-error">the value of `price__gte`/,
    )
    const unknown = await page('/books/?pgae=2')
    expect(unknown).toContain('<a class="chip wrong" href="/explore/books/" aria-label="Remove pgae: 2">')
  })
})

describe('downloads', () => {
  test('have the filters and the order of the list', async () => {
    const html = unescape(await page('/books/?page=3&page_size=50&status=draft&ordering=title'))
    for (const format of ['csv', 'json'])
      expect(html).toContain(
        `href="/books/export.${format}?status=draft&ordering=title" download>Download ${format.toUpperCase()}`,
      )
  })

  test('are offered only where they are declared', async () => {
    expect(await page('/wide/')).not.toContain('export.csv')
    expect(await page('/page/books/')).not.toContain('export.csv')
  })
})

describe('requests about several records', () => {
  test('name each record by its key and its text', async () => {
    const html = unescape(await page('/books/?ordering=price&page_size=1'))
    expect(html).toContain('data-id="1" data-key="{"id": 1}" aria-label="Select Book 1 (1)" data-name="Book 1 (1)"')
    expect(html).toContain('<form data-method="PATCH" data-path="/books/"')
    expect(html).toContain('<form data-method="DELETE" data-path="/books/"')
  })

  test('have texts and several fields as keys', async () => {
    expect(await page('/tags/')).toContain('data-id="a%2Cb"')
    expect(unescape(await page('/parts/'))).toContain('data-id="a/1" data-key="{"shelf": "a", "place": 1}"')
  })

  test('are offered only where they are declared', async () => {
    expect(await page('/tags/')).not.toContain('data-for="bulk-edit"')
    expect(await page('/parts/')).not.toContain('data-for="bulk-delete"')
    for (const path of ['/wide/', '/page/books/']) expect(await page(path)).not.toContain('data-id=')
  })
})

describe('for a caller with few grants', () => {
  test('only what the grants allow is shown and offered', async () => {
    const html = await page('/books/', ANN)
    expect(headsOf(html)).toEqual(['id', 'title', 'status', 'price', 'copies'])
    for (const absent of ['data-id=', 'data-bulk', 'New book', 'secret']) expect(html).not.toContain(absent)
    expect(html).toContain('Download CSV')
  })

  test('shows the rejection and no downloads to a caller who may not list', async () => {
    const response = await api.fetch('/explore/books/')
    expect(response.status).toBe(401)
    expect(await response.text()).not.toContain('Download CSV')
  })
})
