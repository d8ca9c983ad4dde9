import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../../support/api.js'

const CONFIG = `
version: 1
models:
  author:
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 10 }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 100, label: Name, unique: true }
      status: { type: choice, choices: [draft, published], default: draft }
      author: { type: belongs_to, model: author, nullable: true }
      pin: { type: string, max: 4, write_only: true }
      supplier: { type: string, private: true, nullable: true }
      created_at: { type: timestamp, auto: on_create }
resources:
  author: { model: author, path: /authors/, read_only: true }
  book:
    model: book
    path: /books/
    filterable: { status: [exact, in] }
    orderable: [title]
    links: { author: author-detail }
`

let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG)
  await api.send('POST', '/api/books/', { title: 'One', pin: '1234' })
})
afterAll(() => api.close())

describe('Accept', () => {
  test.each([
    ['*/*', 200],
    ['application/json', 200],
    ['APPLICATION/JSON; charset=utf-8', 200],
    ['application/*;q=0.1', 200],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 200],
    ['application/json, text/plain, */*', 200],
    ['text/html;q=1, application/json;q=0.001', 200],
    ['nonsense', 200],
    ['a text/csv', 200],
    ['text/csv b', 200],
    ['', 200],
    ['text/csv', 406],
    ['text/html, application/xml', 406],
    ['application/problem+json', 406],
    ['application/json;q=0', 406],
    ['application/json;q=0.000, */*', 406],
    ['*/*;q=0', 406],
    ['application/*;q=0, */*', 406],
  ])('%s gets status %i', async (accept, status) => {
    for (const path of ['/api/books/', '/api/books/1/']) {
      const answer = await api.fetch(path, { headers: { accept } })
      expect(answer.status).toBe(status)
      expect(answer.headers.get('content-type')).toBe(status === 200 ? 'application/json' : 'application/problem+json')
    }
  })

  test('that excludes JSON prevents a write, unless its response is empty', async () => {
    const headers = { accept: 'text/csv' }
    expect((await api.send('POST', '/api/books/', { title: 'Two', pin: '1' }, headers)).status).toBe(406)
    expect((await api.send('PATCH', '/api/books/1/', { title: 'Two' }, headers)).status).toBe(406)
    expect(((await (await api.fetch('/api/books/')).json()) as { title: string }[]).map(({ title }) => title)).toEqual([
      'One',
    ])
    expect((await api.fetch('/api/books/99/', { method: 'DELETE', headers })).status).toBe(404)
  })

  test('is ignored by hand-written handlers', async () => {
    const snippets = await startApi(SNIPPETS_FILE)
    try {
      expect((await snippets.fetch('/api/snippets/', { headers: { accept: 'text/csv' } })).status).toBe(200)
      expect((await snippets.fetch('/api/snippets-viewset/', { headers: { accept: 'text/csv' } })).status).toBe(406)
    } finally {
      await snippets.close()
    }
  })
})

describe('OPTIONS', () => {
  test.each([
    ['/api/books/', 'GET, HEAD, POST, OPTIONS', 'application/json', null],
    ['/api/books/7/', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS', null, 'application/json, application/merge-patch+json'],
    ['/api/authors/', 'GET, HEAD, OPTIONS', null, null],
  ])('on %s lists the accepted media types', async (path, allow, post, patch) => {
    const answer = await api.fetch(path, { method: 'OPTIONS' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('allow')).toBe(allow)
    expect(answer.headers.get('accept-post')).toBe(post)
    expect(answer.headers.get('accept-patch')).toBe(patch)
  })

  test('describes the fields with their rules, except private ones', async () => {
    const answer = await api.fetch('/api/books/', { method: 'OPTIONS' })
    const described = (await answer.json()) as { fields: Record<string, object> }
    expect(described).toMatchObject({
      name: 'book',
      operations: ['list', 'create', 'retrieve', 'update', 'partial_update', 'destroy'],
      primary_key: 'id',
      filters: ['status', 'status__in'],
      ordering: ['title'],
      pagination: ['page', 'page_size', 'cursor'],
    })
    expect(Object.keys(described.fields)).toEqual(['id', 'title', 'status', 'author', 'pin', 'created_at'])
    expect(described.fields).toMatchObject({
      id: { type: 'bigint', read_only: true, required: false, unique: true },
      title: {
        label: 'Name',
        required: true,
        nullable: false,
        unique: true,
        schema: { type: 'string', minLength: 1, maxLength: 100 },
      },
      status: { required: false, default: 'draft', schema: { enum: ['draft', 'published'] } },
      author: { nullable: true, link: 'author-detail' },
      pin: { write_only: true, required: true },
      created_at: { read_only: true },
    })
  })
})

test.each([
  ['PATCH', '/api/books/1/', 'accept-patch', 'application/json, application/merge-patch+json'],
  ['POST', '/api/books/', 'accept-post', 'application/json'],
  ['PUT', '/api/books/1/', 'accept', 'application/json'],
])('a %s of another media type, or of none, gets the accepted ones', async (method, path, header, value) => {
  for (const body of ['title=Two', Buffer.from('{"title":"Two"}')]) {
    const answer = await api.fetch(path, { method, body })
    expect(answer.status).toBe(415)
    expect(answer.headers.get(header)).toBe(value)
  }
})
