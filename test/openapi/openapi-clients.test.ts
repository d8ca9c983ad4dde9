import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { transformSync } from 'esbuild'
import createClient from 'openapi-fetch'
import openapiTS, { astToString } from 'openapi-typescript'
import { type Api, startApi } from '../support/api.js'
import { compileFiles } from '../support/compiler.js'

const LIBRARY = `version: 1
models:
  author:
    fields:
      id: { type: uuid, primary_key: true }
      name: { type: string, min: 1, max: 100 }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 100, unique: true }
      price: { type: decimal, precision: 6, scale: 2, nullable: true }
      state: { type: choice, choices: [in, out], nullable: true }
      lent: { type: boolean, default: false }
      author: { type: belongs_to, model: author }
      extra: { type: json, nullable: true }
      pin: { type: string, max: 4, write_only: true, nullable: true }
      made_at: { type: timestamp, auto: on_create }
resources:
  author: { model: author, path: /authors/, bulk: [create, partial_update, destroy] }
  book:
    model: book
    path: /books/
    filterable: { state: [exact, in], title: [exact] }
    orderable: [title, made_at]
    sparse_fields: true
    pagination: { style: page_number, envelope: results }
`

/** A program that uses the API by its types alone. */
const CLIENT = `import type createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

type Book = components['schemas']['Book']

export async function use(create: typeof createClient, baseUrl: string) {
  const client = create<paths>({ baseUrl, querySerializer: { array: { style: 'form', explode: false } } })
  const author = await client.POST('/api/authors/', { body: { name: 'Jane Austen' } })
  if (!author.data) throw new Error(author.error.detail)
  const body = { title: 'Emma', price: '12.5', author: author.data.id, extra: { shelf: [1, null] } } as const
  const made = await client.POST('/api/books/', { body })
  if (!made.data) throw new Error(made.error.detail)
  const { id }: { readonly id: number } = made.data
  const path = { id }
  const several = await client.POST('/api/authors/bulk/', { body: [{ name: 'Ann' }, { name: 'Ben' }] })
  const [ann, ben]: readonly { readonly id: string; readonly name: string }[] = several.data ?? []
  if (!ann || !ben) throw new Error('nobody')
  const renamed = await client.PATCH('/api/authors/', { body: [{ id: ann.id, name: 'Anne' }] })
  const ids = [ann.id, ben.id]
  const left = await client.DELETE('/api/authors/', { params: { query: { ids } } })
  const changed = await client.PATCH('/api/books/{id}/', { params: { path }, body: { state: 'out' } })
  const state: 'in' | 'out' | null | undefined = changed.data?.state
  const list = await client.GET('/api/books/', {
    params: { query: { state__in: ['in', 'out'], ordering: ['-title', 'made_at'], page: 1 } },
  })
  const prices: readonly (string | null)[] | undefined = list.data?.results.map(({ price }) => price)
  const kept = await client.GET('/api/books/{id}/', {
    params: { path, header: { 'If-None-Match': changed.response.headers.get('etag') ?? '' } },
  })
  const whole: Book | undefined = (await client.GET('/api/books/{id}/', { params: { path } })).data
  const part = async <Name extends keyof Book>(...fields: Name[]): Promise<Pick<Book, Name> | undefined> => {
    const { data } = await client.GET('/api/books/{id}/partial/', { params: { path, query: { fields } } })
    return data as Pick<Book, Name> | undefined
  }
  const { id: partId, title }: { readonly id?: number; readonly title?: string } = (await part('id', 'title')) ?? {}
  const parts = await client.GET('/api/books/partial/', { params: { query: { fields: ['title'] } } })
  const titles: readonly (string | undefined)[] | undefined = parts.data?.results.map((book) => book.title)
  const rejected = await client.POST('/api/books/', { body: { ...body, title: '', author: 'nobody' } })
  const problem: components['schemas']['Problem'] | undefined = rejected.error
  const errors: Readonly<Record<string, string>> = problem?.errors ?? {}
  const taken = await client.POST('/api/books/', { body })
  const gone = await client.DELETE('/api/books/{id}/', { params: { path } })
  const missing = await client.GET('/api/books/{id}/', { params: { path } })
  return {
    made: made.data,
    part: [whole?.title, partId, title, titles],
    several: [several.response.status, renamed.data?.map(({ name }) => name), left.response.status],
    state,
    count: list.data?.count,
    prices,
    kept: kept.response.status,
    rejected: [rejected.response.status, problem?.type, errors],
    taken: [taken.error?.status, taken.error?.errors],
    gone: [gone.response.status, gone.data],
    missing: [missing.error?.status, missing.error?.title],
  }
}
`

/** Each line with a mistake ends with the expected compiler message after \`//\`. */
const WRONG = `import type createClient from 'openapi-fetch'
import type { paths } from './api.js'

export async function use(client: ReturnType<typeof createClient<paths>>) {
  await client.GET('/api/book/', {}) // '"/api/book/"'
  await client.GET('/api/books/{id}/') // Expected 2 arguments
  await client.GET('/api/books/', { params: { query: { titel: 'x' } } }) // 'titel'
  await client.GET('/api/books/', { params: { query: { ordering: ['price'] } } }) // '"price"'
  await client.POST('/api/books/', { body: { title: 'Emma' } }) // not assignable to type '{ title: string; price?: string | null;
  await client.POST('/api/books/', { body: { title: 'Emma', author: '', price: 12.5 } }) // 'number'
  await client.GET('/api/books/', { params: { query: { fields: ['id'] } } }) // 'fields'
  await client.POST('/api/authors/', { body: [{ name: 'Ann' }] }) // '{ name: string; }[]'
  await client.POST('/api/authors/bulk/', { body: { name: 'Ann' } }) // 'name' does not exist in type '({ name: string; }
  const { data } = await client.GET('/api/books/{id}/', { params: { path: { id: 1 } } })
  return data?.pin // 'pin' does not exist
}
`

const EXPECTED = WRONG.split('\n').flatMap((line, index) => {
  const [, part] = / \/\/ (.*)/.exec(line) ?? []
  return part === undefined ? [] : [[index + 1, part] as const]
})

let api: Api
let said: readonly string[]
beforeAll(async () => {
  api = await startApi(LIBRARY, { checkResponses: true })
  const document = await (await api.fetch('/openapi.json')).text()
  const types = astToString(await openapiTS(document, { defaultNonNullable: false }))
  said = await compileFiles({ 'api.ts': types, 'client.ts': CLIENT, 'wrong.ts': WRONG })
})
afterAll(() => api.close())

type Use = (create: typeof createClient, baseUrl: string) => Promise<unknown>

describe('a TypeScript client with types generated from /openapi.json (promise 13)', () => {
  test('compiles under `strict`', () => {
    expect(said.filter((line) => !line.startsWith('wrong.ts'))).toEqual([])
  })

  test('does not compile if it uses anything that the API lacks', () => {
    const mistakes = said.filter((line) => line.startsWith('wrong.ts'))
    expect(mistakes.map((line) => Number(/^wrong\.ts:(\d+)/.exec(line)?.[1]))).toEqual(EXPECTED.map(([line]) => line))
    for (const [index, [, part]] of EXPECTED.entries()) expect(mistakes[index]).toContain(part)
  })

  test('receives records, pages and problems of its types', async () => {
    const { code } = transformSync(CLIENT, { loader: 'ts', format: 'esm' })
    const { use } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as { readonly use: Use }
    expect(await use(createClient, api.url)).toEqual({
      made: {
        id: 1,
        title: 'Emma',
        price: '12.50',
        state: null,
        lent: false,
        author: expect.any(String),
        extra: { shelf: [1, null] },
        made_at: expect.stringMatching(/Z$/),
      },
      part: ['Emma', 1, 'Emma', ['Emma']],
      several: [201, ['Anne'], 204],
      state: 'out',
      count: 1,
      prices: ['12.50'],
      kept: 304,
      rejected: [400, expect.any(String), { title: expect.any(String), author: expect.any(String) }],
      taken: [409, { title: expect.any(String) }],
      gone: [204, undefined],
      missing: [404, 'Not found'],
    })
  })
})
