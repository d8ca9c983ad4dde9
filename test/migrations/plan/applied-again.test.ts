import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Step } from '../../../src/migrations/files/steps.js'
import { proveRoundTrip } from '../../../src/migrations/plan/prove/prove.js'
import { FROM, runAll } from '../../../src/migrations/run/scratch.js'
import { inDiscardedTransaction } from '../../../src/migrations/run/session.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

let scratch: TestDatabase
beforeAll(async () => {
  scratch = await openTestDatabase('')
})
afterAll(() => scratch.close())

const STEP: Step = { change: 'add', subject: 'books', detail: 'table', safety: 'safe', up: [], down: [] }

/** Tests a text whose results nobody reads, and returns how often its up part has run. */
function runsOf(up: string, down: string, before: readonly string[] = []): Promise<string | null | undefined> {
  return inDiscardedTransaction(scratch, async (session) => {
    await runAll(session, [
      `create schema ${FROM}`,
      `set local search_path = ${FROM}`,
      'create sequence runs',
      ...before,
    ])
    const schema = { tables: [], views: [] }
    await proveRoundTrip(session, {
      texts: [`-- up\nselect nextval('runs');\n${up};\n-- down\n${down};\n`],
      steps: [STEP],
      from: [],
      before: schema,
      readSchema: async () => schema,
      isWanted: async () => true,
    })
    // A sequence keeps its value when its transaction is rolled back.
    return (await session.query({ text: 'select last_value::text from runs', values: [] })).rows[0]?.[0]
  })
}

test('a migration whose down part leaves the same objects is not applied again', async () => {
  const up = 'create table books (id integer primary key, title text not null)'
  expect(await runsOf(up, 'drop table books')).toBe('1')
})

test('a migration is applied again if its down part leaves an object, a dropped column, a choice, or another table of the same name', async () => {
  const pages = ['create table pages (id integer)']
  await expect(runsOf('create sequence left_behind', 'select 1')).rejects.toMatchObject({
    errors: [expect.stringContaining('relation "left_behind" already exists')],
  })
  expect(await runsOf('alter table pages add size integer', 'alter table pages drop size', pages)).toBe('2')
  const choice = `alter type state add value if not exists 'done'`
  expect(await runsOf(choice, 'select 1', [`create type state as enum ('new')`])).toBe('2')
  expect(await runsOf('select 1', 'drop table pages; create table pages (id integer)', pages)).toBe('2')
})

test('a migration is applied again if its down part leaves another name, a schema or a constraint without dependencies', async () => {
  const pages = ['create table pages (id integer)']
  const [sheets, schema] = ['alter table pages rename to sheets', 'create schema archive']
  await expect(runsOf(sheets, 'select 1', pages)).rejects.toMatchObject({
    errors: [expect.stringContaining('relation "pages" does not exist')],
  })
  await expect(runsOf(schema, 'select 1')).rejects.toMatchObject({
    errors: [expect.stringContaining('schema "archive" already exists')],
  })
  const column = 'alter table pages rename id to number'
  await expect(runsOf(column, 'select 1', pages)).rejects.toMatchObject({
    errors: [expect.stringContaining('column "id" does not exist')],
  })
  const type = 'alter type state rename to stage'
  await expect(runsOf(type, 'select 1', [`create type state as enum ('new')`])).rejects.toMatchObject({
    errors: [expect.stringContaining('type "state" does not exist')],
  })
  expect(await runsOf('alter table pages alter id set not null', 'select 1', pages)).toBe('2')
})
