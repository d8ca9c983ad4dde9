import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Statement } from '../../src/db/database.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../support/database.js'
import { linksOf } from '../support/links.js'

const YAML = `version: 1
models:
  country:
    table: countries
    fields:
      id: { type: uuid, primary_key: true }
      name: { type: string, max: 50 }
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 50 }
      country: { type: belongs_to, model: country, nullable: true }
      fee: { type: decimal, precision: 8, scale: 2, default: "9.50" }
      secret: { type: string, default: hidden, private: true }
      pin: { type: string, default: hidden, write_only: true }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      author: { type: belongs_to, model: author }
      editor: { type: belongs_to, model: author, nullable: true }
      sequel: { type: belongs_to, model: book, nullable: true }
    indexes: [[title, id]]
resources:
  country: { model: country, path: /countries/ }
  author:
    model: author
    path: /authors/
    url: true
    links: { country: country-detail }
  writer: { model: author, path: /writers/, read_only: true }
  book:
    model: book
    path: /books/
    filterable: [title]
    orderable: [title]
    sparse_fields: true
    expand:
      author: { resource: author }
      author.country: {}
      editor: { resource: writer, fields: [name, id] }
      sequel: { resource: book }
      sequel.sequel: { resource: shelf }
    pagination: { style: cursor, page_size: 2 }
  shelf:
    model: book
    path: /shelf/
    expand: { author: { resource: writer, fields: [name] } }
  note: { model: country, path: /notes/, operations: [create] }
mounts:
  - { path: /other }
`

const BIG = '9007199254740993'
const AUTHOR = `"author":{"url":"/api/authors/${BIG}/","id":${BIG},"name":"Ada"`

let database: TestDatabase
let sent: readonly Statement[]
let api: Api
let country: string
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const watch = watchDatabase(database)
  sent = watch.sent
  api = await startApi(YAML, { database: watch.watched, checkResponses: true })
  const made = await api.send('POST', '/api/countries/', { name: 'Utopia' })
  country = ((await made.json()) as { id: string }).id
  await database.query({
    text: `insert into authors (id, name, country_id) overriding system value values (${BIG}, 'Ada', '${country}'), (2, 'Bob', null)`,
    values: [],
  })
  await database.query({
    text: `insert into books (title, author_id, editor_id, sequel_id) values
      ('One', ${BIG}, 2, null), ('Two', 2, null, 1), ('Three', ${BIG}, 2, 2), ('Four', ${BIG}, null, 3)`,
    values: [],
  })
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

describe('expand= returns related records', () => {
  test.each<[what: string, path: string, parts: readonly string[]]>([
    [
      'next to the key, as their resource shows them',
      '/api/books/1/?expand=author',
      [
        `{"id":1,"title":"One","author":${BIG},"editor":2,"sequel":null,"expanded":{${AUTHOR},"country":"/api/countries/`,
        '/","fee":"9.50"}}}',
      ],
    ],
    [
      'with the declared fields, in the order of the resource',
      '/api/books/1/?expand=editor',
      ['"expanded":{"editor":{"id":2,"name":"Bob"}}}'],
    ],
    [
      'with no fields if none are declared',
      '/api/books/2/?expand=editor,author',
      ['"expanded":{"author":{', '"Bob"', ',"editor":null}}'],
    ],
    [
      'of related records, too',
      '/api/books/1/?expand=author.country',
      [`{${AUTHOR}`, '"fee":"9.50","expanded":{"country":{"id":"', '"name":"Utopia"}}}}}'],
    ],
    [
      'as null for a record without one',
      '/api/books/2/?expand=author.country',
      ['"name":"Bob"', '"expanded":{"country":null}'],
    ],
    [
      'of the same model, at every declared depth',
      '/api/books/4/?expand=sequel.sequel',
      ['"expanded":{"sequel":{"id":3,"title":"Three"', '"expanded":{"sequel":{"id":2,"title":"Two"'],
    ],
    [
      'with a partial record',
      '/api/books/1/?fields=title&expand=editor',
      ['{"title":"One","expanded":{"editor":{"id":2,"name":"Bob"}}}'],
    ],
    ['of a filtered list', '/api/books/?title=Four&expand=author', [`[{"id":4,`, AUTHOR]],
    [
      'of resources at a mount, in the form of the mount',
      '/other/books/1/?expand=author',
      [`"url":"/other/authors/${BIG}/"`, '"country":"/other/countries/'],
    ],
    [
      'of each record of a list',
      '/api/shelf/?expand=author',
      [...['Ada', 'Bob', 'Ada', 'Ada'].map((name) => `"expanded":{"author":{"name":"${name}"}}`)],
    ],
  ])('%s', async (_what, path, parts) => {
    const { status, text } = await get(path)
    expect([status, text]).toEqual([200, expect.stringContaining(parts[0] ?? '')])
    let at = 0
    for (const part of parts) {
      expect(text.slice(at)).toContain(part)
      at = text.indexOf(part, at) + part.length
    }
    expect(text).not.toContain('hidden')
  })

  test('of every page that links lead to, in the requested order', async () => {
    const first = await get('/api/books/?fields=id&expand=editor&ordering=-title')
    expect(first.text).toBe(
      '[{"id":2,"expanded":{"editor":null}},{"id":3,"expanded":{"editor":{"id":2,"name":"Bob"}}}]',
    )
    const { next = '' } = linksOf(first)
    expect((await get(next)).text).toMatch(/^\[{"id":1,"expanded":{"editor":{"id":2/)
  })

  test('with one statement for any number of records and relations', async () => {
    for (const path of [
      '/api/books/?expand=author,author.country,editor,sequel.sequel',
      '/api/books/?page_size=100&expand=author,sequel',
      '/api/books/4/?expand=author.country,editor,sequel.sequel',
      '/api/shelf/?expand=author',
    ]) {
      const before = sent.length
      expect((await get(path)).status).toBe(200)
      expect(sent).toHaveLength(before + 1)
    }
  })
})

describe('expand= rejects', () => {
  const KNOWN = 'known are author, author.country, editor, sequel, sequel.sequel'
  test.each([
    ['an unknown relation', 'expand=autor', `\`autor\`; ${KNOWN}`],
    ['a field that is not a relation', 'expand=title', `\`title\`; ${KNOWN}`],
    ['an undeclared relation', 'expand=editor.country', `\`editor.country\`; ${KNOWN}`],
    ['an undeclared depth', 'expand=sequel.sequel.sequel', `\`sequel.sequel.sequel\`; ${KNOWN}`],
    ['an empty value', 'expand=', `\`\`; ${KNOWN}`],
    ['a duplicate relation', 'expand=author,author', '`expand` names a field twice'],
    ['a duplicate parameter', 'expand=author&expand=editor', 'is given twice'],
    ['a private relation of a related record', 'expand=author.secret', '`author.secret`'],
  ])('%s', async (_what, query, words) => {
    for (const path of ['/api/books/', '/api/books/1/']) {
      const { status, text } = await get(`${path}?${query}`)
      expect([status, (JSON.parse(text) as { detail: string }).detail]).toEqual([400, expect.stringContaining(words)])
    }
  })

  test('more than ten relations', async () => {
    const names = Array.from({ length: 11 }, (_, at) => `r${at}`)
    const relations = names.map((name) => `      ${name}: { type: belongs_to, model: author, nullable: true }\n`)
    const wide = `${YAML.slice(0, YAML.indexOf('resources:')).replace('    indexes:', `${relations.join('')}    indexes:`)}resources:
  author: { model: author, path: /authors/ }
  book: { model: book, path: /books/, expand: [${names.join(', ')}] }
`
    const other = await startApi(wide, { checkResponses: true })
    expect((await other.fetch(`/api/books/?expand=${names.slice(1).join()}`)).status).toBe(200)
    const rejected = await other.fetch(`/api/books/?expand=${names.join()}`)
    expect([rejected.status, await rejected.text()]).toEqual([
      400,
      expect.stringContaining('`expand` takes at most 10'),
    ])
    await other.close()
  })
})

test('a response with related records can be sent back as a body', async () => {
  const { text } = await get('/api/books/1/?expand=author,editor')
  const answer = await api.send('PUT', '/api/books/1/', JSON.parse(text.replaceAll(BIG, '2')))
  expect([answer.status, await answer.text()]).toEqual([200, expect.not.stringContaining('expanded')])
  expect((await api.send('PATCH', '/api/authors/2/', { expanded: {} })).status).toBe(400)
  await database.query({ text: `update books set author_id = ${BIG} where id = 1`, values: [] })
})

test('an expanded record has no version tag', async () => {
  const whole = (await get('/api/books/3/')).headers.get('etag') ?? ''
  const more = (await get('/api/books/3/?expand=author')).headers.get('etag') ?? ''
  expect(more).not.toBe(whole)
  expect((await get('/api/books/3/?expand=author', { 'if-none-match': more })).status).toBe(304)
  expect((await api.send('PATCH', '/api/books/3/', {}, { 'if-match': more })).status).toBe(412)
  expect((await api.send('PATCH', '/api/books/3/', {}, { 'if-match': whole })).status).toBe(200)
})

test('Explore shows related records', async () => {
  const page = await api.fetch('/explore/api/books/1/?expand=author')
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('expanded')])
})

test('OPTIONS lists the relations', async () => {
  const options = await api.fetch('/api/books/', { method: 'OPTIONS' })
  expect(await options.json()).toMatchObject({
    expand: ['author', 'author.country', 'editor', 'sequel', 'sequel.sequel'],
  })
})

describe('the configuration rejects an expansion', () => {
  const declared = (expand: string) => YAML.replace(/ {4}expand:\n(?: {6}.*\n)+/, `    expand: ${expand}\n`)

  test.each([
    ['an unknown field', '[autor]', '40:14 SC305'],
    ['a field that is not a relation', '[title]', '40:14 SC311'],
    ['a relation whose records several resources expose', '[author]', '40:14 SC321'],
    ['an unknown resource', '{ author: { resource: autor } }', '40:35 SC321'],
    ['a resource of another model', '{ author: { resource: country } }', '40:35 SC321'],
    ['a path whose first relation is not declared', '{ author.country: {} }', '40:15 SC321'],
    ['a path whose second field is not a relation', '{ editor: { resource: writer }, editor.name: {} }', '40:45 SC311'],
    ['an unknown field of the related record', '{ author: { resource: author, fields: [nam] } }', '40:52 SC305'],
    ['a private field of the related record', '{ author: { resource: author, fields: [secret] } }', '40:52 SC311'],
    ['a path of more than three relations', '[sequel.sequel.sequel.sequel]', '40:14 SC206'],
    ['nothing', '[]', '40:13 SC207'],
    ['an unknown key', '{ author: { resource: author, only: [id] } }', '40:43 SC201'],
  ])('%s', (_what, expand, mistake) => {
    expect(mistakesOf(declared(expand))).toEqual([mistake])
  })

  test.each([
    [
      'a private relation',
      'model: author }\n      editor',
      'model: author, private: true, nullable: true }\n      editor',
      ['41:7 SC311', '42:7 SC311', '50:15 SC311'],
    ],
    [
      'next to a field named `expanded`',
      'title: { type: string, max: 50 }',
      'title: { type: string, max: 50 }\n      expanded: { type: string, nullable: true }',
      ['42:7 SC304', '43:7 SC304', '44:7 SC304', '45:7 SC304', '46:7 SC304', '51:15 SC304'],
    ],
    [
      'a relation whose records no resource exposes',
      'country: { model: country, path: /countries/ }',
      'country: { model: country, path: /countries/, operations: [create] }',
      ['32:23 SC307', '42:7 SC321'],
    ],
  ])('%s', (_what, from, to, mistakes) => {
    expect(mistakesOf(YAML.replace(from, to))).toEqual(mistakes)
  })
})
