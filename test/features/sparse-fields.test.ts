import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import type { Statement } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../support/database.js'
import { linksOf } from '../support/links.js'

const YAML = `version: 1
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
      blurb: { type: text, nullable: true }
      author: { type: belongs_to, model: author }
      pages: { type: integer, nullable: true }
      secret: { type: string, default: hidden, private: true }
      pin: { type: string, default: hidden, write_only: true }
    indexes: [[title, id]]
resources:
  author: { model: author, path: /authors/ }
  book:
    model: book
    path: /books/
    filterable: [title]
    orderable: [title, pages]
    sparse_fields: true
    url: true
    links: { author: author-detail }
    pagination: { style: cursor, page_size: 2 }
  lax:
    model: book
    path: /lax/
    sparse_fields: true
    unknown_query: ignore
    pagination: { envelope: results }
  whole:
    model: book
    path: /whole/
    filterable: [title]
`

let database: TestDatabase
let sent: readonly Statement[]
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const watch = watchDatabase(database)
  sent = watch.sent
  api = await startApi(YAML, { database: watch.watched, checkResponses: true })
  await api.send('POST', '/api/authors/', { name: 'Ada' })
  for (const title of ['One', 'Two', 'Three'])
    expect((await api.send('POST', '/api/books/', { title, author: 1, blurb: `about ${title}` })).status).toBe(201)
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

describe('fields= returns', () => {
  test.each([
    ['of one record, in the order of the resource', '/books/1/?fields=title,id', '{"id":1,"title":"One"}'],
    ['of one record, with its URL', '/books/1/?fields=url', '{"url":"/api/books/1/"}'],
    ['of one record, with a link', '/books/1/?fields=author', '{"author":"/api/authors/1/"}'],
    ['of a list', '/books/?fields=id&title=Two', '[{"id":2}]'],
    ['of a list in an envelope', '/lax/?fields=pages&page_size=1', '"results":[{"pages":null}]'],
    ['of all members', '/lax/1/?fields=id,title,blurb,author,pages', '"author":1,"pages":null}'],
    ['for percent-encoded names', '/books/1/?fields=id%2Ctitle', '{"id":1,"title":"One"}'],
    ['next to ignored parameters', '/lax/1/?fields=id&x=1&x=2', '{"id":1}'],
  ])('exactly these members: %s', async (_what, path, text) => {
    const answer = await get(`/api${path}`)
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(text)])
  })

  test('of every page that links lead to, ordered by a field that is not selected', async () => {
    const first = await get('/api/books/?fields=pages&ordering=-title')
    expect(first.text).toBe('[{"pages":null},{"pages":null}]')
    const { next = '' } = linksOf(first)
    expect(next).toContain('fields=pages')
    const second = await get(next.replace('pages', 'title'))
    expect(second.text).toBe('[{"title":"One"}]')
    const { prev = '' } = linksOf(second)
    expect((await get(prev)).text).toBe('[{"title":"Two"},{"title":"Three"}]')
  })

  test('with a statement that selects no other columns', async () => {
    for (const path of ['/api/books/?fields=title', '/api/books/1/?fields=title', '/api/lax/?fields=title&page=2']) {
      const before = sent.length
      expect((await get(path)).status).toBe(200)
      expect(sent).toHaveLength(before + 1)
      expect(sent.at(-1)?.text).toContain('"title"')
      expect(sent.at(-1)?.text).not.toMatch(/blurb|pages|author_id|secret/)
    }
  })
})

describe('the path of partial records', () => {
  test.each([
    ['one record', '/books/1/partial/?fields=title,id', '{"id":1,"title":"One"}'],
    ['a list', '/books/partial/?fields=id&title=Two', '[{"id":2}]'],
    ['a whole record if no members are named', '/lax/1/partial/', '"author":1,"pages":null}'],
  ])('returns %s', async (_what, path, text) => {
    const answer = await get(`/api${path}`)
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(text)])
  })

  test('rejects the same requests, and exists only for partial records', async () => {
    expect((await get('/api/books/1/partial/?fields=pin')).status).toBe(400)
    expect((await get('/api/books/9/partial/')).status).toBe(404)
    expect((await get('/api/whole/partial/')).status).toBe(404)
    expect((await get('/api/whole/1/partial/')).status).toBe(404)
  })

  test('has a schema with optional members, so that others need none', async () => {
    const { paths, components } = JSON.parse((await get('/openapi.json')).text) as {
      readonly paths: Record<string, { get: { parameters: { name: string }[]; responses: object } }>
      readonly components: { readonly schemas: Record<string, { readonly required?: string[] }> }
    }
    const of = (path: string) => {
      const { parameters, responses } = paths[path]?.get ?? { parameters: [], responses: {} }
      const [, name = ''] = /schemas\/(\w+)/.exec(JSON.stringify(responses)) ?? []
      return [parameters.some((each) => each.name === 'fields'), name, components.schemas[name]?.required?.length]
    }
    for (const path of ['/api/books/', '/api/books/{id}/']) {
      expect(of(path)).toEqual([false, 'Book', 6])
      expect(of(`${path}partial/`)).toEqual([true, 'BookPartial', undefined])
    }
  })

  test('is answered by the replacement of the operation', async () => {
    const plugin: Plugin = (app) => app.replace('lax', 'retrieve', () => ({ status: 200, body: { mine: true } }))
    const replaced = await startApi(`${YAML}plugins: [./plugin.mjs]\n`, { database, plugin })
    try {
      expect(await (await replaced.fetch('/api/lax/1/partial/?fields=id')).json()).toEqual({ mine: true })
    } finally {
      await replaced.close()
    }
  })
})

describe('fields= rejects', () => {
  test.each([
    ['an unknown name', 'fields=titel', '`titel`; known are url, id, title, blurb, author, pages'],
    ['a private field', 'fields=id,secret', '`secret`; known are url, id, title, blurb, author, pages'],
    ['a write-only field', 'fields=pin', '`pin`; known are'],
    ['an empty name', 'fields=', '``; known are'],
    ['a name in another case', 'fields=Title', '`Title`'],
    ['a name with whitespace', 'fields=id,%20title', 'known are'],
    ['a name that every object has', 'fields=__proto__', '`__proto__`'],
    ['a duplicate name', 'fields=id,title,id', 'names a field twice'],
    ['more names than the resource has fields', `fields=${'id,'.repeat(5000)}`, 'the parameter `fields`'],
    ['a duplicate parameter', 'fields=id&fields=title', 'is given twice'],
  ])('%s', async (_what, query, words) => {
    for (const path of ['/api/books/', '/api/books/1/', '/api/books/none/']) {
      const { status, text } = await get(`${path}?${query}`)
      expect([status, (JSON.parse(text) as { detail: string }).detail]).toEqual([400, expect.stringContaining(words)])
    }
  })

  test('other parameters of a record, even if unknown ones are ignored', async () => {
    const { status, text } = await get('/api/books/1/?page=1')
    expect([status, text]).toEqual([
      400,
      expect.stringContaining('a single record has no parameter `page`; allowed are fields'),
    ])
  })

  test('everything for a resource that does not declare it', async () => {
    for (const path of ['/api/whole/?fields=id', '/api/whole/1/?fields=id']) expect((await get(path)).status).toBe(400)
  })
})

describe('the tag of a partial record', () => {
  test.each(['fields=id,title', 'fields=url,id,title,blurb,author,pages'])(
    'differs from the tag of the whole record: %s',
    async (query) => {
      const whole = (await get('/api/books/1/')).headers.get('etag') ?? ''
      const part = (await get(`/api/books/1/?${query}`)).headers.get('etag') ?? ''
      expect(part).toMatch(/^"[\w-]{43}"$/)
      expect(part).not.toBe(whole)
      expect((await get(`/api/books/1/?${query}`, { 'if-none-match': part })).status).toBe(304)
      expect((await get(`/api/books/1/?${query}`, { 'if-none-match': whole })).status).toBe(200)
      const change = (tag: string) => api.send('PATCH', '/api/books/1/', { title: 'One' }, { 'if-match': tag })
      const rejected = await change(part)
      expect([rejected.status, await rejected.text()]).toEqual([
        412,
        expect.stringContaining('or that ETag came with `fields` or `expand`'),
      ])
      expect((await change(whole)).status).toBe(200)
    },
  )
})

test('connections prepare statements for a bounded number of selections', async () => {
  const names = ['id', 'title', 'blurb', 'author', 'pages', 'url']
  const from = sent.length
  for (let bits = 1; bits < 2 ** names.length; bits++) {
    const fields = names.filter((_name, bit) => bits & (1 << bit)).join()
    expect((await get(`/api/books/1/?fields=${fields}`)).status).toBe(200)
  }
  const prepared = new Set(sent.slice(from).flatMap(({ name }) => name ?? []))
  expect(sent).toHaveLength(from + 63)
  expect(prepared.size).toBeLessThanOrEqual(50)
  await get('/api/books/1/')
  expect(sent.at(-1)?.name).toBeDefined()
})

test.each([{ path: '/api/books/' }, { path: '/api/books/partial/' }, { path: '/api/books/1/partial/' }])(
  'OPTIONS of $path describes selections',
  async ({ path }) => {
    const options = await api.fetch(path, { method: 'OPTIONS' })
    expect(await options.json()).toMatchObject({ sparse_fields: true })
  },
)

test('OPTIONS of partial records names no bodies, because they only have GET', async () => {
  const { headers } = await api.fetch('/api/books/partial/', { method: 'OPTIONS' })
  expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  expect(headers.get('accept-post')).toBeNull()
})

describe('the configuration', () => {
  test('rejects a filter named `fields`', () => {
    const text = YAML.replaceAll('title', 'fields')
    expect(mistakesOf(text)).toEqual(['24:18 SC313'])
  })

  test.each([
    ['api: { dialect: crud }', ['27:5 SC319', '30:19 SC319', '34:5 SC319', '36:19 SC319']],
    ['mounts: [{ path: /crud, dialect: crud }]', []],
  ])('rejects `sparse_fields` for a dialect: %s', (line, mistakes) => {
    expect(mistakesOf(YAML.replace('version: 1', `version: 1\n${line}`))).toEqual(mistakes)
  })
})
