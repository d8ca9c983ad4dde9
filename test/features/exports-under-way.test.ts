import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { waitUntil } from '../support/wait-until.js'

const YAML = `version: 1
api: { prefix: "" }
mounts: [{ path: /nest, dialect: crud }]
models: { row: { table: rows, fields: { id: { type: bigint, primary_key: true }, text: { type: text } } } }
resources: { row: { model: row, path: /rows/, export: true } }
`
let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { checkResponses: false })
  const text = `insert into rows (text) select repeat('x', 1000) from generate_series(1, 40000)`
  await api.database.query({ text, values: [] })
})
afterAll(() => api.close())

/** Begins an export and reads its first bytes. */
const begin = (path = '/rows/export.csv', url = api.url) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request(`${url}${path}`, { agent: false }, (response) => {
      response.on('error', () => {})
      response.once('readable', () => resolve(response))
    })
    asked.on('error', reject)
    asked.end()
  })
const busy = () => {
  const { open, idle } = api.database.usage()
  return open - idle
}

test('is free of what others write meanwhile, and the connection is free again after it', async () => {
  if (!api.database.concurrent) return
  const response = await begin()
  await api.database.query({ text: `delete from rows where id > 39990`, values: [] })
  await api.database.query({
    text: `insert into rows (id, text) overriding system value values (100000, 'later')`,
    values: [],
  })
  let size = 0
  let last = ''
  for await (const chunk of response) {
    size += (chunk as Buffer).length
    last = (last + String(chunk)).slice(-3000)
  }
  expect(last.trimEnd().split('\r\n').at(-1)?.split(',')[0]).toBe('40000')
  expect(size).toBeGreaterThan(40_000_000)
  await waitUntil(() => busy() === 0)
})

test('ends when the client leaves, and its connection is free', async () => {
  const response = await begin()
  await waitUntil(() => busy() === 1)
  response.destroy()
  await waitUntil(() => busy() === 0)
  expect((await api.fetch('/rows/?page_size=1')).status).toBe(200)
})

test('keeps more exports than a few from starting', async () => {
  const limit = api.database.concurrent ? Math.floor(api.database.usage().max / 3) : 1
  const responses = await Promise.all(Array.from({ length: limit }, () => begin()))
  const rejected = await api.fetch('/rows/export.csv')
  expect([rejected.status, rejected.headers.get('retry-after'), await rejected.json()]).toEqual([
    503,
    '5',
    expect.objectContaining({ detail: expect.stringMatching(/other export/) }),
  ])
  for (const response of responses) response.destroy()
  await waitUntil(() => busy() === 0)
  const again = await begin()
  expect(again.statusCode).toBe(200)
  again.destroy()
  await waitUntil(() => busy() === 0)
})

test('cuts the response off if it fails', async () => {
  await api.database.query({ text: `update rows set text = 'not a number' where id = 30000`, values: [] })
  await api.database.query({ text: `alter table rows rename to kept`, values: [] })
  const view = `create view rows as select id, case when id = 30000 then (1 / (id - 30000))::text else text end as text from kept`
  await api.database.query({ text: view, values: [] })
  const failed = api.fetch('/rows/export.json').then((response) => response.text())
  await expect(failed).rejects.toThrow()
  await waitUntil(() => busy() === 0)
  await api.database.query({ text: 'drop view rows', values: [] })
  await api.database.query({ text: 'alter table kept rename to rows', values: [] })
})

describe('a client that reads nothing', () => {
  const LIMITS = [
    { exportStallTimeout: 200, idleTimeout: 60_000 },
    { exportTimeout: 300, idleTimeout: 60_000 },
  ]
  test.each(LIMITS)('loses its download, and the connection is free: %j', async (limits) => {
    const strict = await startApi(YAML, { database: api.database, checkResponses: false, limits })
    const response = await begin('/rows/export.csv', strict.url)
    const failures = () => strict.logged.filter(({ event }) => event === 'failure')
    await waitUntil(() => failures().length > 0 && busy() === 0)
    await new Promise((resolve) => response.resume().once('close', resolve))
    expect(response.complete).toBe(false)
    expect((await strict.fetch('/rows/?page_size=1')).status).toBe(200)
    expect(failures()).toEqual([expect.objectContaining({ type: 'timeout', route: 'row-export-csv' })])
    await strict.close()
  })
})

test('mounts with a dialect have none', async () => {
  expect((await api.fetch('/nest/rows/export.csv')).status).toBe(404)
})
