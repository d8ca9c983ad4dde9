import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'

const YAML = `version: 1
api: { prefix: '' }
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 20 }
      copies: { type: integer, default: 1 }
resources:
  book: { model: book, path: /books/, orderable: [title] }
`

/** Numbers of copies that the replacement of `create` gives to books whose title names them. */
const COPIES: Readonly<Record<string, unknown>> = { many: 100, wrong: 'many' }

const plugin: Plugin = (app) => {
  app.replace('book', 'list', ({ request, generated }) =>
    generated({ request: { ...request, plan: { ...request.plan, limit: 2 } } }),
  )
  // Without a compiler, a replacement may forget to return.
  app.replace('book', 'destroy', (() => undefined) as never)
  app.replace('book', 'create', ({ values, generated }) => {
    const copies = COPIES[String(values['title'])]
    return copies === undefined ? generated() : generated({ values: { copies } })
  })
  app.replace('book', 'partial_update', ({ values, generated }) =>
    generated({ values: { title: `${String(values['title'])}!` } }),
  )
  app.hooks('book', {
    beforeUpdate: ({ values }) => ({ copies: String(values['title']).length }),
  })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin, checkResponses: false })
})
afterAll(() => api.close())
beforeEach(() => api.database.query({ text: 'truncate books restart identity', values: [] }))

async function send(method: string, path: string, values?: object) {
  const response = await api.send(method, path, values)
  return { status: response.status, body: (await response.json()) as unknown }
}

test('a replacement that returns nothing is a 500, and the log names it', async () => {
  await api.send('POST', '/books/', { title: 'a' })
  expect((await api.fetch('/books/1/', { method: 'DELETE' })).status).toBe(500)
  const { cause } = api.logged.findLast(({ event }) => event === 'failure') as { cause?: Error }
  expect(cause?.message).toMatch(
    /^the replacement of `destroy` of `book` \(.*plugin.*\) returned undefined; it must return a reply, such as { status: 200, body: {} }$/,
  )
})

describe('a replacement changes what the generated operation receives', () => {
  test('the plan of a list', async () => {
    for (const title of ['a', 'b', 'c']) await api.send('POST', '/books/', { title })
    const { body } = await send('GET', '/books/?ordering=-title')
    expect(body).toMatchObject([{ title: 'c' }, { title: 'b' }])
  })

  test('values of a new record, merged with the others', async () => {
    const { status, body } = await send('POST', '/books/', { title: 'many' })
    expect({ status, body }).toEqual({ status: 201, body: { id: 1, title: 'many', copies: 100 } })
  })

  test('values of an update, before the hooks', async () => {
    await api.send('POST', '/books/', { title: 'a' })
    const { status, body } = await send('PATCH', '/books/1/', { title: 'Dune' })
    expect({ status, body }).toEqual({ status: 200, body: { id: 1, title: 'Dune!', copies: 5 } })
  })

  test('no values if it passes none', async () => {
    const { body } = await send('POST', '/books/', { title: 'plain' })
    expect(body).toEqual({ id: 1, title: 'plain', copies: 1 })
  })

  test('no invalid value, which is rejected', async () => {
    const { status, body } = await send('POST', '/books/', { title: 'wrong' })
    expect(status).toBe(400)
    expect(body).toMatchObject({ errors: { copies: expect.anything() } })
    expect(await send('GET', '/books/')).toMatchObject({ body: [] })
  })
})
