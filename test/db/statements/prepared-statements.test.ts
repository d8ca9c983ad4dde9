import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Statement } from '../../../src/db/database.js'
import { type Database, openDatabase } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../../support/database.js'
import { CREATE_ROLE, DROP_ROLE, ROLE } from '../../support/roles.js'
import { waitUntil } from '../../support/wait-until.js'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
const YAML = `version: 1
api: { prefix: "" }
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
${NAMES.map((name) => `      ${name}: { type: string, max: 20, default: x }`).join('\n')}
resources:
  book: { model: book, path: /books/, filterable: [${NAMES.join(', ')}] }
`
/** More shapes than a resource keeps. */
const ODD = 320

let whole: TestDatabase
let database: Database
let api: Api
let sent: readonly Statement[]
beforeAll(async () => {
  whole = await openTestDatabase(ddlOf(specOf(YAML)))
  // One connection, so that it tells all that is prepared.
  const narrow = { DATABASE_POOL: '1' }
  database = whole.url === undefined ? whole : await openDatabase({ url: whole.url, directory: '' }, narrow)
  const { watched, ...rest } = watchDatabase(database)
  sent = rest.sent
  api = await startApi(YAML, { database: watched, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  if (database !== whole) await database.close()
  await whole.close()
})

const get = async (path: string) => expect((await api.fetch(path)).status).toBe(200)
/** A list with a filter for each bit that is set. */
const odd = (bits: number) =>
  `/books/?${NAMES.filter((_, at) => bits & (1 << at))
    .map((name) => `${name}=x`)
    .join('&')}`
const prepared = async (): Promise<readonly string[]> => {
  const text = "select name from pg_prepared_statements where statement like '%book%' and name <> '' order by name"
  return (await database.query({ text, values: [] })).rows.map(([name]) => String(name))
}

test('a text that is used again and again stays prepared, and a text that is used once never is', async () => {
  expect((await api.send('POST', '/books/', {})).status).toBe(201)
  const usual = async () => {
    await get('/books/1/')
    await get('/books/')
  }
  for (let time = 0; time < 3; time++) await usual()
  const before = await prepared()
  const names = sent.slice(-2).map(({ name }) => name)
  for (let bits = 1; bits <= ODD; bits++) {
    await get(odd(bits))
    if (bits % 40 > 0) continue
    await usual()
    expect(sent.slice(-2).map(({ name }) => name)).toEqual(names)
  }
  expect(before).toHaveLength(2)
  expect(await prepared()).toEqual(before)
})

test('new texts are prepared, however many texts clients have caused before', async () => {
  for (let bits = 1; bits <= ODD; bits++) await get(odd(bits))
  const before = await prepared()
  for (let time = 0; time < 3; time++) await get(odd(ODD + 1))
  expect(await prepared()).toHaveLength(before.length + 1)
})

test('texts stay prepared while requests fail for lack of a privilege, and are prepared again after columns were altered', async () => {
  const nameOf = async () => {
    await get('/books/1/')
    // A lookup may have started in the meantime.
    return sent.findLast(({ text }) => !text.includes('pg_'))?.name
  }
  const looks = () => sent.filter(({ text }) => text.includes('hashtextextended')).length
  /** A look that finds a change is followed by another one. */
  const failUntilLookedAt = async (times: 1 | 2): Promise<void> => {
    const before = looks()
    await waitUntil(async () => {
      expect((await api.send('POST', '/books/', {})).status).toBe(503)
      return looks() >= before + times
    })
    // There is one connection, so the look is answered first.
    await get('/books/')
  }
  const run = (text: string) => database.query({ text, values: [] })
  await run(`${CREATE_ROLE}; grant select on book to ${ROLE}; set role ${ROLE}`)
  await failUntilLookedAt(2)
  const name = await nameOf()
  await failUntilLookedAt(1)
  expect(await nameOf()).toBe(name)
  await run(
    `reset role; alter table book alter a type text; alter table book alter a type varchar(20); set role ${ROLE}`,
  )
  await failUntilLookedAt(2)
  expect(await nameOf()).not.toBe(name)
  await run(DROP_ROLE)
})

test('a list that was evicted and is requested again takes one place, not two', async () => {
  await get('/books/?a=1')
  for (let bits = 1; bits <= ODD; bits++) {
    const fields = NAMES.filter((_, at) => bits & (1 << at)).map((name) => [name, 'x'])
    expect((await api.send('PATCH', '/books/1/', Object.fromEntries(fields))).status).toBe(200)
  }
  const { kept } = api.statements
  for (const path of ['/books/?a=2', '/books/?a=1', '/books/?b=1&c=1']) await get(path)
  expect(api.statements.kept).toBe(kept)
})

test('a list is read although its connection has lost the prepared statements, as behind a pooler', async () => {
  for (let time = 0; time < 3; time++) await get('/books/')
  await database.query({ text: 'deallocate all', values: [] })
  for (let time = 0; time < 3; time++) await get('/books/')
})

test('PostgreSQL keeps the plan of a list, also of a table with many rows', async () => {
  const fill = `insert into book (${NAMES.join(', ')}) select ${NAMES.map(() => `'x'`).join(', ')} from generate_series(1, 3000)`
  for (const text of [fill, 'analyze book']) await database.query({ text, values: [] })
  const planned = async () => {
    for (let time = 0; time < 12; time++) await get('/books/?page_size=5')
    const values = [sent.at(-1)?.text ?? '']
    const text = 'select custom_plans from pg_prepared_statements where statement = $1'
    return Number((await database.query({ text, values })).rows[0]?.[0])
  }
  const first = await planned()
  expect(first).toBeGreaterThan(0)
  expect(await planned()).toBe(first)
})
