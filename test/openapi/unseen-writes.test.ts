import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTasks, type Tasks } from '../support/tasks.js'

const YAML = `version: 1
api: { prefix: "" }
auth:
  roles: { names: [meter, reader] }
  routes: { openapi: anyone }
  development: { meter: { roles: [meter] }, reader: { roles: [reader] } }
models:
  reading:
    table: readings
    fields:
      id: { type: bigint, primary_key: true }
      value: { type: integer }
resources:
  reading:
    model: reading
    path: /readings/
    bulk: [create, partial_update, destroy]
    access:
      - { to: meter, may: [create, destroy] }
      - { to: reader, may: [read, create] }
      - { to: reader, may: change, becomes: { value__lte: 9 } }
`

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks({ yaml: YAML })
})
afterAll(() => tasks.close())

// Closing compares all responses with the OpenAPI document of all callers.
test('callers who may create records and not read them get no body', async () => {
  const make = async (name: string, body: unknown) => {
    const { status, json, headers } = await tasks.as(name, 'POST', '/readings/', body)
    return [status, json, headers.has('etag')]
  }
  expect(await make('meter', { value: 1 })).toEqual([201, undefined, false])
  expect(await make('meter', [{ value: 2 }, { value: 3 }])).toEqual([201, undefined, false])
  expect(await make('reader', { value: 4 })).toEqual([201, { id: 4, value: 4 }, true])
  expect(await make('reader', [{ value: 5 }])).toEqual([201, [{ id: 5, value: 5 }], false])
})

interface Described {
  readonly description: string
  readonly headers: object
  readonly content?: object
}

interface Document {
  readonly paths: Readonly<
    Record<string, { [method in 'post' | 'delete']?: { responses: Readonly<Record<string, Described>> } }>
  >
}

const SOMETIMES = 'Without a body if the caller may not see'

test.each([
  {
    name: 'meter',
    one: 'The change is stored; the caller may not see the record.',
    many: 'The change is stored; the caller may not see the record.',
    hasBody: false,
  },
  {
    name: 'reader',
    one: `The new record. ${SOMETIMES} the record.`,
    many: `The new records, in the order of the body. ${SOMETIMES} one of them.`,
    hasBody: true,
  },
])('the document for $name says whether a new record is in the response', async ({ name, one, many, hasBody }) => {
  const { paths } = (await tasks.as(name, 'GET', '/openapi.json')).json as Document
  const described = (path: string) => {
    const { description = '', headers = {}, content } = paths[path]?.post?.responses['201'] ?? {}
    return [description, content !== undefined, 'ETag' in headers]
  }
  expect(described('/readings/')).toEqual([one, hasBody, hasBody])
  expect(described('/readings/bulk/')).toEqual([many, hasBody, false])
})

test('the document for callers who may delete records and not read them says that the records are deleted', async () => {
  const { paths } = (await tasks.as('meter', 'GET', '/openapi.json')).json as Document
  const described = (path: string) => paths[path]?.delete?.responses['204']?.description
  expect([described('/readings/{id}/'), described('/readings/')]).toEqual([
    'The record was deleted.',
    'The records were deleted.',
  ])
})
