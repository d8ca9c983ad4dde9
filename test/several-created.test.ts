import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../src/index.js'
import { type Api, startApi } from './support/api.js'

/** So many fields that a few hundred records take more than one statement. */
const FIELDS = 99
const MANY = 330

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
${Array.from({ length: FIELDS }, (_, at) => `      f${at}: { type: string, max: 20${at === 0 ? ', unique: true' : ', nullable: true'} }`).join('\n')}
resources:
  book: { model: book, path: /books/ }
`

const plugin: Plugin = (app) =>
  app.route('POST', '/several/{form}/{last}/', 'several', async (context) => {
    const { form, last } = context.params
    const books = app.resource('book')
    const rows = Array.from({ length: MANY }, (_, at) => ({ f0: at === MANY - 1 ? last : `title-${at}` }))
    const store = form === 'documents' ? context.documents(books) : context.store(books)
    const made = await store.createMany(rows)
    const ids = made.map(({ id }) => String(id))
    return { status: 200, body: { ids: ids.length, first: ids[0], last: ids.at(-1) } }
  })

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, judge: false })
  const text = `
    create function refuse() returns trigger language plpgsql as $$
      begin if new.f0 = 'full' then raise 'no room' using errcode = '53100'; end if; return new; end $$;
    create trigger refuse before insert on book for each row execute function refuse()`
  await api.database.query({ text, values: [] })
})
afterAll(() => api.close())
beforeEach(() => api.database.query({ text: 'truncate book restart identity', values: [] }))

const count = async () =>
  Number((await api.database.query({ text: 'select count(*) from book', values: [] })).rows[0]?.[0])
const create = (form: string, last: string) => api.fetch(`/several/${form}/${last}/`, { method: 'POST' })

describe.each(['rows', 'documents'])('of several records that are created as %s outside of a transaction', (form) => {
  test('all are made, in their order, however many statements it takes', async () => {
    const response = await create(form, 'last')
    expect(await response.json()).toEqual({ ids: MANY, first: '1', last: String(MANY) })
    expect(await count()).toBe(MANY)
  })

  test.each([
    ['full', 503, 'unavailable'],
    ['title-0', 409, 'conflict'],
  ])('none is made where a later statement fails: %s', async (last, status, type) => {
    const response = await create(form, last)
    expect([response.status, await response.json()]).toMatchObject([status, { type: `/problems/${type}` }])
    expect(await count()).toBe(0)
  })
})
