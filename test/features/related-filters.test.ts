import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { checkText, mistakesOf, specOf } from '../support/config.js'
import { startTasks, type Tasks } from '../support/tasks.js'
import { checkCoverage } from '../../src/config/indexes/check-coverage.js'
import { readConfig } from '../../src/config/yaml/document.js'

const MODELS = `
models:
  country:
    table: countries
    fields:
      id: { type: bigint, primary_key: true }
      code: { type: string, max: 2, unique: true }
      secret: { type: string, max: 5, nullable: true, private: true }
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 20 }
      born: { type: integer, nullable: true }
      country: { type: belongs_to, model: country, nullable: true }
      teacher: { type: belongs_to, model: author, nullable: true }
  shelf:
    table: shelves
    primary_key: [room, place]
    fields: { room: { type: integer }, place: { type: integer }, label: { type: string, max: 9 } }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 20 }
      author: { type: belongs_to, model: author, nullable: true }
      room: { type: integer, nullable: true }
      place: { type: integer, nullable: true }
    relations: { shelf: { model: shelf, fields: [room, place] } }
`
const FILTERS = `{ title: [exact], author.name: [exact, in, icontains, ne], author.born: [gte, isnull], author.country.code: [exact], author.teacher.id: [exact],
      author.teacher.teacher.name: [exact], shelf.label: [exact] }`
const YAML = `version: 1
${MODELS}
resources:
  author: { model: author, path: /authors/ }
  book: { model: book, path: /books/, orderable: [title], expand: [author], filterable: ${FILTERS} }
mounts:
  - { path: /json-server, dialect: json-server }
  - { path: /simple-rest, dialect: simple-rest }
  - { path: /crud, dialect: crud }
  - { path: /page, dialect: page }
`

const SQL = [
  `insert into countries (id, code) overriding system value values (1, 'de'), (2, 'fr')`,
  `insert into authors (id, name, born, country_id, teacher_id) overriding system value values
    (1, 'Ada', 1900, 1, null), (2, 'Bo', null, 2, 1), (3, 'Cy', 1950, null, 2)`,
  `insert into shelves (room, place, label) values (1, 1, 'top'), (1, 2, 'low')`,
  `insert into books (id, title, author_id, room, place) overriding system value values
    (1, 'a', 1, 1, 1), (2, 'b', 2, 1, 2), (3, 'c', 3, null, 2), (4, 'd', null, null, null), (5, 'e', 1, 1, 2)`,
]

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const text of SQL) await api.database.query({ text, values: [] })
})
afterAll(async () => api.close())

async function idsOf(path: string): Promise<unknown> {
  const response = await api.fetch(path)
  const body = (await response.json()) as { results?: unknown; data?: unknown }
  if (response.status !== 200) return response.status
  const records = (body.results ?? body.data ?? body) as readonly { readonly id: number }[]
  return records.map(({ id }) => id)
}

test.each([
  ['author.name=Ada', [1, 5]],
  ['author.name__in=Ada,Cy', [1, 3, 5]],
  ['author.name__ne=Ada', [2, 3]],
  ['author.name__icontains=A', [1, 5]],
  ['author.born__gte=1920', [3]],
  // A book without an author has no author whose year is unknown.
  ['author.born__isnull=true', [2]],
  ['author.country.code=fr', [2]],
  ['author.teacher.id=1', [2]],
  ['author.teacher.teacher.name=Ada', [3]],
  ['shelf.label=low', [2, 5]],
  ['author.name=Ada&shelf.label=low&title=e', [5]],
  ['author.name=Ada&page_size=1&page=2', [5]],
  ['author.name=Ada&ordering=-title', [5, 1]],
  ['author.name=nobody', []],
  ['author.born=1900', 400],
  ['author.teacher.id=x', 400],
  ['author=1', 400],
])('?%s finds %j', async (query, ids) => {
  expect(await idsOf(`/api/books/?${query}`)).toEqual(ids)
})

test('counts have the same condition, and links to other pages keep it', async () => {
  const response = await api.fetch('/api/books/?author.name=Ada&page_size=1')
  expect(response.headers.get('x-total-count')).toBe('2')
  expect(response.headers.get('link')).toContain('author.name=Ada')
  await response.text()
})

test.each([
  ['/json-server/books?author.name=Ada&author.name=Cy', [1, 3, 5]],
  ['/json-server/books?author.name_like=A', [1, 5]],
  ['/json-server/books?author.teacher.id=1', [2]],
  [`/simple-rest/books?filter=${encodeURIComponent('{"author.name":["Ada","Cy"],"author.born__gte":1920}')}`, [3]],
  [`/crud/books?s=${encodeURIComponent('{"author.country.code":"fr"}')}`, [2]],
  ['/page/books/?author.name__in=Ada&author.name__in=Cy&page_size=10', [1, 3, 5]],
])('%s finds %j', async (path, ids) => {
  expect(await idsOf(path)).toEqual(ids)
})

test('documents, OPTIONS and pages have the filters', async () => {
  const document = (await (await api.fetch('/openapi.json')).json()) as {
    paths: Record<string, { get: { parameters: readonly { name: string }[] } }>
  }
  const names = (path: string) => document.paths[path]?.get.parameters
  expect(names('/api/books/')).toContainEqual(
    expect.objectContaining({
      name: 'author.name',
      description: 'Only records whose `author.name` is this.',
    }),
  )
  expect(names('/json-server/books')).toContainEqual(expect.objectContaining({ name: 'author.country.code' }))
  const options = (await (await api.fetch('/api/books/', { method: 'OPTIONS' })).json()) as {
    filters: readonly string[]
  }
  expect(options.filters).toContain('author.teacher.teacher.name')
  const page = await api.fetch('/explore/api/books/?author.name=Ada')
  const text = await page.text()
  expect(page.status).toBe(200)
  expect(text).toContain('name="author.born__gte"')
})

describe('check', () => {
  const resource = (filterable: string) =>
    `version: 1\n${MODELS}\nresources:\n  author: { model: author, path: /authors/ }\n  book: { model: book, path: /books/, filterable: ${filterable} }\n`

  test.each([
    ['[author.nme]', 'SC305'],
    ['[autor.name]', 'SC305'],
    ['[title.name]', 'SC311'],
    ['[author.country.secret]', 'SC311'],
    ['[author.teacher.teacher.teacher.name]', 'SC311'],
    ['{ author.name: [exact, has] }', 'SC312'],
  ])('reports filterable: %s as %s', (filterable, code) => {
    expect(mistakesOf(resource(filterable)).map((each) => each.split(' ')[1])).toEqual([code])
  })

  test('advises an index of the other table', () => {
    const text = resource('[author.name, author.country.code, author.teacher.id, shelf.label]')
    const document = readConfig(new TextEncoder().encode(text), 'resources.yaml')
    if (Array.isArray(document) || Array.isArray(checkText(text))) throw new Error('the text has mistakes')
    expect(checkCoverage(document, specOf(text))).toMatchObject([
      {
        code: 'SC401',
        path: ['resources', 'book', 'filterable', 0],
        message: 'no index serves the filter `author.name`: it reads the whole table of `author`',
        help: ['add under `models.author`: `indexes: [[name]]`'],
      },
      {
        path: ['resources', 'book', 'filterable', 3],
        help: ['add under `models.shelf`: `indexes: [[label]]`'],
      },
    ])
  })
})

describe('with grants', () => {
  let tasks: Tasks
  beforeAll(async () => {
    tasks = await startTasks({
      checkResponses: false,
      yaml: `version: 1
auth:
  roles: { names: [staff, reader, half] }
  development: { ann: { roles: [staff] }, bob: { roles: [reader] }, cy: { roles: [half] } }
${MODELS}
resources:
  author:
    model: author
    path: /authors/
    access:
      - { to: staff, may: [list, retrieve] }
      - { to: reader, may: [list, retrieve], rows: { born__gte: 1920 }, fields: [id, name] }
  book:
    model: book
    path: /books/
    filterable: { author.name: [exact, in], author.born: [gte] }
    access:
      - { to: signed_in, may: [list, retrieve] }
mounts:
  - { path: /admin, dialect: json-server }
`,
    })
    for (const text of SQL) await tasks.database.query({ text, values: [] })
  })
  afterAll(async () => {
    await tasks?.close()
  })

  test.each([
    ['ann', 'author.name=Ada', [1, 5]],
    ['ann', 'author.born__gte=1900', [1, 3, 5]],
    // Authors that the caller may not see are not to be found by their names.
    ['bob', 'author.name=Ada', []],
    ['bob', 'author.name=Cy', [3]],
    // The caller does not see the field.
    ['bob', 'author.born__gte=1900', undefined],
    // The caller sees no authors.
    ['cy', 'author.name=Ada', undefined],
  ])('%s: ?%s finds %j', async (name, query, ids) => {
    for (const path of ['/api/books/', '/admin/books']) {
      const asked = path === '/admin/books' ? query.replace('__', '_') : query
      const { status, json } = await tasks.as(name, 'GET', `${path}?${asked}`)
      const found = status === 200 ? (json as readonly { id: number }[]).map(({ id }) => id) : undefined
      expect([path, status, found]).toEqual([path, ids ? 200 : 400, ids])
    }
  })
})

test('a scope of a plugin limits the related records', async () => {
  const scoped = await startApi(YAML.replace('\nmodels:', '\nplugins: [./plugin.mjs]\nmodels:'), {
    plugin: (app) => {
      app.use((context, next) => {
        context.scope('author', [{ field: 'name', lookup: 'ne', value: 'Ada' }])
        return next()
      })
    },
  })
  try {
    for (const text of SQL) await scoped.database.query({ text, values: [] })
    const found = async (query: string) =>
      ((await (await scoped.fetch(`/api/books/?${query}`)).json()) as readonly { id: number }[]).map(({ id }) => id)
    expect(await found('author.name=Ada')).toEqual([])
    expect(await found('author.name=Bo')).toEqual([2])
    expect(await found('author.teacher.id=1')).toEqual([])
  } finally {
    await scoped.close()
  }
})
