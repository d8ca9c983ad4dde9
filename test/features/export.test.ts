import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { checkText } from '../support/config.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
auth:
  roles: { names: [reader, clerk, writer, finder] }
  development:
    ann: { roles: [reader] }
    bob: { roles: [clerk] }
    wil: { roles: [writer] }
    fay: { roles: [finder] }
mounts:
  - { path: /v2 }
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
      title: { type: text, min: 0 }
      author: { type: belongs_to, model: author, nullable: true }
      price: { type: decimal, precision: 30, scale: 2, nullable: true }
      big: { type: bigint, nullable: true }
      extra: { type: json, nullable: true }
      secret: { type: string, max: 20, nullable: true }
      tenant: { type: integer, default: 1 }
  tag:
    table: tags
    fields:
      name: { type: string, max: 40, primary_key: true, key: client }
  part:
    table: parts
    primary_key: [shelf, place]
    fields:
      shelf: { type: string, max: 10 }
      place: { type: integer }
resources:
  author: { model: author, path: /authors/, access: [{ may: [list, retrieve], to: anyone }] }
  book:
    model: book
    path: /books/
    export: true
    filterable: { title: [exact, contains], id: [gte, lte], price: [isnull] }
    search: [title]
    orderable: [title, price]
    distinct: [tenant]
    sparse_fields: true
    expand: { author: { resource: author } }
    pagination: { page_size: 2 }
    operations: [list, retrieve, create]
    computed: { shout: { type: text, from: [title] } }
    access:
      - { to: reader, may: [list, retrieve], fields: { except: [secret] } }
      - { to: clerk, may: [list, retrieve], rows: { id__lte: 2 } }
      - { to: writer, may: [create] }
      - { to: finder, may: [list], fields: [id, title] }
      - { to: finder, may: [retrieve] }
  tag:
    model: tag
    path: /tags/
    export: true
    access: [{ may: all, to: anyone }]
  part:
    model: part
    path: /parts/
    export: true
    operations: [list, retrieve]
    access: [{ may: all, to: anyone }]
`
const plugin: Plugin = (app) => {
  app.compute('book', 'shout', ({ title }) => String(title).toUpperCase())
  app.use({ resource: 'book' }, (context, next) => {
    const tenant = context.headers['x-tenant']
    if (tenant !== undefined) context.scope('book', [{ field: 'tenant', lookup: 'exact', value: Number(tenant) }])
    return next()
  })
}

const ANN = { authorization: 'Dev ann' }
const ROWS = `
  (1, 'plain', null, 12.50, 9007199254740993, null, 'a', 1),
  (2, '', 1, -3.10, -5, '{"b": [1.10, "x,y"], "a\\"": null}', 'b', 1),
  (3, '=1+1', 1, null, null, '"=x"', null, 2),
  (4, '+49 "say"' || E'\\r\\n', null, 99999999999999999999999999.99, null, 'null', null, 2),
  (5, '-5', null, 0, 0, '[]', null, 2),
  (6, '@SUM(A1)', null, null, null, null, null, 2),
  (7, E'\\tcmd', null, null, null, null, null, 2),
  (8, E'\\rcmd', null, null, null, null, null, 2),
  (9, 'Ünï, 東京', null, null, null, null, null, 2)`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, env: { NODE_ENV: 'development' } })
  const run = (text: string) => api.database.query({ text, values: [] })
  await run(`insert into authors (name) values ('Ann, "A"')`)
  await run(
    `insert into books (id, title, author_id, price, big, extra, secret, tenant) overriding system value values ${ROWS}`,
  )
  await run(`insert into tags values ('export.csv'), ('export.json'), ('plain')`)
  await run(`insert into parts values ('b', 1), ('a', 10), ('a', 9)`)
})
afterAll(() => api.close())

async function get(path: string, headers: Readonly<Record<string, string>> = ANN) {
  const response = await api.fetch(path, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const lines = (text: string) => text.trimEnd().split('\r\n')

describe('export.csv', () => {
  test('has every record of the list, whatever its pages, with exact values', async () => {
    const { status, headers, text } = await get('/books/export.csv?id__lte=2')
    expect([status, headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
      'attachment; filename="books.csv"',
    ])
    expect(text).toBe(
      'id,title,author,price,big,extra,tenant,shout\r\n' +
        '1,plain,,12.50,9007199254740993,,1,PLAIN\r\n' +
        '2,"",1,-3.10,-5,"{""b"": [1.10, ""x,y""], ""a\\"""": null}",1,""\r\n',
    )
    expect(lines((await get('/books/export.csv')).text).length).toBe(1 + 9 + 2)
  })

  test('defuses texts that spreadsheets would evaluate, and leaves numbers alone', async () => {
    const { text } = await get('/books/export.csv?fields=id,title,price,extra&id__gte=3')
    expect(text).toBe(
      'id,title,price,extra\r\n' +
        "3,'=1+1,,'=x\r\n" +
        '4,"\'+49 ""say""\r\n",99999999999999999999999999.99,\r\n' +
        "5,'-5,0.00,[]\r\n" +
        "6,'@SUM(A1),,\r\n" +
        "7,'\tcmd,,\r\n" +
        '8,"\'\rcmd",,\r\n' +
        '9,"Ünï, 東京",,\r\n',
    )
  })

  test.each([
    ['search=plain', ['1']],
    ['title__contains=cmd', ['7', '8']],
    ['title=nothing', []],
    ['id__gte=3&id__lte=5', ['3', '4', '5']],
  ])('has the records that a list finds by %s', async (query, ids) => {
    expect(lines((await get(`/books/export.csv?fields=id&${query}`)).text)).toEqual(['id', ...ids])
  })

  test('has the order of the list', async () => {
    const query = 'fields=id&ordering=-price'
    const list = JSON.parse((await get(`/books/?${query}&page_size=100`)).text) as readonly { readonly id: number }[]
    expect(lines((await get(`/books/export.csv?${query}`)).text)).toEqual(['id', ...list.map(({ id }) => String(id))])
  })

  test('has distinct values, and related records as JSON', async () => {
    expect(lines((await get('/books/export.csv?distinct=tenant')).text)).toEqual(['tenant', '1', '2'])
    expect(lines((await get('/books/export.csv?fields=id&expand=author&id__lte=2')).text)).toEqual([
      'id,expanded',
      '1,"{""author"":null}"',
      '2,"{""author"":{""id"":1,""name"":""Ann, \\""A\\""""}}"',
    ])
  })

  test.each([
    ['page=2', 'an export has no parameter `page`; allowed are ordering,'],
    ['page_size=10', 'an export has no parameter `page_size`; allowed are'],
    ['colour=red', 'an export has no parameter `colour`; allowed are'],
    ['id__gte=x', '`id__gte`'],
  ])('rejects %s', async (query, detail) => {
    const { status, text } = await get(`/books/export.csv?${query}`)
    expect([status, text]).toEqual([400, expect.stringContaining(detail)])
  })

  test('negotiates its media type', async () => {
    expect((await get('/books/export.csv', { ...ANN, accept: 'text/*' })).status).toBe(200)
    expect((await get('/books/export.csv', { ...ANN, accept: 'application/json' })).status).toBe(406)
    expect((await get('/books/export.json', { ...ANN, accept: 'text/csv' })).status).toBe(406)
  })
})

describe('export.json', () => {
  test('is an array of the documents of the list', async () => {
    const { headers, text } = await get('/books/export.json')
    const pages = await Promise.all([1, 2, 3, 4, 5].map((page) => get(`/books/?page=${page}`)))
    expect(text).toBe(`[${pages.map((page) => page.text.slice(1, -1)).join(',')}]`)
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'application/json',
      'attachment; filename="books.json"',
    ])
  })

  test('is an empty array if nothing matches', async () => {
    expect((await get('/books/export.json?title=nothing')).text).toBe('[]')
  })
})

test.each(['csv', 'json'])('HEAD of export.%s has the headers of GET', async (format) => {
  const head = await api.fetch(`/books/export.${format}`, { method: 'HEAD', headers: ANN })
  const { headers } = await get(`/books/export.${format}`)
  expect([head.status, await head.text()]).toEqual([200, ''])
  for (const name of ['content-type', 'content-disposition', 'transfer-encoding'])
    expect(head.headers.get(name)).toBe(headers.get(name))
  expect((await api.fetch(`/books/export.${format}?page=1`, { method: 'HEAD', headers: ANN })).status).toBe(400)
})

describe('rules', () => {
  test('decide which records and fields an export has', async () => {
    const ann = await get('/books/export.csv?id__lte=1')
    expect(lines(ann.text)[0]).not.toContain('secret')
    expect(JSON.parse((await get('/books/export.json?id__lte=1')).text)[0]).not.toHaveProperty('secret')
    const bob = lines((await get('/books/export.csv', { authorization: 'Dev bob' })).text)
    expect(bob.map((line) => line.split(',')[0])).toEqual(['id', '1', '2'])
    expect(bob[0]).toContain('secret')
  })

  test('a field that only single records show has no column', async () => {
    const { text } = await get('/books/export.csv?id__lte=1', { authorization: 'Dev fay' })
    expect(lines(text)[0]?.split(',').slice(0, 2)).toEqual(['id', 'title'])
    for (const absent of ['price', 'secret', 'tenant']) expect(lines(text)[0]).not.toContain(absent)
  })

  test('need the grant of list', async () => {
    expect((await get('/books/export.csv', { authorization: 'Dev wil' })).status).toBe(403)
    expect((await get('/books/export.csv', {})).status).toBe(401)
  })

  test('a scope that middleware sets applies', async () => {
    const { text } = await get('/books/export.csv?fields=id', { ...ANN, 'x-tenant': '1' })
    expect(lines(text)).toEqual(['id', '1', '2'])
  })
})

describe('paths', () => {
  test('a text key that is spelled like an export keeps its record', async () => {
    const { text } = await get('/tags/export.csv')
    expect(lines(text)).toEqual(['name', 'export.csv', 'export.json', 'plain'])
    expect(JSON.parse((await get('/tags/%65xport.csv/')).text)).toEqual({ name: 'export.csv' })
  })

  test('records with a key of several fields come in its order', async () => {
    expect(lines((await get('/parts/export.csv')).text)).toEqual(['shelf,place', 'a,9', 'a,10', 'b,1'])
  })

  test('mounts have exports of their own', async () => {
    expect(lines((await get('/v2/books/export.csv?fields=id&id__lte=1')).text)).toEqual(['id', '1'])
  })

  test.each([{ path: '/books/' }, { path: '/books/export.csv' }])(
    'OPTIONS of $path names the formats',
    async ({ path }) => {
      const description = await (await api.fetch(path, { method: 'OPTIONS', headers: ANN })).json()
      expect(description).toMatchObject({ export: ['csv', 'json'] })
    },
  )
})

describe('check rejects', () => {
  const MODEL = `version: 1
models: { book: { fields: { id: { type: bigint, primary_key: true }, title: { type: text } } } }
`
  test('an export in a dialect', () => {
    const diagnostics = checkText(
      `${MODEL}resources: { book: { model: book, path: /books/, dialect: json-server, export: true } }\n`,
    )
    expect(diagnostics).toMatchObject([
      { code: 'SC319', message: '`export` has no effect: the dialect is `json-server`' },
    ])
  })

  test('an export without lists', () => {
    const diagnostics = checkText(
      `${MODEL}resources: { book: { model: book, path: /books/, operations: [retrieve], export: true } }\n`,
    )
    expect(diagnostics).toMatchObject([{ code: 'SC320', message: '`export` needs the operation `list`' }])
  })

  test('a plugin that replaces a list that is exported', async () => {
    const replacing: Plugin = (app) => app.replace('book', 'list', async ({ generated }) => generated())
    const yaml = `${MODEL}plugins: [./plugin.mjs]\nresources: { book: { model: book, path: /books/, export: true } }\n`
    await expect(startApi(yaml, { plugin: replacing })).rejects.toThrow('would bypass the replacement')
  })
})
