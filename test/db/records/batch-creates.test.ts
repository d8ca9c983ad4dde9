import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Context, Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { problemOf } from '../../support/problems.js'

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

/** Called when a task after a commit has created its records, or has failed to. */
let ended: (outcome: unknown) => void

const plugin: Plugin = (app) => {
  const books = app.resource('book')
  const createMany = (context: Context, form: string | undefined, { first = 'title-0', last = 'last' }) => {
    const titles = Array.from({ length: MANY }, (_, at) => `title-${at}`)
      .with(0, first)
      .with(-1, last)
    const store = form === 'documents' ? context.documents(books) : context.store(books)
    const others = Object.fromEntries(Array.from({ length: FIELDS }, (_, at) => [`f${at}`, 'x']))
    return store.createMany(titles.map((title) => ({ ...others, f0: title })))
  }
  app.route('POST', '/several/{form}/{last}/', 'several', async (context) => {
    const made = await createMany(context, context.params['form'], { last: context.params['last'] ?? '' })
    const ids = made.map(({ id }) => String(id))
    return { status: 200, body: { ids: ids.length, first: ids[0], last: ids.at(-1) } }
  })
  app.route('POST', '/slow/{form}/', 'slow', async (context) => {
    await createMany(context, context.params['form'], { first: 'slow' })
    return { status: 204 }
  })
  app.route('POST', '/later/{form}/', 'later', async (context) => {
    await context.transaction(async (inside) =>
      inside.afterCommit((after) =>
        createMany(after, context.params['form'], { first: 'slow' }).then(
          () => ended('created'),
          (error: unknown) => ended(error),
        ),
      ),
    )
    return { status: 204 }
  })
}

let api: Api
/** The same with less time for each request than a slow record takes. */
let hasty: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, checkResponses: false })
  const text = `
    create function reject() returns trigger language plpgsql as $$
      begin
        if new.f0 = 'full' then raise 'no room' using errcode = '53100'; end if;
        if new.f0 = 'slow' then perform pg_sleep(0.4); end if;
        return new;
      end $$;
    create trigger reject before insert on book for each row execute function reject()`
  await api.database.query({ text, values: [] })
  hasty = await startApi(YAML, {
    plugin,
    checkResponses: false,
    database: api.database,
    limits: { handlerTimeout: 200 },
  })
})
afterAll(async () => {
  await hasty.close()
  await api.close()
})
beforeEach(() => api.database.query({ text: 'truncate book restart identity', values: [] }))

const count = async () =>
  Number((await api.database.query({ text: 'select count(*) from book', values: [] })).rows[0]?.[0])
const create = (form: string, last: string) => api.fetch(`/several/${form}/${last}/`, { method: 'POST' })

describe.each(['rows', 'documents'])('creating several records as %s outside of a transaction', (form) => {
  test('creates all, in order, with as many statements as needed', async () => {
    const response = await create(form, 'last')
    expect(await response.json()).toEqual({ ids: MANY, first: '1', last: String(MANY) })
    expect(await count()).toBe(MANY)
  })

  test.each([
    ['full', 409, 'conflict'],
    ['title-0', 409, 'conflict'],
  ])('creates none if a later statement fails: %s', async (last, status, type) => {
    const response = await create(form, last)
    expect([response.status, await response.json()]).toMatchObject([status, { type: `/problems/${type}` }])
    expect(await count()).toBe(0)
  })

  test('creates none if the request times out', async () => {
    const response = await hasty.fetch(`/slow/${form}/`, { method: 'POST' })
    expect((await problemOf(response)).slice(0, 2)).toEqual([504, 'timeout'])
    expect(await count()).toBe(0)
  })

  test('creates none if an after-commit task times out', async () => {
    const outcome = new Promise((resolve) => (ended = resolve))
    expect((await hasty.fetch(`/later/${form}/`, { method: 'POST' })).status).toBe(204)
    expect(await outcome).toMatchObject({ type: 'timeout' })
    expect(await count()).toBe(0)
  })
})

test('records of a model with many fields refer to later ones of the request', async () => {
  const chain = await startApi(`version: 1
api: { prefix: "" }
models:
  link:
    fields:
      id: { type: bigint, primary_key: true, key: client }
      next: { type: belongs_to, model: link, nullable: true }
${Array.from({ length: 48 }, (_, at) => `      n${at}: { type: integer, default: 0 }`).join('\n')}
resources:
  link: { model: link, path: /links/, bulk: [create], bulk_max: 1000 }
`)
  const links = Array.from({ length: 1_000 }, (_, id) => ({ id, next: id === 0 ? 999 : null }))
  const { status } = await chain.send('POST', '/links/bulk/', links)
  await chain.close()
  expect(status).toBe(201)
})

test('a bulk request may create the most records with the most fields, of which grants set more than half', async () => {
  const names = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `f${from + at}`)
  const [sent, set] = [names(0, 31), names(31, 80)]
  const wide = await startApi(
    `version: 1
api: { prefix: "" }
auth: { keys: true }
models:
  wide:
    fields:
      id: { type: bigint, primary_key: true }
${[...sent, ...set].map((name) => `      ${name}: { type: integer }`).join('\n')}
resources:
  wide:
    model: wide
    path: /wide/
    bulk: [create]
    bulk_max: 1000
    access:
      - { to: anyone, may: create, fields: [${sent.join()}], set: { ${set.map((name) => `${name}: 2`).join(', ')} } }
      - { to: anyone, may: [list, retrieve] }
`,
    { checkResponses: false },
  )
  try {
    const record = Object.fromEntries(sent.map((name) => [name, 1]))
    const response = await wide.send(
      'POST',
      '/wide/bulk/',
      Array.from({ length: 1000 }, () => record),
    )
    const made = (await response.json()) as unknown[]
    expect([response.status, made.length, made.at(-1)]).toEqual([201, 1000, expect.objectContaining({ f0: 1, f79: 2 })])
  } finally {
    await wide.close()
  }
})
