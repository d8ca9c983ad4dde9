import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { makeProject, runInHost } from '../support/cli.js'
import { BOOKS, MOUNTED, stockBooks } from '../support/mounted-books.js'

let api: Api
beforeAll(async () => {
  api = await startApi(MOUNTED)
  await stockBooks(api.database)
})
afterAll(() => api.close())

interface Book {
  readonly id: number
  readonly title: string
}

const list = async (path: string) => {
  const response = await api.fetch(path)
  const body = (await response.json()) as Record<string, unknown> | readonly Book[]
  const books = (Array.isArray(body) ? body : ((body as never)['data'] ?? (body as never)['results'] ?? [])) as Book[]
  return { status: response.status, headers: response.headers, body, numbers: books.map(({ id }) => id) }
}

const query = (parameters: Readonly<Record<string, unknown>>): string =>
  new URLSearchParams(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString()

const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

describe('a list', () => {
  const lists: readonly (readonly [path: string, ids: readonly number[]])[] = [
    ['/page/books?page=2&page_size=3', [4, 5, 6]],
    ['/page/books?page_size=2&page_size=2&page=2', [3, 4]],
    ['/page/books?ordering=-pages&page_size=2', [42, 41]],
    ['/page/books?ordering=-id&page_size=2', [42, 41]],
    ['/page/books?author=1&author=2&page_size=4', [1, 3, 4, 6]],
    ['/page/books?pages__gte=400&pages__lte=410', [40, 41]],
    ['/page/books', from(1, 10)],
    ['/page/books?id__in=3,1,2', [1, 2, 3]],
    ['/page/books?id__in=3,1&id__in=2', [1, 2, 3]],
    [`/page/books?id__in=${from(1, 12).join()}`, from(1, 12)],
    ['/page/books?status__in=draft,published', from(1, 10)],
    ['/page/books?title__in=Book%2003,Book%5C%2C%2004,Book%2005', [3, 5]],
    ['/page/books?status__in=draft,published&page_size=2', [1, 2]],
    ['/page/books?pages__range=30,50', [3, 4, 5]],
    ['/json-server/books', from(1, BOOKS)],
    ['/crud/books?limit=10&page=2&offset=10', from(11, 20)],
    ['/json-server/books?_start=30', from(31, BOOKS)],
    ['/json-server/books?_start=1&_limit=2', [2, 3]],
    ['/json-server/books?_limit=3', [1, 2, 3]],
    ['/json-server/books?_page=2&_limit=3', [4, 5, 6]],
    ['/json-server/books?_page=5', [41, 42]],
    ['/json-server/books?_page=2&_per_page=2', [3, 4]],
    ['/json-server/books?_sort=-pages&_end=2', [42, 41]],
    ['/json-server/books?status_ne=draft&_end=3', [2, 4, 6]],
    ['/json-server/books?status_ne=draft&status_ne=published', []],
    ['/json-server/books?pages_isnull=false&_end=1', [1]],
    ['/json-server/books?_start=40&_end=60', [41, 42]],
    ['/json-server/books?_end=2', [1, 2]],
    ['/json-server/books?_sort=title&_order=DESC&_start=0&_end=2', [42, 41]],
    ['/json-server/books?_sort=pages,id&_order=desc&_end=2', [42, 41]],
    ['/json-server/books?title_like=K%203&pages_gte=380', [38, 39]],
    ['/json-server/books?ids[0]=3&ids[1]=1&ids[]=2', [1, 2, 3]],
    ['/json-server/books?id=3&id=4&_start=1&_end=2', [4]],
    [
      `/json-server/books?${from(1, 30)
        .map((id) => `id=${id}`)
        .join('&')}`,
      from(1, 30),
    ],
    [`/simple-rest/books?${query({ range: [40, 49] })}`, [41, 42]],
    [`/simple-rest/books?${query({ sort: ['title', 'desc'], range: [0, 1], filter: {} })}`, [42, 41]],
    [`/simple-rest/books?${query({ filter: { author: [1, '2'], pages__lte: 40 } })}`, [1, 3, 4]],
    [`/simple-rest/books?${query({ filter: { pages: null } })}`, []],
    [`/simple-rest/books?${query({ filter: { id: [] } })}`, []],
    [`/simple-rest/books?${query({ filter: { id: from(1, 30) } })}`, from(1, 30)],
    ['/simple-rest/books?filter={"id":[9007199254740993,7]}', [7]],
    [`/crud/books?${query({ limit: 2, page: 3 })}`, [5, 6]],
    [`/crud/books?${query({ s: { pages: { $between: [30, 50] } } })}`, [3, 4, 5]],
    [`/crud/books?${query({ s: { $and: [{ status: 'draft' }, { pages: { $gte: 390, $lte: 410 } }] } })}`, [39, 41]],
    [`/crud/books?${query({ s: { pages: { $isnull: true } } })}`, []],
    [`/crud/books?${query({ s: { pages: null } })}`, []],
    [`/crud/books?${query({ s: { pages: { $notnull: false } } })}`, []],
    ['/crud/books?filter=pages||$notnull||false', []],
    ['/crud/books?filter=pages||$isnull', []],
    ['/crud/books?filter[0]=id||$in||1,2,3&filter[1]=status||$eq||draft', [1, 3]],
    ['/crud/books?sort[0]=title,DESC&limit=2', [42, 41]],
    ['/crud/books', from(1, BOOKS)],
    ['/crud/books?offset=5', from(6, BOOKS)],
    ['/crud/books?offset=5&limit=2', [6, 7]],
    ['/crud/books?page=2', from(11, 20)],
    [`/crud/books?${query({ s: { title: { $startsL: 'bOOK 4' } } })}`, [40, 41, 42]],
    [`/crud/books?${query({ s: { status: { $ne: 'draft' } }, limit: 2 })}`, [2, 4]],
    [`/simple-rest/books?${query({ sort: ['title', 'DESC'] })}`, from(1, BOOKS).toReversed()],
    ['/page/books?page_size=1000', from(1, BOOKS)],
  ]

  test.each(lists)('is parsed as its dialect defines %s (promise 07)', async (path, ids) => {
    expect(await list(path)).toMatchObject({ status: 200, numbers: ids })
  })

  const rejected: readonly (readonly [path: string, says: string])[] = [
    ['/api/books?_start=0', 'has no parameter `_start`'],
    ['/page/books?pgae=2', 'has no parameter `pgae`; allowed are page, page_size, cursor, ordering'],
    ['/page/books?ordering=status', 'cannot be ordered by `status`; allowed are id, title, pages'],
    ['/page/books?ordering=title,-title', 'names a field twice'],
    ['/page/books?page=1&page=2', '`page` is given twice with different values'],
    [
      '/page/books?ordering=title&ordering=pages',
      '`ordering` is given twice with different values; give it once, with its values separated by commas',
    ],
    ['/page/books?page=0', '`page` must be a whole number from 1'],
    ['/page/books?pages__gte=1&pages__gte=2', '`pages__gte` must have one value'],
    ['/page/books?pages__gt=1', 'no comparison `pages__gt`; `pages` supports gte, lte, range, isnull'],
    ['/json-server/books?_start=5&_end=5', '`_end` must be larger than `_start`'],
    ['/json-server/books?_sort=title&_order=up', '`_order` must be asc or desc'],
    ['/json-server/books?_order=asc', '`_order` has more entries than `_sort`'],
    ['/json-server/books?title_ne=a', 'no comparison `title_ne`; `title` supports exact, in, icontains'],
    ['/json-server/books?_page=2&_start=3', '`_start` cannot be combined with `_page`; give one of them'],
    ['/json-server/books?_end=2&_limit=3', '`_end` cannot be combined with `_limit`'],
    ['/json-server/books?_page=0', '`_page` must be a whole number from 1'],
    ['/json-server/books?_limit=x', '`_limit` must be a whole number from 1'],
    [`/crud/books?${query({ s: { pages: { $isnull: 1 } } })}`, '`pages.$isnull` takes true or false'],
    [`/crud/books?${query({ s: { pages: { $notnull: [] } } })}`, '`pages.$notnull` takes true or false'],
    [`/crud/books?${query({ s: { id: [1, 2] } })}`, '`s.id` must be a value, or an object of comparisons'],
    [`/crud/books?${query({ s: { title: { $startsL: [] } } })}`, '`title.$startsL` must have one value'],
    [`/simple-rest/books?${query({ filter: { pages__gte: [] } })}`, '`filter.pages__gte` must have one value'],
    ['/crud/books?offset=abc', '`offset` must be a whole number from 0'],
    ['/crud/books?offset=-1', '`offset` must be a whole number from 0'],
    ['/json-server/books?status_like=a', 'no comparison `status_like`'],
    ['/json-server/books?author=x', 'the value of `author` must be like'],
    [
      `/json-server/books?${from(1, 1001)
        .map((id) => `id=${id}`)
        .join('&')}`,
      '`id` takes at most 1000 values',
    ],
    ['/simple-rest/books?range=[9,0]', '`range` must be the numbers of the first and the last row, such as [0,9]'],
    ['/simple-rest/books?range=[0,1.5]', '`range` must be'],
    ['/simple-rest/books?sort=title', '`sort` is not JSON'],
    ['/simple-rest/books?sort=["title"]', '`sort` must be a field and an order'],
    ['/simple-rest/books?filter=[]', '`filter` must be a JSON object'],
    ['/simple-rest/books?filter={"author":{"id":1}}', '`filter.author` must be null, text, a number'],
    ['/simple-rest/books?filter={"status":"draft","status":"published"}', '`filter` has the key `status` twice in one'],
    ['/crud/books?s={"$and":[{"pages":{"$gte":1,"$gte":400}}]}', '`s` has the key `$gte` twice in one object'],
    ['/crud/books?limit=10&page=2&offset=20', '`offset` contradicts `page`, which starts after 10 records'],
    ['/simple-rest/books?filter={"q":"x"}', 'has no parameter `filter.q`'],
    ['/simple-rest/books?status=draft', 'has no parameter `status`'],
    [`/crud/books?${query({ s: { $or: [{ status: 'draft' }] } })}`, '`s` has an `$or`'],
    [
      `/crud/books?${query({ s: { status: { $nin: 'draft' } } })}`,
      '`status.$nin` is not a known comparison; known comparisons are $eq',
    ],
    [`/crud/books?${query({ s: { title: { $ne: 'a' } } })}`, 'no comparison `title.$ne`; `title` supports exact'],
    [`/crud/books?${query({ s: '[['.repeat(2000) })}`, '`s` is not JSON'],
    [`/crud/books?s=${'{"$and":['.repeat(12)}${']}'.repeat(12)}`, '`s` is nested deeper than 8 levels'],
    ['/crud/books?join=author', 'has no parameter `join`'],
    ['/crud/books?sort[0]=title,UP', '`sort` must be a field and an order'],
  ]

  test.each(rejected)('is rejected by name: %s (promise 07)', async (path, says) => {
    const { status, body } = await list(path)
    expect([status, String((body as { message: unknown }).message)]).toEqual([400, expect.stringContaining(says)])
  })

  const starts = [
    '/page/books?page_size=20&status=draft&ordering=-title',
    '/json-server/books?_start=0&_end=20&status=draft&_sort=title&_order=desc',
    '/json-server/books?_page=1&_per_page=20&status=draft&_sort=title&_order=desc',
    `/simple-rest/books?${query({ range: [0, 19], filter: { status: 'draft' }, sort: ['title', 'DESC'] })}`,
    `/crud/books?${query({ limit: 20, s: { status: 'draft' }, 'sort[0]': 'title,DESC' })}`,
  ]

  test.each(starts)('links to the next page in its dialect: %s', async (start) => {
    const first = await list(start)
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? 'none'
    const second = await list(next)
    expect([first.numbers.length, second.numbers]).toEqual([20, [1]])
    expect(second.headers.get('x-total-count')).toBe('21')
    const [path = ''] = start.split('?')
    const previous = /<([^>]+)>; rel="prev"/.exec(second.headers.get('link') ?? '')?.[1] ?? 'none'
    expect(previous.startsWith(`${path}/?`)).toBe(true)
    expect((await list(previous)).numbers).toEqual(first.numbers)
  })

  test('that is longer than a page links to the next page at any depth', async () => {
    const first = await list('/page/books?page_size=25&ordering=-pages')
    const { next, count, results } = first.body as Record<string, string>
    expect([count, results?.length, first.numbers]).toEqual([BOOKS, 25, from(18, 42).toReversed()])
    expect(next).toMatch(/page=2&page_size=25&cursor=/)
    const second = await list(next ?? '')
    expect(second.numbers).toEqual(from(1, 17).toReversed())
    expect(second.body).toMatchObject({ next: null, previous: expect.stringContaining('page=1&page_size=25') })
    expect((await list('/json-server/books?_end=25')).headers.get('link')).toContain('_start=25&_end=50>; rel="next"')
    expect((await list('/json-server/books')).headers.get('link')).toBeNull()
    expect((await list('/crud/books?limit=30')).body).toMatchObject({ count: 30, total: BOOKS, page: 1, pageCount: 2 })
  })

  test('that is longer than a page links backwards page by page', async () => {
    const second = await list('/page/books?page_size=20&page=3')
    const cursor = /cursor=([^"&]+)/.exec(String((second.body as { previous: unknown }).previous))?.[1]
    const { status, body } = await list(`/page/books?page_size=30&cursor=${cursor}`)
    expect([status, (body as { message: unknown }).message]).toEqual([
      400,
      'the parameter `cursor` points to the previous page, which has at most 20 records',
    ])
  })

  const described: readonly (readonly [mount: string, parameters: readonly string[], destroyed: string])[] = [
    [
      'page',
      [
        ...['page', 'page_size', 'cursor', 'ordering', 'id', 'id__in', 'author', 'author__in'],
        ...['title', 'title__in', 'title__icontains', 'title__istartswith'],
        ...['status', 'status__in', 'status__ne', 'pages__gte', 'pages__lte', 'pages__range', 'pages__isnull'],
      ],
      '204',
    ],
    [
      'json-server',
      [
        ...['_start', '_end', '_limit', '_page', '_per_page', 'cursor', '_sort', '_order', 'id', 'author'],
        ...['title', 'title_like', 'status', 'status_ne', 'pages_gte', 'pages_lte', 'pages_isnull'],
      ],
      '200',
    ],
    ['simple-rest', ['range', 'cursor', 'sort', 'filter'], '200'],
    ['crud', ['limit', 'offset', 'page', 'cursor', 's', 'filter', 'sort'], '200'],
  ]

  test.each(described)('is described in the OpenAPI document as in %s', async (mount, parameters, destroyed) => {
    const { paths } = (await (await api.fetch('/openapi.json')).json()) as {
      paths: Record<string, Record<'get' | 'delete', { parameters: { name: string }[]; responses: object }>>
    }
    const end = mount === 'page' ? '/' : ''
    const names = paths[`/${mount}/books${end}`]?.get.parameters.map(({ name }) => name) ?? []
    expect(names.toSorted()).toEqual(parameters.toSorted())
    expect(Object.keys(paths[`/${mount}/books/{id}${end}`]?.delete.responses ?? {})).toContain(destroyed)
  })

  test('describes which parameters are repeated, and which have values separated by commas (page)', async () => {
    const { paths } = (await (await api.fetch('/openapi.json')).json()) as {
      paths: Record<string, { get: { parameters: { name: string; explode?: boolean }[] } }>
    }
    const all = paths['/page/books/']?.get.parameters ?? []
    const explodes = ['id', 'id__in', 'pages__range'].map((name) => all.find((each) => each.name === name)?.explode)
    expect(explodes).toEqual([true, false, false])
  })

  test('has the envelope of its dialect', async () => {
    const paged = await list('/page/books?page=2&page_size=40')
    expect(paged.body).toMatchObject({ count: BOOKS, next: null, results: [{ id: 41 }, { id: 42 }] })
    const crud = await list('/crud/books?limit=40&page=2')
    expect(crud.body).toMatchObject({ count: 2, total: BOOKS, page: 2, pageCount: 2, data: [{ id: 41 }, { id: 42 }] })
    const range = (path: string) => list(path).then(({ headers }) => headers.get('content-range'))
    expect(await range('/simple-rest/books?range=[40,79]')).toBe('books 40-41/42')
    expect(await range('/simple-rest/books?range=[50,59]')).toBe('books */42')
    expect(await range('/simple-rest/books?range=[0,999]')).toBe('books 0-41/42')
    expect(await range('/simple-rest/books?range=[5,34]')).toBe('books 5-34/42')
    const numbered = await list('/json-server/books?_page=2&_per_page=20')
    const { data, ...numbers } = numbered.body as { readonly data: readonly Book[] }
    expect([numbers, data.map(({ id }) => id)]).toEqual([
      { first: 1, prev: 1, next: 3, last: 3, pages: 3, items: BOOKS },
      from(21, 40),
    ])
    expect(await range('/json-server/books?_start=0')).toBeNull()
  })

  test.each([
    ['_page=1', '', { prev: null, next: 2, last: 3, pages: 3 }],
    ['_page=3', '', { prev: 2, next: null, last: 3, pages: 3 }],
    ['_page=4', '', { prev: 3, next: null, last: 3, pages: 3 }],
    ['_page=9', '', { prev: 3, next: null, last: 3, pages: 3 }],
    ['_page=1', '&id=0', { prev: null, next: null, last: 1, pages: 0 }],
    ['_page=9', '&id=0', { prev: 1, next: null, last: 1, pages: 0 }],
  ])('names the same neighbours in the body and in `Link`: %s%s', async (page, filter, numbers) => {
    const { body, headers } = await list(`/json-server/books?${page}&_per_page=20${filter}`)
    expect(body).toMatchObject(numbers)
    const linked = new Map(
      [...(headers.get('link') ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url = '', rel]) => [
        rel,
        Number(new URL(url, 'http://a').searchParams.get('_page')),
      ]),
    )
    const { prev, next, last } = numbers
    expect([linked.get('prev') ?? null, linked.get('next') ?? null, linked.get('last')]).toEqual([prev, next, last])
  })
})

describe('PUT and DELETE (promise 06)', () => {
  const make = async () => {
    const response = await api.send('POST', '/api/books', { title: 'New', author: 1, pages: 5, extra: { a: 1, b: 2 } })
    return (await response.json()) as Book
  }

  test.each(['json-server', 'simple-rest', 'crud'])(
    'update the given fields, and return the record: %s',
    async (mount) => {
      const book = await make()
      const path = `/${mount}/books/${book.id}`
      const put = await api.send('PUT', path, { extra: { b: 3 } })
      const changed = { ...book, extra: { b: 3 } }
      expect([put.status, await put.json()]).toEqual([200, changed])
      const deleted = await api.fetch(path, { method: 'DELETE', headers: { 'content-type': 'text/plain' } })
      expect([deleted.status, await deleted.json()]).toEqual([200, changed])
      expect((await api.fetch(path, { method: 'DELETE' })).status).toBe(404)
    },
  )

  test.each(['api', 'page'])('replace the record, and return nothing: %s', async (mount) => {
    const book = await make()
    const path = `/${mount}/books/${book.id}`
    expect((await api.send('PUT', path, { extra: { b: 3 } })).status).toBe(400)
    const deleted = await api.fetch(path, { method: 'DELETE' })
    expect([deleted.status, await deleted.text()]).toEqual([204, ''])
  })
})

describe('a mount', () => {
  const YAML = `version: 1
models:
  author: { table: authors, fields: { id: { type: integer, primary_key: true }, name: { type: string, max: 50 } } }
  book:
    table: books
    fields:
      id: { type: integer, primary_key: true }
      author: { type: belongs_to, model: author }
resources:
  author: { model: author, path: /authors/, dialect: json-server }
  book: { model: book, path: /books/, url: true, links: { author: author-detail }, filterable: { author: [exact, in] } }
mounts:
  - { path: /admin-api, dialect: crud }
  - { path: /v2/same }
`

  test('shows and accepts links under its own path', async () => {
    const linked = await startApi(YAML)
    try {
      await linked.send('POST', '/api/authors', { name: 'Ada' })
      const made = await linked.send('POST', '/admin-api/books', { author: '/admin-api/authors/1/' })
      const book = { url: '/admin-api/books/1/', id: 1, author: '/admin-api/authors/1/' }
      expect([made.status, made.headers.get('location'), await made.json()]).toEqual([201, book.url, book])
      const plain = { url: '/api/books/1/', id: 1, author: '/api/authors/1/' }
      expect(await (await linked.fetch('/api/books/1')).json()).toEqual(plain)
      const found = async (path: string) => {
        const response = await linked.fetch(path)
        const answer: unknown = await response.json()
        return [response.status, Array.isArray(answer) ? answer.length : answer]
      }
      expect(await found('/api/books?author=/api/authors/1/')).toEqual([200, 1])
      expect(await found('/api/books?author=%2Fapi%2Fauthors%2F1')).toEqual([200, 1])
      expect(await found('/api/books?author__in=/api/authors/1/,2')).toEqual([200, 1])
      expect(await found('/api/books?author=/api/authors/2/')).toEqual([200, 0])
      expect(await found('/api/books?author=/api/books/1/')).toMatchObject([400, { title: 'Invalid query parameter' }])
      expect(await found('/api/books?author=/admin-api/authors/1/')).toMatchObject([400, {}])
      expect(await found('/admin-api/books?filter=author||$eq||/admin-api/authors/1/')).toEqual([200, 1])
      expect(await found('/admin-api/books?filter=author||$in||/admin-api/authors/1/,2')).toEqual([200, 1])
      const elsewhere = await linked.send('POST', '/admin-api/books', { author: plain.author })
      expect([elsewhere.status, await elsewhere.json()]).toMatchObject([400, { error: 'Validation failed' }])
      // Without a dialect of its own, each resource speaks there as it does at the prefix.
      expect((await linked.fetch('/v2/same/authors?_end=1')).status).toBe(200)
      expect((await linked.fetch('/v2/same/books?_end=1')).status).toBe(400)
    } finally {
      await linked.close()
    }
  })

  test('is listed with its dialect', async () => {
    const project = await makeProject({ 'resources.yaml': YAML })
    const { stdout } = await runInHost(['routes', '--method', 'put'], { cwd: project.folder })
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual(
      expect.arrayContaining([
        ['author-detail', 'PUT', '/api/authors/{id}/', 'resource author, json-server'],
        ['book-detail', 'PUT', '/api/books/{id}/', 'resource book'],
        ['admin-api:book-detail', 'PUT', '/admin-api/books/{id}/', 'resource admin-api:book, crud'],
        ['v2-same:author-detail', 'PUT', '/v2/same/authors/{id}/', 'resource v2-same:author, json-server'],
      ]),
    )
    await project.remove()
  })
})
