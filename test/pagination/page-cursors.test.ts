import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { linksOf } from '../support/links.js'
import { shelvedBooks } from '../support/shelved.js'

const ROWS = 57

const YAML =
  shelvedBooks(`  page:   { model: book, path: /page/, filterable: [shelf], orderable: [shelf, pages], pagination: { page_size: 7, max_offset: 30 } }
  window: { model: book, path: /window/, filterable: [shelf], orderable: [shelf, pages], pagination: { style: limit_offset, page_size: 7, max_offset: 30 } }
  exact:  { model: book, path: /exact/, pagination: { page_size: 10, max_offset: 30, count: exact } }
  none:   { model: book, path: /none/, pagination: { page_size: 10, max_offset: 30, count: none } }
`)

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  await api.database.query({
    text: `insert into books (shelf, pages) select 'shelf ' || n % 3, nullif(n * 7 % 11, 0) from generate_series(1, ${ROWS}) n`,
    values: [],
  })
})
afterAll(() => api.close())

interface Page {
  readonly ids: readonly number[]
  readonly links: Readonly<Record<string, string>>
}

const read = async (path: string): Promise<Page> => {
  const response = await api.fetch(path)
  expect([path, response.status]).toEqual([path, 200])
  const records = (await response.json()) as readonly { readonly id: number }[]
  return { ids: records.map(({ id }) => id), links: linksOf(response) }
}

const follow = async (path: string, rel: 'next' | 'prev'): Promise<readonly Page[]> => {
  const pages = [await read(path)]
  for (let link = pages[0]?.links[rel]; link !== undefined; link = pages.at(-1)?.links[rel]) {
    pages.push(await read(link))
    expect(pages.length).toBeLessThan(ROWS)
  }
  return pages
}

const orders = ['', '?ordering=shelf', '?ordering=-shelf', '?ordering=pages', '?ordering=-pages', '?shelf=shelf+1']

describe('the links of a numbered list', () => {
  test.each(['/page/', '/window/'].flatMap((path) => orders.map((search) => path + search)))(
    'lead through all of %s and back, beyond max_offset',
    async (path) => {
      const { rows } = await api.database.query({
        text: `select id from books ${path.includes('shelf=shelf') ? "where shelf = 'shelf 1'" : ''}`,
        values: [],
      })
      const forwards = await follow(path, 'next')
      const all = forwards.flatMap(({ ids }) => ids)
      expect(new Set(all).size).toBe(rows.length)
      expect(all).toHaveLength(rows.length)
      expect(forwards.at(-1)?.links['next']).toBeUndefined()
      const backwards = await follow(forwards.at(-2)?.links['next'] ?? '', 'prev')
      expect(backwards.toReversed().flatMap(({ ids }) => ids)).toEqual(all)
    },
  )

  test('carry a cursor besides the number, unless a page needs none', async () => {
    const { links } = await read((await read('/page/?ordering=shelf&page=2')).links['next'] ?? '')
    expect(Object.entries(links).map(([rel, url]) => [rel, url.replace(/cursor=[\w-]+/, 'cursor=…')])).toEqual([
      ['first', '/page/?ordering=shelf&page=1&page_size=7'],
      ['prev', '/page/?ordering=shelf&page=2&page_size=7&cursor=…'],
      ['next', '/page/?ordering=shelf&page=4&page_size=7&cursor=…'],
      ['last', '/page/?ordering=shelf&page=9&page_size=7'],
    ])
  })

  test('skip no record while others are deleted', async () => {
    const first = await read('/page/?shelf=shelf+2')
    await api.database.query({ text: 'delete from books where id = $1', values: [String(first.ids[0])] })
    const second = await read(first.links['next'] ?? '')
    await api.database.query({
      text: `insert into books (id, shelf) overriding system value values ($1, 'shelf 2')`,
      values: [String(first.ids[0])],
    })
    const all = (await follow('/page/?shelf=shelf+2', 'next')).flatMap(({ ids }) => ids)
    expect(second.ids).toEqual(all.slice(7, 14))
  })

  test.each([
    ['/page/?cursor=x', 'the parameter `cursor` was not issued by this list; start again without it'],
    [
      '/page/?page=2&ordering=shelf&cursor={cursor}',
      'the parameter `cursor` belongs to another `ordering`; start again without it',
    ],
  ])('reject a foreign cursor: %s', async (path, detail) => {
    const { links } = await read('/page/')
    const cursor = new URL(links['next'] ?? '', 'http://localhost').searchParams.get('cursor') ?? ''
    const response = await api.fetch(path.replace('{cursor}', cursor))
    expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([400, detail])
  })
})

describe('a page number beyond max_offset', () => {
  test.each([
    ['/page/?page=6', 35],
    ['/page/?page=9', 56],
    ['/page/?page=2&page_size=31', 31],
    ['/window/?offset=31', 31],
    ['/window/?offset=56', 56],
    ['/exact/?page=5', 40],
    ['/none/?page=5', 40],
    ['/page/?shelf=shelf+1&page=3&page_size=18', undefined],
    ['/page/?page=10', undefined],
    ['/window/?offset=57', undefined],
    ['/page/?page=99999999999999999999', undefined],
    ['/none/?page=7', undefined],
    ['/exact/?page=7', undefined],
  ])('%s is rejected with advice while it has records, and is empty after the last', async (path, offset) => {
    const response = await api.fetch(path)
    const body = (await response.json()) as { readonly detail?: string }
    if (offset === undefined) return expect([response.status, body]).toEqual([200, []])
    expect([response.status, body.detail]).toEqual([
      400,
      `this page starts after ${offset} rows, but a page number may skip at most 30; follow the links to the next page, whose \`cursor\` works at any depth, or filter the list`,
    ])
  })

  test.each(['/page/?page=5', '/window/?offset=30'])(
    '%s is the last page that can be requested by number',
    async (path) => {
      expect((await read(path)).ids).toHaveLength(7)
    },
  )
})

describe('nulls in a field that is not declared nullable', () => {
  const fields = `{ id: { type: bigint, primary_key: true }, shelf: { type: string, max: 20 }, pages: { type: bigint } }`
  const VIEWS = `version: 1
api: { prefix: "" }
models:
  book: { table: books, fields: { id: { type: bigint, primary_key: true }, shelf: { type: string, max: 20, nullable: true }, pages: { type: bigint, nullable: true } } }
  ours: { table: book_report, view: "select id, shelf, pages from books", fields: ${fields} }
  theirs: { table: their_books, managed: false, fields: ${fields} }
resources:
  ours: { model: ours, path: /ours/, read_only: true, orderable: [shelf, pages], pagination: { page_size: 2 } }
  theirs: { model: theirs, path: /theirs/, orderable: [shelf, pages], pagination: { style: cursor, page_size: 2 } }
`
  let views: Api
  beforeAll(async () => {
    views = await startApi(VIEWS, { checkResponses: false })
    await views.database.query({
      text: `insert into books (shelf, pages) values ('a', 3), ('a', null), (null, null), (null, 5), ('b', 3), ('a', 9), (null, null)`,
      values: [],
    })
    await views.database.query({ text: 'create table their_books as select * from books', values: [] })
  })
  afterAll(() => views.close())

  const idsAlong = async (path: string, rel: 'next' | 'prev') => {
    const pages: (readonly number[])[] = []
    let last = path
    for (let link: string | undefined = path; link !== undefined && pages.length < 9; ) {
      const response = await views.fetch(link)
      expect([link, response.status]).toEqual([link, 200])
      pages.push(((await response.json()) as readonly { readonly id: number }[]).map(({ id }) => id))
      last = link
      link = linksOf(response)[rel]
    }
    return { pages, last }
  }

  test.each(
    ['/ours/', '/theirs/'].flatMap((path) =>
      ['pages', '-pages', 'shelf,pages', '-shelf,pages', 'pages,-shelf'].map((order) => `${path}?ordering=${order}`),
    ),
  )('hides no record from the links of %s', async (path) => {
    const { pages, last } = await idsAlong(path, 'next')
    expect(pages.flat().toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7])
    const back = await idsAlong(last, 'prev')
    expect(back.pages.toReversed()).toEqual(pages)
  })
})

describe('stored values that requests cannot send', () => {
  const STORED = `version: 1
api: { prefix: "" }
models:
  thing:
    table: things
    managed: false
    fields:
      id: { type: bigint, primary_key: true }
      state: { type: choice, choices: [a, b] }
      mood: { type: choice, choices: [glad] }
      code: { type: integer }
      small: { type: integer }
      length: { type: interval }
resources:
  things: { model: thing, path: /things/, read_only: true, orderable: [state, mood, code, small, length], pagination: { style: cursor, page_size: 1 } }
`
  const TABLE = `create type mood as enum ('glad', 'sad');
create table things (id bigint primary key, state text not null, mood mood not null, code bigint not null, small integer not null default 0, length interval not null);
insert into things (id, state, mood, code, length) values
  (1, 'a', 'glad', 1, '1 day'),
  (2, 'it''s', 'sad', 4000000000, '2562047788 hours'),
  (3, '', 'sad', -4000000000, '-2147483648 months -2147483648 days -2562047788:00:54.775807'),
  (4, 'b', 'glad', 2, '2147483647 months 2147483647 days 2562047788:00:54.775807')`
  let stored: Api
  beforeAll(async () => {
    stored = await startApi(STORED, { checkResponses: false })
    for (const text of TABLE.split(';')) await stored.database.query({ text, values: [] })
  })
  afterAll(() => stored.close())

  test.each(['state', 'mood', 'code', 'length'].flatMap((field) => [field, `-${field}`]))(
    'are in the cursors of ?ordering=%s',
    async (ordering) => {
      const ids: number[] = []
      for (let link: string | undefined = `/things/?ordering=${ordering}`; link !== undefined && ids.length < 9; ) {
        const response = await stored.fetch(link)
        expect([link, response.status]).toEqual([link, 200])
        ids.push(...((await response.json()) as readonly { readonly id: number }[]).map(({ id }) => id))
        link = linksOf(response)['next']
      }
      expect(ids.toSorted()).toEqual([1, 2, 3, 4])
    },
  )

  test.each([
    ['state', 'a\0'],
    ['mood', 'no label'],
    ['code', '9007199254740992'],
    ['small', '2147483648'],
    ['length', 'PT2562047789H'],
    ['length', 'P2147483648D'],
    ['length', 'P178956970Y8M'],
  ])('are still values of the column: a cursor whose %s is %j is rejected', async (field, value) => {
    const cursor = Buffer.from(JSON.stringify([`${field},id`, 'after', value, '1'])).toString('base64url')
    const response = await stored.fetch(`/things/?ordering=${field}&cursor=${cursor}`)
    expect([response.status, await response.json()]).toMatchObject([400, { type: '/problems/invalid-query' }])
  })
})
