import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { linksOf } from '../support/links.js'
import { watchDatabase } from '../support/database.js'
import { shelvedBooks } from '../support/shelved.js'

const CAP = 10_000
const ROWS = 12_500

const YAML =
  shelvedBooks(`  capped: { model: book, path: /capped/, filterable: { shelf: [exact, in], pages: [isnull, lt] }, orderable: [shelf] }
  window: { model: book, path: /window/, filterable: [shelf], pagination: { style: limit_offset } }
  cursor: { model: book, path: /cursor/, filterable: [shelf], pagination: { style: cursor } }
  exact: { model: book, path: /exact/, filterable: [shelf], pagination: { style: page_number, count: exact } }
  none: { model: book, path: /none/, filterable: [shelf], pagination: { style: page_number, count: none } }
  whole: { model: book, path: /whole/, filterable: [shelf], pagination: { style: none } }
  wrapped: { model: book, path: /wrapped/, filterable: [shelf], pagination: { style: page_number, envelope: results } }
  drf: { model: book, path: /drf/, filterable: [shelf], dialect: page }
  crud: { model: book, path: /crud/, filterable: { shelf: [exact, in] }, dialect: crud }
  server: { model: book, path: /server/, filterable: [shelf], dialect: json-server }
`)

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  await api.database.query({
    text: `insert into books (shelf, pages) select case when n <= ${CAP} then 'full' when n = ${CAP + 1} then 'one more' else 'few' end, nullif(n % 5, 0)
      from generate_series(1, ${ROWS}) n`,
    values: [],
  })
  await api.database.query({ text: 'analyze books', values: [] })
})
afterAll(() => api.close())

/** What a link says besides where its page starts. */
const withoutCursor = (url: string) => url.replace(/&cursor=[\w-]+/, '')

const list = async (path: string) => {
  const response = await api.fetch(path)
  const body: unknown = await response.json()
  expect([path, response.status]).toEqual([path, 200])
  const header = (name: string) => response.headers.get(name)
  return {
    body,
    total: header('x-total-count') === null ? undefined : Number(header('x-total-count')),
    estimated: header('x-total-count-estimated'),
    links: Object.fromEntries(Object.entries(linksOf(response)).map(([rel, url]) => [rel, withoutCursor(url)])),
  }
}

describe('a capped count', () => {
  test.each([
    ['/capped/?shelf=few', ROWS - CAP - 1, '/capped/?shelf=few&page=250&page_size=10'],
    ['/capped/?shelf=full', CAP, '/capped/?shelf=full&page=1000&page_size=10'],
    ['/capped/?shelf=full&page=1000', CAP, '/capped/?shelf=full&page=1000&page_size=10'],
    ['/capped/?shelf=full&page=5000', CAP, '/capped/?shelf=full&page=1000&page_size=10'],
    ['/capped/?shelf=nowhere', 0, '/capped/?shelf=nowhere&page=1&page_size=10'],
    ['/capped/?shelf=nowhere&page_size=1', 0, '/capped/?shelf=nowhere&page=1&page_size=1'],
    ['/window/?shelf=nowhere&limit=1', 0, '/window/?shelf=nowhere&limit=1&offset=0'],
    ['/capped/?pages__isnull=true&page_size=100', 2500, '/capped/?pages__isnull=true&page=25&page_size=100'],
    ['/window/?shelf=few', ROWS - CAP - 1, '/window/?shelf=few&limit=10&offset=2490'],
  ])('is exact up to 10,000 records: %s has %s', async (path, total, last) => {
    const page = await list(path)
    expect(page).toMatchObject({ total, estimated: null, links: { last } })
  })

  test.each([
    '/capped/',
    '/capped/?ordering=-shelf',
    '/capped/?shelf__in=full,one+more',
    '/capped/?page=1250',
    '/capped/?page=100000',
    '/window/',
    '/window/?limit=100&offset=12450',
    '/cursor/',
    '/wrapped/',
  ])('is an estimate above 10,000 records: %s is marked as one, and has no link to the last page', async (path) => {
    const page = await list(path)
    expect([page.estimated, Object.keys(page.links)]).toEqual(['true', expect.not.arrayContaining(['last'])])
    expect(page.total).toBeGreaterThan(CAP)
    expect(page.total).toBeLessThan(2 * ROWS)
  })

  test.each([
    ['/wrapped/', '/wrapped/?shelf=few', 'count'],
    ['/drf/', '/drf/?shelf=few', 'count'],
    ['/crud/?limit=2', '/crud/?limit=2&s={"shelf":"few"}', 'total'],
    ['/server/?_per_page=2', '/server/?_per_page=2&shelf=few', 'items'],
  ])('is marked in the body if it is an estimate, and only then: %s', async (path, exact, member) => {
    const estimated = (await list(path)).body as Readonly<Record<string, unknown>>
    expect(estimated[`${member}_estimated`]).toBe(true)
    expect(estimated[member]).toBeGreaterThan(CAP)
    expect((await list(exact)).body).not.toHaveProperty(`${member}_estimated`)
  })

  test('is never less than the counted rows, even if the planner is wrong', async () => {
    await api.database.query({ text: 'create table kept as select * from books', values: [] })
    await api.database.query({ text: 'truncate books', values: [] })
    await api.database.query({ text: 'analyze books', values: [] })
    await api.database.query({ text: 'insert into books overriding system value select * from kept', values: [] })
    expect(await list('/capped/?pages__lt=100&shelf__in=full,few,one+more')).toMatchObject({
      estimated: null,
      total: CAP,
    })
    expect((await list('/capped/?shelf__in=full,few')).total).toBeGreaterThan(CAP)
  })

  test('is never less than the rows that its page shows, even if the planner is wrong', async () => {
    await api.database.query({
      text: `update pg_class set reltuples = 9, relpages = 1000 where relname = 'books'`,
      values: [],
    })
    expect(await list('/capped/?shelf__in=full,few,a&page=1200')).toMatchObject({ estimated: 'true', total: 12_001 })
    const { body, total } = await list('/crud/?s={"shelf":{"$in":["full","few","b"]}}&limit=10&offset=12000')
    expect([body, total]).toEqual([expect.objectContaining({ total: 12_011 }), 12_011])
    await api.database.query({ text: 'analyze books', values: [] })
  })

  test('is estimated once for concurrent requests', async () => {
    const { watched, sent } = watchDatabase(api.database)
    const others = await startApi(YAML, { database: watched })
    const pages = await Promise.all(Array.from({ length: 20 }, () => others.fetch('/capped/?shelf__in=full,few,none')))
    expect(pages.map((page) => page.headers.get('x-total-count-estimated'))).toEqual(pages.map(() => 'true'))
    // One a second, however long all of them took.
    expect(sent.filter(({ text }) => text.startsWith('explain')).length).toBeLessThan(10)
    await others.close()
  })

  test('pages through the list without relying on the total', async () => {
    expect((await list('/capped/')).links).toEqual({
      first: '/capped/?page=1&page_size=10',
      next: '/capped/?page=2&page_size=10',
    })
    const last = await list('/capped/?page=1250')
    expect([(last.body as unknown[]).length, last.links]).toEqual([
      10,
      { first: '/capped/?page=1&page_size=10', prev: '/capped/?page=1249&page_size=10' },
    ])
  })

  test('is in the envelope as well', async () => {
    const { body, total } = await list('/wrapped/')
    expect(body).toMatchObject({ count: total })
    expect(withoutCursor((body as { next: string }).next)).toBe('/wrapped/?page=2&page_size=10')
    expect((await list('/wrapped/?shelf=full')).body).toMatchObject({ count: CAP })
  })
})

describe('an exact count', () => {
  test.each([
    ['/exact/', ROWS, '/exact/?page=1250&page_size=10'],
    ['/exact/?page=1250', ROWS, '/exact/?page=1250&page_size=10'],
    ['/exact/?page=1251', ROWS, '/exact/?page=1250&page_size=10'],
    ['/exact/?shelf=full', CAP, '/exact/?shelf=full&page=1000&page_size=10'],
    ['/exact/?shelf=one+more', 1, '/exact/?shelf=one+more&page=1&page_size=10'],
  ])('is exact for any number of records: %s has %s', async (path, total, last) => {
    expect(await list(path)).toMatchObject({ total, estimated: null, links: { last } })
  })
})

describe('no count', () => {
  test.each(['/none/', '/none/?shelf=few', '/none/?shelf=nowhere', '/none/?page=1251'])(
    'has neither a total nor a last page: %s',
    async (path) => {
      const page = await list(path)
      expect([page.total, page.estimated, page.links['last']]).toEqual([undefined, null, undefined])
    },
  )

  test('still knows whether another page follows', async () => {
    expect((await list('/none/?page=1249')).links['next']).toBe('/none/?page=1250&page_size=10')
    expect((await list('/none/?page=1250')).links['next']).toBeUndefined()
  })
})

test('an unpaged list counts its own records', async () => {
  const page = await list('/whole/')
  expect(page.body).toHaveLength(ROWS)
  expect([page.total, page.estimated, page.links]).toEqual([ROWS, null, {}])
  expect(await list('/whole/?shelf=nowhere')).toMatchObject({ body: [], total: 0 })
})
