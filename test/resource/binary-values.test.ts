import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { linksOf } from '../support/links.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  file:
    table: files
    fields:
      digest: { type: binary, max: 32, primary_key: true, key: client }
      content: { type: binary }
  copy:
    table: copies
    fields:
      id: { type: bigint, primary_key: true }
      file: { type: belongs_to, model: file }
resources:
  copy: { model: copy, path: /copies/, orderable: [file], pagination: { style: cursor, page_size: 1 } }
  file:
    model: file
    path: /files/
    url: true
    filterable: { digest: [exact, in], content: [exact, ne, in] }
    pagination: { style: cursor, page_size: 1 }
`
const bytes = (...values: number[]): string => Buffer.from(values).toString('base64')
/** The characters of base64 that a path escapes. */
const DIGEST = bytes(0xfb, 0xef, 0xff)
const CONTENT = Buffer.from(Array.from({ length: 300 }, (_, index) => index % 256)).toString('base64')

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const [digest, content] of [
    [DIGEST, CONTENT],
    [bytes(0, 1), ''],
  ])
    expect((await api.send('POST', '/files/', { digest, content })).status).toBe(201)
})
afterAll(() => api.close())

test('the column has the bytes, and responses one line of base64', async () => {
  const stored = await api.database.query({
    text: "select encode(digest, 'hex'), octet_length(content)::text from files order by 2",
    values: [],
  })
  expect(stored.rows).toEqual([
    ['0001', '0'],
    ['fbefff', '300'],
  ])
  expect(DIGEST).toBe('++//')
  expect(await (await api.fetch('/files/%2B%2B%2F%2F/')).json()).toEqual({
    digest: DIGEST,
    content: CONTENT,
    url: expect.stringMatching(/\/files\/%2B%2B%2F%2F\/$/),
  })
})

test('filters compare the bytes', async () => {
  const found = async (query: string) => {
    const records = (await (await api.fetch(`/files/?${query}`)).json()) as { digest: string }[]
    return records.map(({ digest }) => digest)
  }
  expect(await found(`content=${encodeURIComponent(CONTENT)}`)).toEqual([DIGEST])
  expect(await found('content=')).toEqual([bytes(0, 1)])
  expect(await found(`digest__in=${encodeURIComponent(DIGEST)},AAA=`)).toEqual([DIGEST])
  expect((await api.fetch('/files/?content=%5Cx00')).status).toBe(400)
})

test('cursors lead through records whose keys are bytes', async () => {
  const first = await api.fetch('/files/')
  expect(await first.json()).toMatchObject([{ digest: bytes(0, 1) }])
  const second = await api.fetch(linksOf(first)['next'] ?? '')
  expect(await second.json()).toMatchObject([{ digest: DIGEST }])
})

test('cursors lead through lists that are ordered by a relation to such records', async () => {
  for (const file of [bytes(0, 1), DIGEST]) expect((await api.send('POST', '/copies/', { file })).status).toBe(201)
  const first = await api.fetch('/copies/?ordering=-file')
  expect(await first.json()).toMatchObject([{ file: DIGEST }])
  const second = await api.fetch(linksOf(first)['next'] ?? '')
  expect(await second.json()).toMatchObject([{ file: bytes(0, 1) }])
})

test('`max` counts bytes, in requests and in the database', async () => {
  const tooLong = await api.send('POST', '/files/', { digest: bytes(...Array(33).fill(1)), content: '' })
  expect([tooLong.status, await tooLong.json()]).toMatchObject([
    400,
    { errors: { digest: 'Digest must be at most 32 bytes' } },
  ])
  const insert = "insert into files values (decode(repeat('01', 33), 'hex'), '')"
  await expect(api.database.query({ text: insert, values: [] })).rejects.toThrow()
})

test('documents of OpenAPI 3.1 and 3.0 name the encoding', async () => {
  const contentOf = async (path: string) => {
    const document = (await (await api.fetch(path)).json()) as {
      components: { schemas: { File: { properties: { content: object } } } }
    }
    return document.components.schemas.File.properties.content
  }
  expect(await contentOf('/openapi.json')).toMatchObject({ type: 'string', contentEncoding: 'base64' })
  expect(await contentOf('/openapi-3.0.json')).toMatchObject({ type: 'string', format: 'byte' })
})
