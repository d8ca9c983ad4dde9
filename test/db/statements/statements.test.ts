import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database, Statement } from '../../../src/db/database.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, watchDatabase } from '../../support/database.js'
import { linksOf } from '../../support/links.js'

const FLAGS = ['f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8']

const YAML = `version: 1
api: { prefix: "" }
models:
  author:
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 200 }
      author: { type: belongs_to, model: author, nullable: true }
      sold: { type: integer, default: 0 }
      read_on: { type: date, nullable: true }
${FLAGS.map((flag) => `      ${flag}: { type: string, nullable: true }`).join('\n')}
    indexes:
      - [title, id]
      - [sold, title, id]
      - [author, id]
      - [read_on, id]
resources:
  author: { model: author, path: /authors/ }
  page:
    model: book
    path: /page/
    filterable: { title: [exact, in, contains, icontains, startswith], author: [exact, in], sold: [exact, gt, lte], read_on: [isnull, gte]${FLAGS.map((flag) => `, ${flag}: [exact]`).join('')} }
    orderable: [title, sold, author, read_on]
    pagination: { style: page_number, count: none }
  window: { model: book, path: /window/, filterable: [title, author], orderable: [title, sold, read_on], pagination: { style: limit_offset } }
  cursor: { model: book, path: /cursor/, filterable: [title, author], orderable: [title, sold, author, read_on], pagination: { style: cursor, count: none } }
  whole: { model: book, path: /whole/, filterable: [title], pagination: { style: none } }
`

const ROWS = 20_000
const CANARY = 'canary-4d1e'

let database: Database
let api: Api
let seen: Statement[]

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const { watched, sent } = watchDatabase(database)
  seen = sent
  api = await startApi(YAML, { database: watched })
  await run(`insert into author (name) select 'author ' || n from generate_series(1, 200) n`)
  await run(`insert into books (title, author_id, sold, read_on)
    select 'title ' || n % 5000, nullif(n % 201, 0), n % 100, case when n % 3 > 0 then date '2000-01-01' + n % 7000 end from generate_series(1, ${ROWS}) n`)
  await run('analyze')
  // The service looks for triggers of a table before the first create.
  await api.fetch('/page/', sending('POST', { title: 'first' }))
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(() => void seen.splice(0))

const run = (text: string, values: Statement['values'] = []) => database.query({ text, values })

/** The statements of one request. */
const statementsOf = async (
  path: string,
  init?: RequestInit,
): Promise<{ status: number; statements: readonly Statement[]; body: string; next: string | undefined }> => {
  seen.splice(0)
  const response = await api.fetch(path, init)
  const body = await response.text()
  // Now and then the service compares its columns with those of the tables.
  const statements = seen.splice(0).filter(({ text }) => !text.includes('pg_attribute'))
  return { status: response.status, statements, body, next: linksOf(response)['next'] }
}

const sending = (method: string, body: object): RequestInit => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

describe('a request sends one statement', () => {
  test.each([
    ['/page/', undefined, 200],
    ['/page/?page=3&page_size=7&ordering=-title&title__contains=1', undefined, 200],
    ['/window/?title=title+1', undefined, 200],
    ['/window/?limit=2&offset=1&ordering=sold&title=title+1', undefined, 200],
    ['/cursor/', undefined, 200],
    ['/cursor/?ordering=-read_on,title', undefined, 200],
    ['/whole/?title=title+1', undefined, 200],
    ['/page/1/', undefined, 200],
    ['/page/99999999/', undefined, 404],
    ['/page/', sending('POST', { title: 'made' }), 201],
    [
      '/page/2/',
      sending(
        'PUT',
        Object.fromEntries([
          ['title', 'put'],
          ['author', 1],
          ['sold', 1],
          ['read_on', null],
          ...FLAGS.map((flag) => [flag, null]),
        ]),
      ),
      200,
    ],
    ['/page/2/', sending('PATCH', { title: 'patched' }), 200],
    ['/page/2/', sending('PATCH', {}), 200],
    ['/page/3/', { method: 'DELETE' }, 204],
    ['/page/99999999/', { method: 'DELETE' }, 404],
  ] as const)('%s %j', async (path, init, wanted) => {
    const { status, statements } = await statementsOf(path, init)
    expect([status, statements.length]).toEqual([wanted, 1])
  })

  test.each([
    ['/page/abc/', undefined, 404],
    ['/page/01/', { method: 'DELETE' }, 404],
    ['/page/abc/', sending('PATCH', { title: 'x' }), 404],
    ['/page/1/', sending('PATCH', { title: 1 }), 400],
    ['/page/', sending('POST', {}), 400],
    ['/page/', sending('POST', { title: 'x', id: 1, other: 1 }), 400],
    ['/page/?page=0', undefined, 400],
    ['/page/?sold=x', undefined, 400],
    ['/page/?ordering=f1', undefined, 400],
    ['/cursor/?cursor=x', undefined, 400],
    ['/page/', { method: 'DELETE' }, 405],
    ['/nowhere/', undefined, 404],
  ] as const)('but none if it is rejected: %s %j', async (path, init, wanted) => {
    const { status, statements } = await statementsOf(path, init)
    expect([status, statements]).toEqual([wanted, []])
  })

  test('also for an empty page, and at most two if the total is an estimate', async () => {
    expect((await statementsOf('/window/?offset=9999999&title=title+1')).statements).toHaveLength(1)
    const estimated = await statementsOf('/window/')
    expect(estimated.statements).toHaveLength(2)
    expect(estimated.statements[1]?.text).toMatch(/^explain /)
  })
})

describe('a list', () => {
  const searches = ['', '?ordering=title', '?ordering=-sold,title', '?title=title+1', '?author=1&ordering=title']

  test.each(['page', 'window', 'cursor'].flatMap((name) => searches.map((search) => `/${name}/${search}`)))(
    '%s reads a bounded number of rows',
    async (path) => {
      const { status, statements } = await statementsOf(path)
      expect(status).toBe(200)
      expect(statements[0]?.text).toMatch(/ limit \$\d+::int \+ 1(?: offset \$\d+)?\) "\w+" order by [^()]+\) p$/)
      expect(statements[0]?.text).not.toMatch(/\*(?!\))/)
    },
  )

  test('reads all rows only if it is unpaged', async () => {
    const { statements } = await statementsOf('/whole/?title=title+1')
    expect(statements[0]?.text).not.toMatch(/limit/)
  })

  test.each([
    ['/page/?page_size=100', '100'],
    ['/page/?page_size=1000000', '100'],
    ['/window/?limit=99999999999999999999', '100'],
    ['/cursor/?page_size=3', '3'],
  ])('%s reads %s rows, one more than it shows', async (path, limit) => {
    const { statements } = await statementsOf(path)
    expect(statements[0]?.text).toContain(' limit $1::int + 1')
    expect(statements[0]?.values).toEqual([limit])
  })

  test('skips many rows in an index only', async () => {
    const { statements } = await statementsOf('/page/?page=900')
    expect(statements[0]?.text).toMatch(
      / where "id" in \(select "id" from "books" order by "books"\."id" limit \$1::int \+ 1 offset \$2\)/,
    )
  })
})

describe('input from clients', () => {
  const quoted = `${CANARY}' or "1"=1;--$1?\\`
  const encoded = encodeURIComponent(quoted)
  const cursor = (values: readonly (string | null)[]) =>
    Buffer.from(JSON.stringify(['title,id', 'after', ...values])).toString('base64url')

  test.each([
    [`/page/?title=${encoded}`, undefined],
    [`/page/?title__in=${encoded},${encoded}`, undefined],
    [`/page/?title__contains=${encoded}&title__icontains=${encoded}&title__startswith=${encoded}`, undefined],
    [`/page/?f1=${encoded}&f2=${encoded}`, undefined],
    [`/window/?title=${encoded}&offset=7`, undefined],
    [`/whole/?title=${encoded}`, undefined],
    [`/cursor/?ordering=title&cursor=${cursor([quoted, '1'])}`, undefined],
    ['/page/', sending('POST', { title: quoted, f1: quoted })],
    ['/page/4/', sending('PATCH', { title: quoted, f2: quoted })],
  ])('is never part of a statement: %s', async (path, init) => {
    const { status, statements } = await statementsOf(path, init)
    expect(status).toBeLessThan(300)
    expect(statements.length).toBeGreaterThan(0)
    expect(statements.map(({ values }) => values.join()).join()).toContain(CANARY)
    for (const { text, name = '' } of statements) expect(text + name).not.toContain(CANARY)
  })

  test('does not change statements: requests that differ only in values share their text and, from the second on, its name', async () => {
    const shapes = new Map<string, number>()
    for (const [title, sold, page, id] of [
      ['c', '3', '4', '6'],
      ['a', '1', '2', '1'],
      ["'b", '2147483647', '7', '5'],
      ['%', '-1', '90', '12345'],
    ]) {
      const search = `?title=${encodeURIComponent(String(title))}&sold=${sold}&page=${page}`
      const all = [
        await statementsOf(`/page/${search}`),
        await statementsOf(`/page/${id}/`),
        await statementsOf(`/page/${id}/`, sending('PATCH', { title })),
        await statementsOf('/page/', sending('POST', { title, sold: Number(sold) })),
      ]
      const sent = all.flatMap(({ statements }) => statements)
      for (const { text, name } of sent) {
        const key = JSON.stringify([text, name])
        shapes.set(key, (shapes.get(key) ?? 0) + 1)
      }
    }
    // Of four statements, other tests may have sent some before.
    const named = [...shapes].filter(([key]) => !key.endsWith('null]'))
    expect(new Set([...shapes.keys()].map((key) => JSON.parse(key)[0])).size).toBe(4)
    expect(named).toHaveLength(4)
    for (const [, times] of named) expect(times).toBeGreaterThanOrEqual(3)
  })

  test('is sent once if it writes: only reads are retried', async () => {
    const retried = async (path: string, init?: RequestInit) =>
      (await statementsOf(path, init)).statements.map(({ retry = false }) => retry)
    expect(await retried('/page/')).toEqual([true])
    expect(await retried('/page/1/')).toEqual([true])
    expect(await retried('/page/', sending('POST', { title: 'x' }))).toEqual([false])
    expect(await retried('/page/1/', sending('PATCH', { title: 'x' }))).toEqual([false])
    expect(await retried('/page/1/', { method: 'DELETE' })).toEqual([false])
  })
})

describe('prepared statements', () => {
  test('have one text for each name, and at most 200 per resource', async () => {
    const texts = new Map<string, string>()
    let unnamed = 0
    for (let shape = 0; shape < 256; shape++) {
      const search = FLAGS.filter((_, index) => (shape >> index) & 1).map((flag) => `${flag}=x`)
      const { status, statements } = await statementsOf(`/page/?${search.join('&')}`)
      expect([status, statements.length]).toEqual([200, 1])
      for (const { name, text } of statements) {
        if (name === undefined) unnamed += 1
        else {
          expect(texts.get(name) ?? text).toBe(text)
          expect(Buffer.byteLength(name)).toBeLessThan(64)
          texts.set(name, text)
        }
      }
    }
    expect(texts.size).toBeLessThanOrEqual(200)
    expect(unnamed).toBeGreaterThanOrEqual(56)
  })

  test('have one text for the same fields in another order', async () => {
    const forms = ['{"title":"a","sold":1}', '{"sold":1,"title":"a"}']
    const texts = []
    for (const body of forms) {
      const made = await statementsOf('/page/', { ...sending('POST', {}), body })
      const changed = await statementsOf('/page/5/', { ...sending('PATCH', {}), body })
      texts.push([...made.statements, ...changed.statements].map(({ text }) => text))
    }
    expect(texts[0]).toEqual(texts[1])
    const filters = ['title=a&sold=1', 'sold=1&title=a']
    const lists = await Promise.all(filters.map(async (search) => (await api.fetch(`/page/?${search}`)).text()))
    expect(lists[0]).toBe(lists[1])
  })
})

describe('an index serves', () => {
  const plan = async ({ text, values }: Statement): Promise<string> =>
    (await run(`explain ${text}`, values)).rows.map(([line]) => line).join('\n')

  /** The plan of a statement that reads nothing but indexes, each from where it starts. */
  const startsOf = async (statement: Statement): Promise<string> => {
    const explained = await plan(statement)
    expect(explained).not.toMatch(/Seq Scan|Bitmap/)
    expect(explained.match(/Index Cond/g)).toHaveLength(explained.match(/Index (Only )?Scan/g)?.length ?? 0)
    return explained
  }

  const orders = [
    ['', 'books_pkey'],
    ['ordering=title', 'books_title_id_idx'],
    ['ordering=-title', 'books_title_id_idx'],
    ['ordering=sold,title', 'books_sold_title_id_idx'],
    ['ordering=-sold,-title', 'books_sold_title_id_idx'],
    ['ordering=author', 'books_author_id_id_idx'],
    ['ordering=-read_on', 'books_read_on_id_idx'],
    ['ordering=read_on', 'books_read_on_id_idx'],
  ] as const

  test.each(orders)('every page ordered by %j, without sorting: %s', async (search, index) => {
    for (const path of ['page', 'cursor']) {
      const { statements } = await statementsOf(`/${path}/?${search}`)
      const [first] = statements
      if (!first) throw new Error('no statement')
      expect(await plan(first)).toMatch(new RegExp(`Index (Only )?Scan (Backward )?using ${index}`))
      expect(await plan(first)).not.toMatch(/Sort|Seq Scan/)
    }
  })

  test.each(orders)('a cursor page deep in the order %j, from where it starts: %s', async (search, index) => {
    const { next } = await statementsOf(`/cursor/?page_size=100&${search}`)
    const { statements } = await statementsOf(next ?? '')
    expect(statements[0] && (await startsOf(statements[0]))).toContain(index)
  })

  // Rows with a value and rows without one are two ranges of an index, and a page may need both.
  test.each(
    ['read_on', '-read_on', 'author', '-author'].flatMap((order) =>
      ['after', 'before'].flatMap((direction) =>
        [null, order.endsWith('author') ? '77' : '2005-05-05'].map((value) => [order, direction, value] as const),
      ),
    ),
  )('a cursor page in the order %s, %s the value %j, from where it starts', async (order, direction, value) => {
    const key = order.startsWith('-') ? '-id' : 'id'
    const cursor = Buffer.from(JSON.stringify([`${order},${key}`, direction, value, '10000'])).toString('base64url')
    const { status, statements } = await statementsOf(`/cursor/?ordering=${order}&cursor=${cursor}`)
    expect(status).toBe(200)
    expect(statements[0] && (await startsOf(statements[0]))).toContain(
      `books_${order.replace('-', '').replace('author', 'author_id')}_id_idx`,
    )
  })

  test('a cursor page in mixed directions, as far as an index can', async () => {
    const { next } = await statementsOf('/cursor/?page_size=100&ordering=title,-sold')
    const { statements } = await statementsOf(next ?? '')
    expect(statements[0] && (await plan(statements[0]))).toMatch(/Index Cond: \(\(?title\)?(?:::text)? >= /)
  })

  test.each([
    ['title=title+77', 'books_title_id_idx'],
    ['title__in=title+77,title+78', 'books_title_id_idx'],
    ['title__startswith=title+77&ordering=title', 'books_title_id_idx'],
    ['author=7', 'books_author_id_id_idx'],
    ['author__in=7,8&ordering=author', 'books_author_id_id_idx'],
    ['sold=7&title=title+7', 'books_'],
  ])('the filter %s: %s', async (search, index) => {
    const { statements } = await statementsOf(`/page/?${search}`)
    const explained = statements[0] && (await plan(statements[0]))
    expect(explained).toContain(index)
    expect(explained).not.toContain('Seq Scan')
  })

  test('one record by its id, to read, change and delete it', async () => {
    const all = [
      await statementsOf('/page/9/'),
      await statementsOf('/page/9/', sending('PATCH', { title: 'x' })),
      await statementsOf('/page/9/', { method: 'DELETE' }),
    ]
    for (const { statements } of all) {
      const explained = statements[0] && (await plan(statements[0]))
      expect(explained).toContain('books_pkey')
      expect(explained).not.toContain('Seq Scan')
    }
  })
})
