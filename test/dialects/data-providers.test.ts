import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { BOOKS, MOUNTED, stockBooks } from '../support/mounted-books.js'
import {
  type Item,
  loadProviders,
  type Providers,
  type ReactAdminProvider,
  type RefineProvider,
} from '../support/providers.js'

let api: Api
let providers: Providers
beforeAll(async () => {
  ;[api, providers] = await Promise.all([startApi(MOUNTED), loadProviders()])
  await stockBooks(api.database)
})
afterAll(() => api.close())

const at = (mount: string) => `${api.url}/${mount}`
const titles = (items: readonly Item[]) => items.map(({ title }) => title)
const numbered = (from: number, to: number) =>
  Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => {
    const number = from < to ? from + index : from - index
    return `Book ${String(number).padStart(2, '0')}`
  })
const IDS = Array.from({ length: 30 }, (_, index) => index + 5)

/** What a promise was rejected with. */
const failureOf = (promise: Promise<unknown>): Promise<Record<string, unknown>> =>
  promise.then(
    () => Promise.reject(new Error('it was not rejected')),
    (error: unknown) => error as Record<string, unknown>,
  )

const REACT_ADMIN: readonly (readonly [name: string, make: () => ReactAdminProvider])[] = [
  ['ra-data-simple-rest', () => providers.simpleRest(at('simple-rest'))],
  ['ra-data-json-server', () => providers.jsonServer(at('json-server'))],
  ['ra-data-django-rest-framework', () => providers.djangoRest(at('page'))],
]

describe.each(REACT_ADMIN)('react-admin with %s (promise 05)', (_name, make) => {
  const ask = { pagination: { page: 1, perPage: 10 }, sort: { field: 'id', order: 'ASC' }, filter: {} } as const
  const create = async (title: string) => (await make().create('books', { data: { title, author: 1, pages: 7 } })).data

  test('gets a page of an ordered list, and the total', async () => {
    const { data, total } = await make().getList('books', {
      ...ask,
      pagination: { page: 2, perPage: 10 },
      sort: { field: 'title', order: 'DESC' },
    })
    expect([titles(data), total]).toEqual([numbered(32, 23), BOOKS])
  })

  test('exports all records, and gets pages that are longer than `max_page_size`', async () => {
    const all = await make().getList('books', { ...ask, pagination: { page: 1, perPage: 1000 } })
    expect([titles(all.data), all.total]).toEqual([numbered(1, BOOKS), BOOKS])
    const first = await make().getList('books', { ...ask, pagination: { page: 1, perPage: 30 } })
    const second = await make().getList('books', { ...ask, pagination: { page: 2, perPage: 30 } })
    expect([titles(first.data), first.total]).toEqual([numbered(1, 30), BOOKS])
    expect([titles(second.data), second.total]).toEqual([numbered(31, BOOKS), BOOKS])
  })

  test('filters by one value and by several', async () => {
    const drafts = await make().getList('books', { ...ask, filter: { status: 'draft', author: 2 } })
    expect([titles(drafts.data), drafts.total]).toEqual([
      ['Book 01', 'Book 07', 'Book 13', 'Book 19', 'Book 25', 'Book 31', 'Book 37'],
      7,
    ])
    const both = await make().getList('books', { ...ask, filter: { status: ['draft', 'published'] } })
    expect([both.data.length, both.total]).toEqual([10, BOOKS])
  })

  test('gets an empty list', async () => {
    expect(await make().getList('books', { ...ask, filter: { title: 'none' } })).toMatchObject({ data: [], total: 0 })
  })

  test('gets many records by id, more than a page holds', async () => {
    const { data } = await make().getMany('books', { ids: IDS })
    expect(data.map(({ id }) => id)).toEqual(IDS)
  })

  test('gets the records that refer to another', async () => {
    const { data, total } = await make().getManyReference('books', {
      ...ask,
      target: 'author',
      id: 2,
      pagination: { page: 2, perPage: 10 },
    })
    expect([titles(data), total]).toEqual([['Book 31', 'Book 34', 'Book 37', 'Book 40'], 14])
  })

  test('gets one record', async () => {
    expect((await make().getOne('books', { id: 7 })).data).toMatchObject({ id: 7, title: 'Book 07', author: 2 })
  })

  test('creates, changes and deletes a record', async () => {
    const created = await create('New')
    // A form sends the whole record back, including server-set fields.
    const change = { id: created['id'], data: { ...created, pages: null, extra: { a: 1 } }, previousData: created }
    const { data: updated } = await make().update('books', change)
    expect(updated).toEqual({ ...created, pages: null, extra: { a: 1 } })
    const { data: deleted } = await make().delete('books', { id: created['id'], previousData: updated })
    expect(deleted).toEqual(updated)
    expect(await failureOf(make().getOne('books', { id: created['id'] }))).toMatchObject({ status: 404 })
  })

  test('updates and deletes many records, each with its fields', async () => {
    const created = [await create('New'), await create('Newer')]
    const ids = created.map(({ id }) => id)
    expect((await make().updateMany('books', { ids, data: { status: 'published' } })).data).toEqual(ids)
    const { data } = await make().getMany('books', { ids })
    expect(data).toEqual(created.map((each) => ({ ...each, status: 'published' })))
    await make().deleteMany('books', { ids })
    expect((await make().getList('books', ask)).total).toBe(BOOKS)
  })

  test('shows why a record is rejected, field by field', async () => {
    const failure = await failureOf(make().create('books', { data: { title: '', author: 1 } }))
    const title = 'Title must be between 1 and 50 characters'
    expect(failure).toMatchObject({ status: 400, message: title, body: { errors: { title } } })
  })
})

const REFINE: readonly (readonly [name: string, make: () => RefineProvider])[] = [
  ['@refinedev/simple-rest', () => providers.refineSimpleRest(at('json-server'))],
  ['@refinedev/rest', () => providers.createSimpleRestDataProvider({ apiURL: at('json-server') }).dataProvider],
  ['@refinedev/nestjsx-crud', () => providers.nestjsxCrud(at('crud'))],
]

describe.each(REFINE)('refine with %s (promise 05)', (_name, make) => {
  const resource = 'books'
  const create = async (title: string) =>
    (await make().create({ resource, variables: { title, author: 1, pages: 7 } })).data
  // refine itself makes single calls of those that a provider does not have.
  const updateMany = async (ids: readonly unknown[], variables: Item) => {
    const { update, updateMany: many } = make()
    if (many) return (await many({ resource, ids, variables })).data
    return Promise.all(ids.map(async (id) => (await update({ resource, id, variables })).data))
  }
  const deleteMany = async (ids: readonly unknown[]) => {
    const { deleteOne, deleteMany: many } = make()
    await (many ? many({ resource, ids }) : Promise.all(ids.map((id) => deleteOne({ resource, id }))))
  }

  test('gets a page of an ordered list, and the total', async () => {
    const { data, total } = await make().getList({
      resource,
      pagination: { currentPage: 2, pageSize: 10 },
      sorters: [
        { field: 'title', order: 'desc' },
        { field: 'id', order: 'asc' },
      ],
    })
    expect([titles(data), total]).toEqual([numbered(32, 23), BOOKS])
  })

  test('gets all records without pagination, and pages that are longer than `max_page_size`', async () => {
    // `@refinedev/rest` asks for a page whatever the mode.
    const off = { mode: 'off', pageSize: 1000 } as const
    const all = await make().getList({ resource, pagination: off })
    expect([titles(all.data), all.total]).toEqual([numbered(1, BOOKS), BOOKS])
    const drafts = await make().getList({
      resource,
      pagination: off,
      filters: [{ field: 'status', operator: 'ne', value: 'published' }],
    })
    expect([drafts.data.length, drafts.total]).toEqual([BOOKS / 2, BOOKS / 2])
    const page = await make().getList({ resource, pagination: { currentPage: 1, pageSize: 30 } })
    expect([titles(page.data), page.total]).toEqual([numbered(1, 30), BOOKS])
  })

  test('filters by several fields and comparisons', async () => {
    const { data, total } = await make().getList({
      resource,
      filters: [
        { field: 'status', operator: 'eq', value: 'draft' },
        { field: 'title', operator: 'contains', value: 'bOOK 2' },
        { field: 'pages', operator: 'gte', value: 240 },
        { field: 'author', operator: 'in', value: [1, 2] },
      ],
    })
    expect([titles(data), total]).toEqual([['Book 25', 'Book 27'], 2])
  })

  test('gets an empty list', async () => {
    const filters = [{ field: 'title', operator: 'eq', value: 'none' }]
    expect(await make().getList({ resource, filters })).toEqual({ data: [], total: 0 })
  })

  test('gets many records by id, more than a page holds', async () => {
    const { data } = (await make().getMany?.({ resource, ids: IDS })) ?? { data: [] }
    expect(data.map(({ id }) => id)).toEqual(IDS)
  })

  test('gets one record', async () => {
    expect((await make().getOne({ resource, id: 7 })).data).toMatchObject({ id: 7, title: 'Book 07', author: 2 })
  })

  test('creates, changes and deletes a record', async () => {
    const created = await create('New')
    const { data } = await make().update({ resource, id: created['id'], variables: { pages: null, extra: { a: 1 } } })
    expect(data).toEqual({ ...created, pages: null, extra: { a: 1 } })
    await make().deleteOne({ resource, id: created['id'] })
    const filters = [{ field: 'id', operator: 'eq', value: created['id'] }]
    expect((await make().getList({ resource, filters })).total).toBe(0)
  })

  test('updates and deletes many records, each with its fields', async () => {
    const created = [await create('New'), await create('Newer')]
    const ids = created.map(({ id }) => id)
    expect(await updateMany(ids, { status: 'published' })).toEqual(
      created.map((each) => ({ ...each, status: 'published' })),
    )
    await deleteMany(ids)
    expect((await make().getMany?.({ resource, ids }))?.data).toEqual([])
  })

  test('shows why a record is rejected', async () => {
    const failure = await failureOf(make().create({ resource, variables: { title: '', author: 1 } }))
    expect(JSON.stringify(failure['errors'] ?? failure['message'])).toContain('must be between 1 and 50 characters')
  })
})

test('refine with @refinedev/nestjsx-crud puts messages under their fields', async () => {
  const failure = await failureOf(
    providers.nestjsxCrud(at('crud')).create({ resource: 'books', variables: { title: '' } }),
  )
  expect(failure).toEqual({
    statusCode: 400,
    message: 'Validation failed',
    errors: { title: ['title must be between 1 and 50 characters'], author: ['author is required'] },
  })
})

test('refine with @refinedev/nestjsx-crud creates many records with one request, or none, and finds them by prefix', async () => {
  const { createMany, deleteMany, getList } = providers.nestjsxCrud(at('crud'))
  const variables = ['Many 1', 'Many 2'].map((title) => ({ title, author: 1 }))
  const made = (await createMany?.({ resource: 'books', variables }))?.data ?? []
  expect(titles(made)).toEqual(['Many 1', 'Many 2'])
  const filters = [{ field: 'title', operator: 'startswith', value: 'mANY' }]
  expect((await getList({ resource: 'books', filters })).data).toEqual(made)
  await deleteMany?.({ resource: 'books', ids: made.map(({ id }) => id) })
  const wrong = createMany?.({ resource: 'books', variables: [...variables, { title: '' }] })
  expect((await failureOf(wrong ?? Promise.resolve()))['errors']).toEqual({
    '2.title': ['2.title must be between 1 and 50 characters'],
    '2.author': ['2.author is required'],
  })
  expect((await getList({ resource: 'books', filters })).data).toEqual([])
})
