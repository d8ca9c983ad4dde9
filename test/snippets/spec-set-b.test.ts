import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'

const PATH = '/api/snippets-viewset/'
const VALID = { title: 'Hello', code: 'print(1)', language: 'python' }

let api: Api
beforeAll(async () => {
  api = await startApi(SNIPPETS_FILE)
})
afterAll(() => api.close())
beforeEach(() => api.database.query({ text: 'delete from snippets', values: [] }))

interface Snippet {
  readonly id: number
  readonly title: string
  readonly code: string
  readonly language: string
  readonly created_at: string
}

const create = async (fields: Partial<typeof VALID> = {}): Promise<Snippet> => {
  const response = await api.send('POST', PATH, { ...VALID, ...fields })
  expect(response.status).toBe(201)
  return (await response.json()) as Snippet
}

const list = async (search = ''): Promise<{ titles: string[]; rows: Snippet[]; headers: Headers; status: number }> => {
  const response = await api.fetch(PATH + search)
  const rows = (await response.json()) as Snippet[]
  const titles = response.status === 200 ? rows.map((row) => row.title) : []
  return { titles, rows, headers: response.headers, status: response.status }
}

const problem = async (
  response: Response,
): Promise<{ detail: string; errors?: Record<string, string>; status: number }> => {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  return (await response.json()) as { detail: string; status: number }
}

/** The links of a list without their cursors. */
const linkOf = ({ headers }: { readonly headers: Headers }) =>
  (headers.get('link') ?? '').replaceAll(/&cursor=[\w-]+/g, '')

describe('list', () => {
  test('returns an empty JSON array without snippets', async () => {
    const response = await api.fetch(PATH)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.text()).toBe('[]')
    expect(response.headers.get('x-total-count')).toBe('0')
  })

  test('returns each record as id, title, code, language and created_at, in this order', async () => {
    const created = await create()
    const { rows } = await list()
    expect(rows).toEqual([created])
    expect(Object.keys(rows[0] ?? {})).toEqual(['id', 'title', 'code', 'language', 'created_at'])
    expect(created.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  })

  test('has 10 items per page by default, ordered by id, and a total', async () => {
    for (let n = 1; n <= 12; n++) await create({ title: `t${n}` })
    const first = await list()
    expect(first.titles).toEqual(['t1', 't2', 't3', 't4', 't5', 't6', 't7', 't8', 't9', 't10'])
    expect(first.headers.get('x-total-count')).toBe('12')
    expect(linkOf(first)).toBe(
      [
        `<${PATH}?page=1&page_size=10>; rel="first"`,
        `<${PATH}?page=2&page_size=10>; rel="next"`,
        `<${PATH}?page=2&page_size=10>; rel="last"`,
      ].join(', '),
    )
    expect((await list('?page=2')).titles).toEqual(['t11', 't12'])
  })

  test.each(['?page=3', '?page=9223372036854775808', `?page=1${'0'.repeat(1000)}`])(
    'returns an empty array for the page after the end %#',
    async (search) => {
      await create()
      const { rows, status, headers } = await list(search)
      expect([status, rows]).toEqual([200, []])
      expect(headers.get('x-total-count')).toBe('1')
    },
  )

  test('accepts page_size up to 100, and reduces larger values', async () => {
    await api.database.query({
      text: `insert into snippets (title, code, language) select 't' || n, 'c', 'l' from generate_series(1, 150) n`,
      values: [],
    })
    expect((await list('?page_size=3')).rows).toHaveLength(3)
    expect((await list('?page_size=100')).rows).toHaveLength(100)
    const clamped = await list('?page_size=101')
    expect(clamped.rows).toHaveLength(100)
    expect(linkOf(clamped)).toContain(`<${PATH}?page=2&page_size=100>; rel="next"`)
  })

  test('filters on language and on title by exact match', async () => {
    await create({ title: 'a', language: 'go' })
    await create({ title: 'ab', language: 'go' })
    await create({ title: 'a', language: 'rust' })
    expect((await list('?language=go')).titles).toEqual(['a', 'ab'])
    expect((await list('?title=a')).rows.map((row) => row.language)).toEqual(['go', 'rust'])
    expect((await list('?language=g')).rows).toEqual([])
    expect((await list('?language=GO')).rows).toEqual([])
  })

  test.each([
    ['title', ['a', 'b', 'c']],
    ['-title', ['c', 'b', 'a']],
    ['created_at', ['b', 'c', 'a']],
    ['-created_at', ['a', 'c', 'b']],
    ['title,-created_at', ['a', 'b', 'c']],
  ])('orders by %s', async (ordering, titles) => {
    for (const title of ['b', 'c', 'a']) await create({ title })
    expect((await list(`?ordering=${ordering}`)).titles).toEqual(titles)
  })

  test('combines filters, ordering and pagination in one request', async () => {
    for (const title of ['d', 'a', 'c', 'b']) await create({ title, language: 'go' })
    await create({ title: 'z', language: 'rust' })
    const { titles, headers } = await list('?page_size=2&page=2&ordering=-title&language=go')
    expect(titles).toEqual(['b', 'a'])
    expect(headers.get('x-total-count')).toBe('4')
    expect(headers.get('link')).toContain(`<${PATH}?ordering=-title&language=go&page=1&page_size=2>; rel="prev"`)
  })

  test.each([
    ['?code=x', 'code'],
    ['?created_at=2020-01-01', 'created_at'],
    ['?language__in=go', 'language__in'],
    ['?pgae=2', 'pgae'],
    ['?ordering=code', 'code'],
    ['?ordering=id', 'id'],
    ['?page=0', 'page'],
    ['?page_size=0', 'page_size'],
    ['?page=1&page=2', 'page'],
  ])('rejects %s, which is not declared, naming it and what is allowed', async (search, name) => {
    await create()
    const response = await api.fetch(PATH + search)
    expect(response.status).toBe(400)
    expect((await problem(response)).detail).toContain(`\`${name}\``)
  })
})

describe('create', () => {
  test('returns 201 with the stored record and its Location', async () => {
    const response = await api.send('POST', PATH, VALID)
    expect(response.status).toBe(201)
    const created = (await response.json()) as Snippet
    expect(created).toMatchObject(VALID)
    expect(response.headers.get('location')).toBe(`${PATH}${created.id}/`)
    expect(await (await api.fetch(`${PATH}${created.id}/`)).json()).toEqual(created)
  })

  test('sets id and created_at itself, whatever the body contains', async () => {
    const before = await create()
    const response = await api.send('POST', PATH, { ...VALID, id: 7_000_000, created_at: '1970-01-01T00:00:00Z' })
    const created = (await response.json()) as Snippet
    expect(created.id).toBe(before.id + 1)
    expect(created.created_at > '2020').toBe(true)
  })

  test.each([
    [{}, { title: 'Title is required', code: 'Code is required', language: 'Language is required' }],
    [{ ...VALID, title: '' }, { title: 'Title must be between 1 and 100 characters' }],
    [{ ...VALID, title: 'x'.repeat(101) }, { title: 'Title must be between 1 and 100 characters' }],
    [{ ...VALID, code: '' }, { code: 'Code must be between 1 and 10000 characters' }],
    [{ ...VALID, code: 'x'.repeat(10_001) }, { code: 'Code must be between 1 and 10000 characters' }],
    [{ ...VALID, language: '' }, { language: 'Language must be between 1 and 50 characters' }],
    [{ ...VALID, language: 'x'.repeat(51) }, { language: 'Language must be between 1 and 50 characters' }],
    [{ ...VALID, title: 1 }, { title: 'Title must be a string' }],
    [{ ...VALID, title: null }, { title: 'Title must be a string' }],
  ])('rejects an invalid body with 400 and each field’s message %# (promise 04)', async (body, errors) => {
    const response = await api.send('POST', PATH, body)
    expect(response.status).toBe(400)
    expect((await problem(response)).errors).toEqual(errors)
    expect((await list()).rows).toEqual([])
  })

  test('rejects an unknown field', async () => {
    const response = await api.send('POST', PATH, { ...VALID, admin: true })
    expect(response.status).toBe(400)
    expect((await problem(response)).errors).toEqual({
      admin: '`admin` is not a field here; the fields are title, code, language',
    })
  })

  test.each([['text/plain'], ['application/x-www-form-urlencoded'], ['application/merge-patch+json']])(
    'returns 415 for %s',
    async (type) => {
      const response = await api.send('POST', PATH, VALID, { 'content-type': type })
      expect(response.status).toBe(415)
    },
  )
})

describe('retrieve', () => {
  test('returns one record', async () => {
    const created = await create()
    const response = await api.fetch(`${PATH}${created.id}/`)
    expect([response.status, await response.json()]).toEqual([200, created])
  })

  test('returns an id above 2^53 with its exact digits', async () => {
    await api.database.query({
      text: `insert into snippets (id, title, code, language) overriding system value values (9007199254740993, 't', 'c', 'l')`,
      values: [],
    })
    const response = await api.fetch(`${PATH}9007199254740993/`)
    expect(await response.text()).toMatch(/^\{"id":9007199254740993,"title":"t"/)
    expect(await (await api.fetch(PATH)).text()).toMatch(/^\[\{"id":9007199254740993,/)
  })

  test.each(['999999', 'abc', '1.0', '01', '+1', '9223372036854775808', '%201', '0'])(
    'returns 404 for the id %s',
    async (id) => {
      await create()
      const response = await api.fetch(`${PATH}${id}/`)
      expect(response.status).toBe(404)
      expect((await problem(response)).status).toBe(404)
    },
  )
})

describe('update', () => {
  test('overwrites title, code and language, and keeps id and created_at', async () => {
    const created = await create()
    const changed = { title: 'New', code: 'x', language: 'go' }
    const response = await api.send('PUT', `${PATH}${created.id}/`, changed)
    expect([response.status, await response.json()]).toEqual([200, { ...created, ...changed }])
  })

  test('requires every writable field', async () => {
    const { id } = await create()
    const response = await api.send('PUT', `${PATH}${id}/`, { title: 'New' })
    expect(response.status).toBe(400)
    expect((await problem(response)).errors).toEqual({ code: 'Code is required', language: 'Language is required' })
  })

  test('validates the body before it looks for the record', async () => {
    expect((await api.send('PUT', `${PATH}999999/`, {})).status).toBe(400)
    expect((await api.send('PUT', `${PATH}abc/`, {})).status).toBe(400)
    expect((await api.send('PUT', `${PATH}999999/`, VALID)).status).toBe(404)
    expect((await api.send('PUT', `${PATH}abc/`, VALID)).status).toBe(404)
  })
})

describe('partial_update', () => {
  test.each([{ title: 'New' }, { code: 'new' }, { language: 'go', title: 'New' }, {}])(
    'changes only the given fields: %j',
    async (fields) => {
      const created = await create()
      const response = await api.send('PATCH', `${PATH}${created.id}/`, fields)
      expect([response.status, await response.json()]).toEqual([200, { ...created, ...fields }])
    },
  )

  test('accepts a merge patch', async () => {
    const { id } = await create()
    const type = { 'content-type': 'application/merge-patch+json' }
    expect((await api.send('PATCH', `${PATH}${id}/`, { title: 'New' }, type)).status).toBe(200)
  })

  test('rejects null for a required field, and changes nothing', async () => {
    const created = await create()
    const response = await api.send('PATCH', `${PATH}${created.id}/`, { title: null, code: 'new' })
    expect([response.status, (await problem(response)).errors]).toEqual([400, { title: 'Title must be a string' }])
    expect((await list()).rows).toEqual([created])
  })
})

describe('destroy', () => {
  test('deletes the record and returns 204 without a body, then 404', async () => {
    const { id } = await create()
    const response = await api.fetch(`${PATH}${id}/`, { method: 'DELETE' })
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect((await list()).rows).toEqual([])
    expect((await api.fetch(`${PATH}${id}/`, { method: 'DELETE' })).status).toBe(404)
  })
})

describe('both endpoint sets', () => {
  test('read and write the same records', async () => {
    const { id } = await create({ title: 'from B' })
    expect(await (await api.fetch(`/api/snippets/${id}/`)).json()).toMatchObject({ snippet: { id, title: 'from B' } })
    const response = await api.send('POST', '/api/snippets/', { ...VALID, title: 'from A' })
    const { snippet } = (await response.json()) as { snippet: Snippet }
    expect(await (await api.fetch(`${PATH}${snippet.id}/`)).json()).toMatchObject({ title: 'from A' })
  })

  test.each([
    [PATH, 'PUT', 'GET, HEAD, POST, OPTIONS'],
    [`${PATH}1/`, 'POST', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ])('%s rejects %s with 405 and `Allow`', async (path, method, allow) => {
    const response = await api.fetch(path, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
  })

  test.each([PATH.slice(0, -1), '/api/snippets', '/api/snippets/config'])(
    '%s works without its trailing slash (promise 18)',
    async (path) => {
      expect((await api.fetch(path, { redirect: 'error' })).status).toBe(200)
    },
  )

  test('a body sent without the trailing slash is kept (promise 18)', async () => {
    const response = await api.send('POST', PATH.slice(0, -1), VALID)
    expect([response.status, await response.json()]).toEqual([201, expect.objectContaining(VALID)])
  })

  test.each(['/api//snippets-viewset/', '/API/snippets-viewset/', '/api/snippets-viewset//', '/snippets-viewset/'])(
    '%s is not found',
    async (path) => {
      expect((await api.fetch(path)).status).toBe(404)
    },
  )
})
