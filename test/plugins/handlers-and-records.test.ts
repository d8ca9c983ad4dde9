import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { makeProject, type Project } from '../support/cli.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./shelf.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 10, unique: true }
      pages: { type: integer, default: 1 }
      notes: { type: json, nullable: true }
resources:
  book: { model: book, path: /books/, filterable: [pages] }
`

const PLUGIN = `
import { JsonText, Problem } from 'snippetctl'

export default (app) => {
  const books = app.resource('book')
  const listed = (context, value) => {
    const { plan } = books.parseList('pages=1')
    return context.store(books).list({ ...plan, where: [{ ...plan.where[0], value }] })
  }
  const done = async (made) => ({ status: 200, body: await made })
  const route = (name, handle) => app.route('GET', \`/\${name}/\`, name, handle)

  route('read-text', (context) => done(context.store(books).retrieve('abc')))
  route('read-beyond', (context) => done(context.documents(books).retrieve(2n ** 63n)))
  route('list-text', (context) => done(listed(context, 'abc')))
  route('list-beyond', (context) => done(listed(context, 2 ** 31)))
  route('write-long', (context) => done(context.store(books).create({ title: 'longer than ten' })))
  route('write-beyond', (context) => done(context.store(books).update(1n, { pages: 2 ** 31 })))
  const twice = (context, then) =>
    context.transaction(async ({ store }) => {
      const swallowed = await store(books).create({ title: 'first' }).catch(then)
      return { status: 200, body: { swallowed: swallowed !== undefined } }
    })
  route('swallow', (context) => twice(context, () => undefined))
  route('replace', (context) => twice(context, (cause) => { throw new Problem('not_found', 'no shelf', { cause }) }))
  route('retell', (context) => twice(context, (error) => { throw error }))
  const kept = async (context, notes) => {
    const { item } = await context.store(books).create({ title: 'kept', notes })
    await context.store(books).destroy(item.id)
    const read = item.notes
    return { status: 200, body: { notes: [read], text: read?.text, value: read?.value, exact: read instanceof JsonText, plain: tell(read) } }
  }
  const tell = (value) => {
    try { return JSON.stringify({ value }) } catch (error) { return error.message }
  }
  const VALUES = { object: { a: [1, null] }, text: 'text', number: 1.5, list: [], no: false, nothing: null,
    exact: new JsonText('9007199254740993'), record: { text: '1' }, big: 1n, function: () => 1 }
  for (const [name, value] of Object.entries(VALUES)) route('json-' + name, (context) => kept(context, value))
  route('write-nothing', (context) => done(context.store(books).create({})))
}
`

let project: Project
let api: Api
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': YAML, 'shelf.mjs': PLUGIN })
  api = await startApi(join(project.folder, 'resources.yaml'))
  await api.send('POST', '/books/', { title: 'first' })
})
afterAll(async () => {
  await api.close()
  await project.remove()
})

describe('a value that is invalid for its column', () => {
  test.each(['read-text', 'read-beyond', 'list-text', 'list-beyond'])(
    'is a bug of the handler that reads with it: %s',
    async (path) => {
      const response = await api.fetch(`/${path}/`)
      expect(await response.json()).toMatchObject({ type: '/problems/internal', status: 500 })
      expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({
        event: 'failure',
        type: 'internal',
        cause: { code: expect.stringMatching(/^22/) },
      })
    },
  )

  test.each([
    ['write-long', undefined],
    ['write-beyond', undefined],
    ['write-nothing', { title: 'Title is required' }],
  ])('is rejected by a write: %s', async (path, errors) => {
    const response = await api.fetch(`/${path}/`)
    expect(await response.json()).toMatchObject({
      type: '/problems/validation',
      status: 400,
      ...(errors && { errors }),
    })
  })
})

describe('a duplicate title in a transaction', () => {
  const TAKEN = { title: 'Title is taken by another record' }

  test.each([
    ['swallow', { status: 409, errors: TAKEN }],
    ['retell', { status: 409, errors: TAKEN }],
    ['replace', { status: 404, detail: 'no shelf' }],
  ])('is reported to a handler: %s', async (path, problem) => {
    const response = await api.fetch(`/${path}/`)
    const answer = await response.json()
    expect([response.status, answer]).toEqual([problem.status, expect.objectContaining(problem)])
    expect('errors' in answer).toBe('errors' in problem)
  })

  test('is reported when the transaction is committed', async () => {
    await api.database.query({
      text: 'alter table books drop constraint books_title_key; alter table books add constraint books_title_key unique (title) deferrable initially deferred',
      values: [],
    })
    const response = await api.fetch('/swallow/')
    expect([response.status, await response.json()]).toEqual([409, expect.objectContaining({ errors: TAKEN })])
  })
})

describe('a JSON value in a row', () => {
  test.each([
    ['object', '{"a":[1,null]}', { a: [1, null] }],
    ['text', '"text"', 'text'],
    ['number', '1.5', 1.5],
    ['list', '[]', []],
    ['no', 'false', false],
    ['record', '{"text":"1"}', { text: '1' }],
  ])('is written as a plain value, and read as text and value: %s', async (path, text, value) => {
    const answer = await (await api.fetch(`/json-${path}/`)).json()
    const spaced = (answer as { text: string }).text.replaceAll(/([:,]) /g, '$1')
    expect([spaced, answer]).toEqual([
      text,
      { notes: [value], text: expect.any(String), value, exact: true, plain: JSON.stringify({ value }) },
    ])
  })

  test('keeps every digit when written as text, and is never rounded silently', async () => {
    const answer = await (await api.fetch('/json-exact/')).text()
    expect(answer).toContain('"notes":[9007199254740993],"text":"9007199254740993"')
    expect(answer).toContain('has numbers that JSON.stringify rounds; use its text')
  })

  test('is null if null is written', async () => {
    expect(await (await api.fetch('/json-nothing/')).json()).toEqual({
      notes: [null],
      exact: false,
      plain: '{"value":null}',
    })
  })

  test.each(['big', 'function'])('is never stored if JSON cannot represent it: %s', async (path) => {
    expect((await api.fetch(`/json-${path}/`)).status).toBe(500)
  })
})
