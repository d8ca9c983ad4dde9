import { afterEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { waitUntil } from '../../support/wait-until.js'

const yaml = (type: string) => `version: 1
api: { prefix: "" }
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      value: { type: ${type}, nullable: true }
resources:
  book: { model: book, path: /books/, filterable: [value] }
`

let api: Api
afterEach(() => api.close())

/** So often that every connection has prepared the statements. */
const OFTEN = 12

async function store(value: unknown): Promise<readonly unknown[]> {
  const made = await api.send('POST', '/books/', { value })
  const { id } = (await made.json()) as { id: number }
  const changed = await api.send('PATCH', `/books/${id}/`, { value })
  const listed = await api.fetch(`/books/?value=${String(value)}`)
  const records = (await listed.json()) as readonly { value: unknown }[]
  return [made.status, changed.status, listed.status, Array.isArray(records) && records.at(-1)?.value]
}
const alter = (type: string, using = `value::${type}`) =>
  api.database.query({ text: `alter table book alter value type ${type} using ${using}`, values: [] })

describe('after a column changed its type and the file was reloaded, the service handles its values:', () => {
  test.each<readonly [from: string, to: string, column: string, before: unknown, after: unknown]>([
    ['integer', 'bigint', 'bigint', 5, 3_000_000_000],
    ['integer', 'decimal, precision: 10, scale: 2', 'numeric(10,2)', 5, '1.50'],
    ['integer', 'float', 'double precision', 5, 1.5],
    ['integer', 'string', 'text', 5, 'five'],
    ['bigint', 'uuid', 'uuid', 5, '6f1b4c1e-9f0a-4a53-8d3c-0f5d3f3c2b11'],
    ['string, max: 5', 'string, max: 50', 'varchar(50)', 'a', 'longer than five'],
    ['date', 'timestamp', 'timestamptz', '2026-01-01', '2026-01-01T10:20:30.000000Z'],
    ['boolean', 'integer', 'integer', true, 7],
    ['boolean', 'string', 'text', true, 'maybe'],
  ])('%s to %s', async (from, to, column, before, after) => {
    api = await startApi(yaml(from), { checkResponses: false })
    const first = await Promise.all(Array.from({ length: OFTEN }, () => store(before)))
    expect(new Set(first.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify([201, 200, 200, before])]),
    )
    await api.database.query({ text: 'truncate book', values: [] })
    await alter(column, 'null')
    await api.replace(yaml(to))
    const then = await Promise.all(Array.from({ length: OFTEN }, () => store(after)))
    expect(new Set(then.map((each) => JSON.stringify(each)))).toEqual(new Set([JSON.stringify([201, 200, 200, after])]))
  })
})

test('after a mismatching table was repaired, the service handles its values', async () => {
  api = await startApi(yaml('bigint'), { checkResponses: false })
  await alter('integer')
  await Promise.all(Array.from({ length: OFTEN }, () => store(5)))
  await alter('boolean', 'true')
  const state = async () => (await api.fetch('/books/?value=5')).status
  const isKnown = () => api.logged.some(({ event }) => event === 'schema_drift')
  await waitUntil(async () => (await state()) === 503 && isKnown())
  await alter('bigint', 'null')
  // It is looked at once a second.
  await waitUntil(async () => (await store(3_000_000_000))[0] === 201)
  const then = await Promise.all(Array.from({ length: OFTEN }, () => store(3_000_000_000)))
  expect(new Set(then.map(([made]) => made))).toEqual(new Set([201]))
})

test('while the service runs, a column becomes wider: values that only the new type holds are stored and found', async () => {
  api = await startApi(yaml('bigint'), { checkResponses: false })
  await alter('integer')
  await Promise.all(Array.from({ length: OFTEN }, () => store(5)))
  await alter('bigint')
  const then = await Promise.all(Array.from({ length: OFTEN }, () => store(3_000_000_000)))
  expect(new Set(then.map((each) => JSON.stringify(each)))).toEqual(
    new Set([JSON.stringify([201, 200, 200, 3_000_000_000])]),
  )
})
