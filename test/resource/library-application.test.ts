import { resolve } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { expectSound } from '../support/leaks.js'
import { linksOf } from '../support/links.js'

const AUTHORS = '/library/authors/'
const BOOKS = '/library/books/'
const SHELF = '/library/books/shelf/'
const USERS = '/library/users/'
const REVIEWS = '/library/reviews/'
const SUBJECTS = '/library/subjects/'

const CANARIES = ['canary-mark-8f21', 'canary-remark-77c0', 'canary-code-19e4']
const [MARK = '', REMARK = '', CODE = ''] = CANARIES

let api: Api
beforeAll(async () => {
  api = await startApi(resolve('test/applications/library.yaml'))
})
afterAll(() => api.close())

const sql = (text: string) => api.database.query({ text, values: [] })

beforeEach(async () => {
  await sql('truncate users, authors, books, reviews, subjects restart identity')
  await sql(`insert into users (username) values ('ann'), ('bob')`)
  await sql(`insert into authors (name, born) values ('Anna', '1950-01-01'), ('Ben', null)`)
})

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly text: string
  readonly headers: Headers
}

/** Sends a request; every answer must be sound and without private values. */
const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
  const response = await (body === undefined ? api.fetch(path, { method }) : api.send(method, path, body))
  const text = await response.text()
  expectSound({ status: response.status, headers: Object.fromEntries(response.headers), body: text }, CANARIES)
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), text, headers: response.headers }
}

interface Book {
  readonly url: string
  readonly id: number
  readonly title: string
  readonly [field: string]: unknown
}

const anna = `${AUTHORS}1/`

const create = async (fields: object): Promise<Book> => {
  const { status, body } = await ask('POST', BOOKS, { author: anna, title: 'A book', ...fields })
  expect([status, body]).toEqual([201, expect.any(Object)])
  return body as Book
}

const titles = async (search: string): Promise<string[]> => {
  const { status, body } = await ask('GET', BOOKS + search)
  expect(status).toBe(200)
  return (body as Book[]).map(({ title }) => title)
}

const errorsOf = ({ body }: Answer): unknown => (body as { errors?: object }).errors

describe('a read-only resource', () => {
  test('is listed and retrieved', async () => {
    expect(await ask('GET', USERS)).toMatchObject({
      status: 200,
      body: [
        { id: 1, username: 'ann' },
        { id: 2, username: 'bob' },
      ],
    })
    expect(await ask('GET', `${USERS}2/`)).toMatchObject({ status: 200, text: '{"id":2,"username":"bob"}' })
    expect(await ask('GET', `${USERS}?ordering=-username`)).toMatchObject({ body: [{ id: 2 }, { id: 1 }] })
    expect(await ask('GET', `${USERS}?username=bob`)).toMatchObject({ body: [{ id: 2 }] })
  })

  test.each([
    ['POST', USERS],
    ['PUT', USERS],
    ['PUT', `${USERS}1/`],
    ['PATCH', `${USERS}1/`],
    ['DELETE', `${USERS}1/`],
  ])('rejects %s %s with 405 and `Allow`, and changes nothing', async (method, path) => {
    const answer = await ask(method, path, { username: 'eve' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await ask('GET', USERS)).body).toHaveLength(2)
  })
})

describe('a resource with only some operations', () => {
  test.each([
    ['GET', `${REVIEWS}0190163d-8694-739b-aea5-966c26f8ad91/`, 'DELETE, OPTIONS'],
    ['PATCH', REVIEWS, 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', `${SHELF}1/`, 'GET, HEAD, OPTIONS'],
  ])('rejects %s %s with 405', async (method, path, allow) => {
    const answer = await ask(method, path)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
  })

  test('returns no Location if a record has no URL, and one if it has', async () => {
    const { url } = await create({})
    const review = await ask('POST', REVIEWS, { book: url, rating: 5 })
    expect([review.status, review.body]).toMatchObject([201, { book: url, rating: 5, text: '' }])
    const book = await ask('POST', BOOKS, { author: anna, title: 'Second' })
    expect(book.headers.get('location')).toBe((book.body as Book).url)
  })
})

describe('links', () => {
  test("are in responses, the record's own first, and lead to their targets", async () => {
    const book = await create({ owner: `${USERS}2/` })
    expect(Object.keys(book).slice(0, 4)).toEqual(['url', 'id', 'author', 'owner'])
    expect(book).toMatchObject({ url: `${BOOKS}1/`, author: `${AUTHORS}1/`, owner: `${USERS}2/` })
    expect((await ask('GET', book.url)).body).toEqual(book)
    expect((await ask('GET', String(book.author))).body).toEqual({ url: anna, id: 1, name: 'Anna', born: '1950-01-01' })
    expect((await ask('GET', String(book.owner))).body).toEqual({ id: 2, username: 'bob' })
    expect((await ask('GET', BOOKS)).body).toEqual([book])
  })

  test('are null without a related record', async () => {
    expect((await create({})).owner).toBeNull()
    expect((await create({ title: 'B', owner: null })).owner).toBeNull()
  })

  test('are accepted in bodies, and so are ids', async () => {
    const book = await create({})
    const { url, id, created_at, updated_at, ...fields } = book
    const put = await ask('PUT', url, { ...fields, access_code: null })
    expect(put).toMatchObject({ status: 200, body: { url, id, created_at, ...fields } })
    expect(String((put.body as Book).updated_at) >= String(updated_at)).toBe(true)
    expect(await ask('PUT', url, { ...book, access_code: null })).toMatchObject({ status: 200 })
    expect(await ask('PATCH', url, { author: 2, owner: 1 })).toMatchObject({
      status: 200,
      body: { author: `${AUTHORS}2/`, owner: `${USERS}1/` },
    })
    expect(await ask('PATCH', url, { author: `${AUTHORS}1` })).toMatchObject({ status: 200, body: { author: anna } })
  })

  test.each([
    ['another resource', `${USERS}1/`],
    ['the list', AUTHORS],
    ['a path without a route', '/library/nobody/1/'],
    ['another host', `http://example.org${AUTHORS}1/`],
    ['a relative path', `library/authors/1/`],
    ['a prefix before the path', `x${AUTHORS}1/`],
    ['an invalid id', `${AUTHORS}abc/`],
    ['an id with a leading zero', `${AUTHORS}01/`],
    ['an encoded id', `${AUTHORS}%31/`],
    ['a query after the path', `${AUTHORS}1/?x=1`],
    ['a fragment after the path', `${AUTHORS}1/#x`],
    ['a double slash', `/library//authors/1/`],
    ['uppercase letters', `/library/AUTHORS/1/`],
    ['a parent directory', `${AUTHORS}../authors/1/`],
    ['a number as text', '1'],
    ['nothing', ''],
    ['an object', {}],
    ['null', null],
    ['true', true],
    ['a fraction', 1.5],
  ])('to %s are rejected', async (_name, author) => {
    const answer = await ask('POST', BOOKS, { author, title: 'A book' })
    expect([answer.status, errorsOf(answer)]).toEqual([400, { author: 'Author must be the id of an existing author' }])
    expect((await ask('GET', BOOKS)).body).toEqual([])
  })

  test.each([`${AUTHORS}99/`, 99, 9007199254740991, `${AUTHORS}9223372036854775807/`])(
    'to a missing record, %s, are rejected',
    async (author) => {
      const answer = await ask('POST', BOOKS, { author, title: 'A book' })
      expect([answer.status, errorsOf(answer)]).toEqual([409, { author: 'Author names a record that does not exist' }])
      expect((await ask('GET', BOOKS)).body).toEqual([])
    },
  )
})

describe('filters', () => {
  beforeEach(async () => {
    await sql(`insert into books (author_id, owner_id, title, pages, price, state, published_on) values
      (1, 1, 'Alpha', 100, 5.00, 'draft', null),
      (1, null, 'alphabet', 200, 10.00, 'published', '2001-05-05'),
      (2, null, '100% beta_', null, 15.50, 'published', '2020-02-29'),
      (2, 2, 'a,b\\c', 300, 20.00, 'draft', '2021-01-01')`)
  })

  const all = ['Alpha', 'alphabet', '100% beta_', 'a,b\\c']
  test.each([
    ['', all],
    ['author=2', ['100% beta_', 'a,b\\c']],
    ['author=99', []],
    ['author__in=1,2', all],
    ['owner=1', ['Alpha']],
    ['owner__isnull=true', ['alphabet', '100% beta_']],
    ['owner__isnull=false', ['Alpha', 'a,b\\c']],
    ['title=Alpha', ['Alpha']],
    ['title__in=Alpha,alphabet', ['Alpha', 'alphabet']],
    ['title__in=alphabet', ['alphabet']],
    ['title__in=a\\,b\\\\c', ['a,b\\c']],
    ['title__in=,Alpha', ['Alpha']],
    ['title__in=Alpha,', ['Alpha']],
    ['title__in=', []],
    ['title__in=NULL,null', []],
    ['title__in={Alpha}', []],
    ['title__in="Alpha"', []],
    ['title__contains=lpha', ['Alpha', 'alphabet']],
    ['title__contains=%25', ['100% beta_']],
    ['title__contains=_', ['100% beta_']],
    ['title__contains=\\', ['a,b\\c']],
    ['title__contains=', all],
    ['title__icontains=ALPHA', ['Alpha', 'alphabet']],
    ['title__startswith=Alpha', ['Alpha']],
    ['title__startswith=a', ['alphabet', 'a,b\\c']],
    ['title__startswith=100%25', ['100% beta_']],
    ['title__startswith=1%25', []],
    ['pages=200', ['alphabet']],
    ['pages__in=100,300', ['Alpha', 'a,b\\c']],
    ['pages__gt=100', ['alphabet', 'a,b\\c']],
    ['pages__gte=100', ['Alpha', 'alphabet', 'a,b\\c']],
    ['pages__lt=200', ['Alpha']],
    ['pages__lte=200', ['Alpha', 'alphabet']],
    ['pages__isnull=true', ['100% beta_']],
    ['price__gte=10&price__lt=20', ['alphabet', '100% beta_']],
    ['price__gt=9.999999', ['alphabet', '100% beta_', 'a,b\\c']],
    ['price__lte=15.5', ['Alpha', 'alphabet', '100% beta_']],
    ['state=published', ['alphabet', '100% beta_']],
    ['state__in=draft,published', all],
    ['published_on=2020-02-29', ['100% beta_']],
    ['published_on__gte=2020-02-29', ['100% beta_', 'a,b\\c']],
    ['published_on__lt=2020-02-29', ['alphabet']],
    ['published_on__isnull=true', ['Alpha']],
    ['author=1&state=draft', ['Alpha']],
    ['author=/library/authors/1/&state=draft', ['Alpha']],
  ])('?%s returns %j', async (search, expected) => {
    expect(await titles(`?page_size=50&${search}`)).toEqual(expected)
  })

  test.each([
    'author=abc',
    'author=/library/books/1/',
    'author=01',
    'author__in=1,x',
    'author__in=1,,2',
    'author__in=',
    'owner__isnull=yes',
    'owner__isnull=',
    'owner__isnull=TRUE',
    'owner__in=1',
    'title__gt=a',
    'title__startswith=%00',
    'pages=2147483648',
    'pages=1.0',
    'pages__gt=',
    'price=10',
    'price__gt=1e3',
    'price__gt=nan',
    'state=unknown',
    'state__in=draft,other',
    'published_on=2021-02-29',
    'published_on__gte=now',
    'title__exact=Alpha',
    'title__regex=a',
    'title__in=a&title__in=b',
    'author__name=Anna',
    'author.name=Anna',
    'author__name__startswith=A',
    'ordering=author__name',
    'ordering=author',
    'ordering=title,title',
    'ordering=title,-title',
    'ordering=',
    `title__in=${Array.from({ length: 101 }, () => 'x').join(',')}`,
  ])('?%s is rejected, naming the parameter', async (search) => {
    const { status, body } = await ask('GET', `${BOOKS}?${search}`)
    expect([status, (body as { detail: string }).detail]).toEqual([
      400,
      expect.stringContaining(search.split('=')[0] ?? ''),
    ])
  })
})

describe('cursor pages', () => {
  beforeEach(async () => {
    await sql(`insert into books (author_id, title, pages, published_on) select 1 + n % 2, 'T' || n % 3, nullif(n % 4, 0) * 10,
      case when n % 3 = 0 then null else date '2000-01-01' + n % 2 end from generate_series(1, 11) n on conflict do nothing`)
  })

  const ORDERS = [
    '',
    'title',
    '-title',
    'published_on',
    '-published_on',
    'pages,-published_on',
    '-pages,published_on,title',
    'price,-pages',
  ]

  test.each(ORDERS)('ordered by %j contain every record once, forwards and backwards', async (ordering) => {
    await sql(`update books set title = title || id`)
    const search = ordering === '' ? '' : `&ordering=${ordering}`
    const whole = (await ask('GET', `${BOOKS}?page_size=50${search}`)).body as Book[]
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length)
    const forwards: Book[][] = []
    const backwards: Book[][] = []
    let last: string | undefined
    for (let next: string | undefined = `${BOOKS}?page_size=2${search}`; next !== undefined; ) {
      const page = await ask('GET', next)
      forwards.push(page.body as Book[])
      last = next
      next = linksOf(page)['next']
    }
    for (let prev = last; prev !== undefined; ) {
      const page = await ask('GET', prev)
      backwards.unshift(page.body as Book[])
      prev = linksOf(page)['prev']
    }
    expect(forwards.flat()).toEqual(whole)
    expect(backwards).toEqual(forwards)
  })

  test('have neither a total nor a last page', async () => {
    const page = await ask('GET', `${BOOKS}?page_size=1`)
    expect(page.headers.get('x-total-count')).toBeNull()
    expect([linksOf(page)['first'], linksOf(page)['prev'], linksOf(page)['last']]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('stay in place if records before them are added and deleted', async () => {
    const first = await ask('GET', `${BOOKS}?page_size=2`)
    const next = linksOf(first)['next'] ?? ''
    const before = (await ask('GET', next)).body
    for (const { url } of first.body as Book[]) expect((await ask('DELETE', url)).status).toBe(204)
    expect((await ask('GET', next)).body).toEqual(before)
  })

  test.each([
    'x',
    '',
    'W10',
    Buffer.from('{}').toString('base64url'),
    Buffer.from('["id","after"]').toString('base64url'),
    Buffer.from('["id","after","1","2"]').toString('base64url'),
    Buffer.from('["id","after",1]').toString('base64url'),
    Buffer.from('["id","after",null]').toString('base64url'),
    Buffer.from('["id","after","1; drop table books"]').toString('base64url'),
    Buffer.from('["id","sideways","1"]').toString('base64url'),
    Buffer.from('["title,id","after","x","1"]').toString('base64url'),
  ])('reject the cursor %j', async (cursor) => {
    const { status, body } = await ask('GET', `${BOOKS}?cursor=${cursor}`)
    expect([status, (body as { detail: string }).detail]).toEqual([400, expect.stringContaining('`cursor`')])
  })
})

/** A link without its cursor. */
const byNumber = (link: string | null) => link?.replace(/&cursor=[\w-]+/, '') ?? null

describe('limit-offset pages', () => {
  beforeEach(() => sql(`insert into authors (name) select 'author ' || n from generate_series(3, 8) n`))

  test('have a size, a maximum size, an exact total, and links in an envelope', async () => {
    const { body, headers } = await ask('GET', AUTHORS)
    const page = body as { count: number; next: string; previous: null; results: Book[] }
    expect(Object.keys(page)).toEqual(['count', 'next', 'previous', 'results'])
    expect([page.count, byNumber(page.next), page.previous]).toEqual([8, `${AUTHORS}?limit=3&offset=3`, null])
    expect(page.results.map(({ url }) => url)).toEqual([1, 2, 3].map((id) => `${AUTHORS}${id}/`))
    expect(headers.get('x-total-count')).toBe('8')
    const clamped = (await ask('GET', `${AUTHORS}?limit=1000&offset=2&ordering=-name`)).body as typeof page
    expect([clamped.results.length, byNumber(clamped.next)]).toEqual([5, `${AUTHORS}?ordering=-name&limit=5&offset=7`])
  })

  test.each([
    ['limit=3&offset=6', { next: null, previous: `${AUTHORS}?limit=3&offset=3`, size: 2, count: 8 }],
    [
      'limit=3&offset=2',
      { next: `${AUTHORS}?limit=3&offset=5`, previous: `${AUTHORS}?limit=3&offset=0`, size: 3, count: 8 },
    ],
    ['limit=3&offset=1000', { next: null, previous: `${AUTHORS}?limit=3&offset=6`, size: 0, count: 8 }],
    ['offset=99999999999999999999', { next: null, previous: `${AUTHORS}?limit=3&offset=6`, size: 0, count: 8 }],
    ['limit=5&name__startswith=nobody', { next: null, previous: null, size: 0, count: 0 }],
  ])('?%s has the right neighbours', async (search, { size, ...expected }) => {
    const { status, body } = await ask('GET', `${AUTHORS}?${search}`)
    const { count, next, previous, results } = body as Record<'next' | 'previous', string | null> & {
      count: number
      results: unknown[]
    }
    expect([status, count, byNumber(next), byNumber(previous), results.length]).toEqual([
      200,
      expected.count,
      expected.next,
      expected.previous,
      size,
    ])
  })

  test.each(['limit=0', 'limit=-1', 'offset=-1', 'offset=01', 'limit=', 'page=1', 'page_size=3', 'cursor=x'])(
    'rejects ?%s',
    async (search) => {
      expect((await ask('GET', `${AUTHORS}?${search}`)).status).toBe(400)
    },
  )
})

describe('an envelope without a count', () => {
  test('has a null count and a next page', async () => {
    await sql(`insert into subjects (name) select 's' || n from generate_series(1, 11) n`)
    const { body, headers } = await ask('GET', SUBJECTS)
    expect(body).toMatchObject({ count: null, previous: null })
    expect(byNumber((body as { next: string }).next)).toBe(`${SUBJECTS}?page=2&page_size=10`)
    expect(headers.get('x-total-count')).toBeNull()
    expect((await ask('GET', `${SUBJECTS}?page=2`)).body).toMatchObject({
      count: null,
      next: null,
      previous: `${SUBJECTS}?page=1&page_size=10`,
    })
  })
})

describe('an unpaged list', () => {
  test('contains everything, its total, and no links', async () => {
    const { url } = await create({})
    await sql(`insert into reviews (book_id, rating) select 1, 1 + n % 5 from generate_series(1, 150) n`)
    const page = await ask('GET', REVIEWS)
    expect(page.body).toHaveLength(150)
    expect([page.headers.get('x-total-count'), page.headers.get('link')]).toEqual(['150', null])
    const some = await ask('GET', `${REVIEWS}?rating=1&book=1`)
    expect([(some.body as unknown[]).length, some.headers.get('x-total-count')]).toEqual([30, '30'])
    expect((await ask('GET', `${REVIEWS}?page=1`)).status).toBe(400)
    expect(url).toBe(`${BOOKS}1/`)
  })
})

describe('a second resource of one model', () => {
  beforeEach(async () => {
    await sql(`insert into books (author_id, title, published_on) values
      (1, 'b', '2001-01-01'), (1, 'a', '2001-01-01'), (1, 'c', null), (1, 'd', '2002-01-01')`)
  })

  test('shows the same records in its own form and order', async () => {
    const page = await ask('GET', SHELF)
    expect((page.body as Book[]).map(({ title, author }) => [title, author])).toEqual([
      ['c', 1],
      ['d', 1],
    ])
    expect(Object.keys((page.body as Book[])[0] ?? {})[0]).toBe('id')
    const next = await ask('GET', linksOf(page)['next'] ?? '')
    expect((next.body as Book[]).map(({ title }) => title)).toEqual(['a', 'b'])
    expect(linksOf(next)['last']).toBe(`${SHELF}?page=2&page_size=2`)
    const made = await ask('POST', SHELF, { author: 1, title: 'made' })
    expect(made.headers.get('location')).toBe(`${SHELF}5/`)
    expect((await ask('GET', `${BOOKS}5/`)).body).toMatchObject({ title: 'made', author: anna })
  })

  test('accepts no links if it shows none', async () => {
    expect((await ask('POST', SHELF, { author: anna, title: 'x' })).status).toBe(400)
  })

  test.each(['colour=red', 'utm=1&utm=2', 'ordering=title', 'ordering=nonsense', '__proto__=1', 'title=a'])(
    'ignores ?%s, and leaves it out of its links',
    async (search) => {
      const plain = await ask('GET', SHELF)
      const page = await ask('GET', `${SHELF}?${search}`)
      expect([page.status, page.text, page.headers.get('link')]).toEqual([200, plain.text, plain.headers.get('link')])
    },
  )

  test.each(['page=0', 'page=1&page=2', 'page_size=x', 'page=1&colour=red&page=2'])(
    'still rejects ?%s, which it parses',
    async (search) => {
      expect((await ask('GET', `${SHELF}?${search}`)).status).toBe(400)
    },
  )
})

describe('deleting a record that is referenced', () => {
  test('is rejected with 409 for `restrict`, the default, and changes nothing', async () => {
    await create({})
    const answer = await ask('DELETE', anna)
    expect([answer.status, errorsOf(answer)]).toEqual([409, undefined])
    expect(answer.body).toMatchObject({ detail: 'A record of book still refers to it, by author' })
    expect((await ask('GET', anna)).status).toBe(200)
    await ask('DELETE', `${BOOKS}1/`)
    expect((await ask('DELETE', anna)).status).toBe(204)
  })

  test('is rejected without naming a field if the other record has the same model', async () => {
    expect((await ask('POST', SUBJECTS, { name: 'a', parent: null })).status).toBe(201)
    expect((await ask('POST', SUBJECTS, { name: 'b', parent: 1 })).status).toBe(201)
    const answer = await ask('DELETE', `${SUBJECTS}1/`)
    expect([answer.status, errorsOf(answer)]).toEqual([409, undefined])
    expect(answer.body).toMatchObject({ detail: 'A record of subject still refers to it, by parent' })
  })

  test('deletes the referencing records for `cascade`', async () => {
    const { url } = await create({})
    for (const rating of [1, 2]) await ask('POST', REVIEWS, { book: url, rating })
    expect((await ask('DELETE', url)).status).toBe(204)
    expect((await ask('GET', REVIEWS)).body).toEqual([])
  })

  test('empties the relation for `set_null`', async () => {
    const { url } = await create({ owner: 1 })
    await sql('delete from users where id = 1')
    expect((await ask('GET', url)).body).toMatchObject({ owner: null, author: anna })
  })
})

describe('server-set fields', () => {
  test('are set at creation or at every update, and never by a body', async () => {
    const { url } = await create({})
    await sql(`update books set created_at = '2001-01-01T00:00:00Z', updated_at = '2001-01-01T00:00:00Z'`)
    const old = '2001-01-01T00:00:00.000000Z'
    expect((await ask('PATCH', url, {})).body).toMatchObject({ created_at: old, updated_at: old })
    const fields = { id: 7, url: 'x', created_at: '1990-01-01T00:00:00Z', updated_at: '1990-01-01T00:00:00Z' }
    const changed = (await ask('PATCH', url, { title: 'New', ...fields })).body as Book
    expect([changed.id, changed.url, changed.created_at, String(changed.updated_at) > '2020']).toEqual([
      1,
      url,
      old,
      true,
    ])
  })
})

describe('messages', () => {
  test.each([
    [{ title: '' }, { title: 'The title must be between 1 and 100 characters' }],
    [{ title: undefined }, { title: 'The title is required' }],
    [{ isbn: '123' }, { isbn: 'An ISBN has 13 digits' }],
    [{ isbn: 123 }, { isbn: 'An ISBN has 13 digits' }],
    [{ price: '1.234' }, { price: 'Price must have at most 6 digits before the point and at most 2 digits after it' }],
    [{ pages: 0 }, { pages: 'Pages must be between 1 and 2147483647' }],
    [{ state: 'lost' }, { state: 'State must be one of: draft, published' }],
  ])('for %j are %j', async (fields, errors) => {
    const answer = await ask('POST', BOOKS, { author: anna, title: 'A book', ...fields })
    expect([answer.status, errorsOf(answer)]).toEqual([400, errors])
  })

  test('name the field whose value is a duplicate', async () => {
    await create({ isbn: '9783161484100' })
    const answer = await ask('POST', BOOKS, { author: anna, title: 'Other', isbn: '9783161484100' })
    expect([answer.status, errorsOf(answer)]).toEqual([409, { isbn: 'ISBN is taken by another record' }])
    const { url } = await create({ title: 'Third' })
    expect(await ask('PATCH', url, { isbn: '9783161484100' })).toMatchObject({ status: 409 })
    expect((await ask('GET', url)).body).toMatchObject({ isbn: null })
  })
})

describe('hidden fields', () => {
  beforeEach(async () => {
    await sql(
      `insert into books (author_id, title, shelf_mark, remark, access_code) values (1, 'Kept', '${MARK}', '${REMARK}', '${CODE}')`,
    )
    await sql(`insert into books (author_id, title) values (1, 'Other')`)
  })

  const SHOWN = [
    'url',
    'id',
    'author',
    'owner',
    'title',
    'isbn',
    'pages',
    'price',
    'state',
    'published_on',
    'created_at',
    'updated_at',
  ]

  test('are in no response', async () => {
    for (const path of [BOOKS, `${BOOKS}1/`, SHELF, `${SHELF}1/`]) {
      const { body } = await ask('GET', path)
      for (const each of [body].flat()) expect(SHOWN).toEqual(expect.arrayContaining(Object.keys(each as object)))
    }
    expect(Object.keys((await ask('GET', `${BOOKS}1/`)).body as object)).toEqual(SHOWN)
    expect(Object.keys((await ask('PATCH', `${BOOKS}1/`, { access_code: CODE })).body as object)).toEqual(SHOWN)
    expect(Object.keys(await create({ title: 'New', access_code: CODE }))).toEqual(SHOWN)
  })

  test('can be written if they are write-only', async () => {
    await ask('PATCH', `${BOOKS}2/`, { access_code: 'given' })
    expect((await sql('select access_code from books where id = 2')).rows).toEqual([['given']])
  })

  test.each(['shelf_mark', 'remark'])(
    'cannot be written if they are private: %s is rejected like an unknown name',
    async (field) => {
      const before = (await sql('select b::text from books b order by id')).rows
      for (const [method, path] of [
        ['POST', BOOKS],
        ['PATCH', `${BOOKS}1/`],
        ['PUT', `${BOOKS}1/`],
      ] as const) {
        const body = {
          author: anna,
          title: 'T',
          owner: null,
          isbn: null,
          pages: null,
          price: '1',
          state: 'draft',
          published_on: null,
          access_code: null,
        }
        const answers = await Promise.all(
          [field, 'no_such_field'].map((name) => ask(method, path, { ...body, [name]: 'x' })),
        )
        const [known, unknown] = answers.map(({ status, body: document }) => ({
          status,
          errors: JSON.stringify((document as { errors: object }).errors),
        }))
        expect(known?.status).toBe(400)
        expect(known).toEqual({ ...unknown, errors: unknown?.errors.replaceAll('no_such_field', field) })
      }
      expect((await sql('select b::text from books b order by id')).rows).toEqual(before)
    },
  )

  test.each([
    ['shelf_mark', MARK],
    ['remark', REMARK],
    ['access_code', CODE],
  ])('cannot be queried: %s reveals nothing by any parameter', async (field, value) => {
    const names = [
      field,
      `filter[${field}]`,
      `where[${field}]`,
      `${field}__startswith`,
      `${field}__isnull`,
      `${field}[]`,
      `${field}.eq`,
      'search',
      'q',
      'ordering',
    ]
    for (const path of [BOOKS, SHELF]) {
      for (const name of names) {
        const probes = name === 'ordering' ? [field, `-${field}`] : [value, 'no such value', 'true']
        const answers = []
        for (const probe of probes) {
          const response = await api.fetch(`${path}?${encodeURIComponent(name)}=${encodeURIComponent(probe)}`)
          const text = (await response.text()).replace(/"request_id":"[^"]*"/, '').replaceAll(`-${field}`, field)
          answers.push({ status: response.status, text })
        }
        for (const answer of answers) expect(answer).toEqual(answers[0])
        if (path === BOOKS) expect(answers[0]?.status).toBe(400)
        else expect(answers[0]?.text).toBe((await ask('GET', path)).text)
      }
    }
  })

  test('are not named when they cause a conflict', async () => {
    await sql(`update books set remark = 'nothing yet' where id = 1`)
    const answer = await ask('POST', BOOKS, { author: anna, title: 'Kept' })
    expect([answer.status, answer.text.includes('emark'), errorsOf(answer)]).toEqual([409, false, undefined])
  })

  test('are not logged', () => {
    const lines = JSON.stringify(api.logged)
    for (const canary of CANARIES) expect(lines).not.toContain(canary)
  })
})
