import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type Database, openDatabase } from '../../../src/internal.js'
import { type Api, SNIPPETS_FILE, startApi } from '../../support/api.js'
import type { TestDatabase } from '../../support/database.js'
import { waitUntil } from '../../support/wait-until.js'

const RECORDS = '/api/snippets-viewset/'
/** A path that asks the database nothing. */
const CONFIG = '/api/snippets/config/'

/** Requests wait until connections are free, however long a burst takes. */
const limits = { handlerTimeout: 600_000 }

let whole: Api
let narrow: Database | undefined
let api: Api
let free: () => void
let held: readonly Promise<unknown>[]

/** Takes every connection of the pool until `free` is called. */
async function hold(): Promise<void> {
  const released = new Promise<void>((resolve) => (free = resolve))
  const { max } = api.database.usage()
  await new Promise<void>((resolve) => {
    let taken = 0
    const work = () => {
      if (++taken === max) resolve()
      return released
    }
    held = Array.from({ length: max }, () => api.database.transaction(work, { unlimited: true }))
  })
}

const post = (title: string) => api.send('POST', RECORDS, { title, code: 'c', language: 'go' })

/** Sends requests until the service rejects some of them; it answers no others in that time. */
async function burst(send: (at: number) => Promise<Response>): Promise<readonly Promise<Response>[]> {
  const sent: Promise<Response>[] = []
  while (api.database.usage().rejected < 20) {
    sent.push(send(sent.length))
    expect((await api.fetch(CONFIG)).status).toBe(200)
  }
  return sent
}

const seen = (response: Response) => [response.status, response.headers.get('retry-after')] as const

beforeEach(async () => {
  whole = await startApi(SNIPPETS_FILE, { limits })
  const { url } = whole.database as TestDatabase
  // So few connections that reads wait in the same line as all others.
  narrow = url === undefined ? undefined : await openDatabase({ url, directory: '' }, { DATABASE_POOL: '2' })
  api = narrow ? await startApi(SNIPPETS_FILE, { database: narrow, limits }) : whole
  // Once the length of a page is known, lists wait for the database and no longer for room for their answers.
  await api.fetch(RECORDS)
  await hold()
})
afterEach(async () => {
  free()
  await Promise.all(held)
  await narrow?.close()
  if (api !== whole) await api.close()
  await whole.close()
})

test.each([
  ['changes', post, 201],
  ['reads', () => api.fetch(RECORDS), 200],
  // biome-ignore format: one case, one line
  ['transactions', () => api.send('PUT', '/api/snippets/1/', { title: 't', code: 'c', language: 'go' }), 404],
] as const)('rejects some of more %s than can wait, and none hangs or is lost', async (kind, send, good) => {
  const sent = await burst((at) => send(`t${at}`))
  free()
  const answers = (await Promise.all(sent)).map(seen)
  const rejected = answers.filter(([status]) => status === 503)
  expect(rejected.length).toBeGreaterThanOrEqual(20)
  expect(new Set(rejected.map(([, after]) => after))).toEqual(new Set(['1']))
  const served = answers.filter(([status]) => status === good)
  expect(served.length).toBeGreaterThan(0)
  expect(served.length + rejected.length).toBe(answers.length)
  const { rows } = await api.database.query({ text: 'select count(*) from snippets', values: [] })
  expect(Number(rows[0]?.[0])).toBe(kind === 'changes' ? served.length : 0)
  expect((await post('after')).status).toBe(201)
  expect(api.database.usage().waiting).toBe(0)
})

test('rejects without querying the database when the queue is full', async () => {
  const sent = await burst(() => api.fetch(RECORDS))
  const response = await api.fetch(RECORDS)
  free()
  await Promise.all(sent)
  expect(await response.json()).toMatchObject({ status: 503, detail: 'The database is overloaded' })
})

test('does not reject an accepted request before its second statement', async () => {
  free()
  await Promise.all(held)
  const text = `insert into snippets (title, code, language) select 't', 'c', 'go' from generate_series(1, 10001)`
  await api.database.query({ text, values: [] })
  await api.fetch(RECORDS)
  await hold()
  let answered = 0
  const countAnswer = (response: Response): Response => {
    answered += 1
    return response
  }
  const sent = await burst(() => api.fetch(RECORDS).then(countAnswer))
  const received = () => {
    const { waiting, pipelinedStatements } = api.database.usage()
    return answered + waiting + pipelinedStatements
  }
  await waitUntil(() => received() >= sent.length)
  const { rejected } = api.database.usage()
  free()
  const answers = (await Promise.all(sent)).map(seen)
  expect(answers.filter(([status]) => status === 200).length).toBeGreaterThan(0)
  expect(api.database.usage().rejected).toBe(rejected)
})

test('a probe does not mistake an overloaded database for an unavailable one', async () => {
  const order: string[] = []
  const line = Array.from({ length: 300 }, () => api.database.query({ text: 'select 1', values: [] }))
  const middle = line[150]?.then(() => order.push('middle of the line'))
  const probe = api.database.probe().then(() => order.push('probe'))
  free()
  await Promise.all([...line, middle, probe])
  expect(order).toEqual(['probe', 'middle of the line'])
})

test('a probe is never rejected', async () => {
  const sent = await burst(() => api.fetch(RECORDS))
  const probe = api.database.probe()
  free()
  await expect(probe).resolves.toBeUndefined()
  await Promise.all(sent)
})

test('does not reject statements when the queue has only just become long', async () => {
  const sent = Array.from({ length: 300 }, (_, at) =>
    api.database.query({ text: 'select $1::int', values: [String(at)] }),
  )
  free()
  const answers = await Promise.all(sent)
  expect(answers.map(({ rows }) => Number(rows[0]?.[0]))).toEqual(answers.map((_, at) => at))
  expect(api.database.usage().rejected).toBe(0)
})
