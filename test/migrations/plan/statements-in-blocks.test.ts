import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Connection } from '../../../src/db/database.js'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { runAll } from '../../../src/migrations/run/scratch.js'
import { attempt, inDiscardedTransaction } from '../../../src/migrations/run/session.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { makeFolder, specOf } from '../../support/migrations.js'

let scratch: TestDatabase
beforeAll(async () => {
  scratch = await openTestDatabase('')
})
afterAll(() => scratch.close())

const tables = Array.from({ length: 250 }, (_, at) => `create table t${at} (id integer primary key)`)

test('a scratch database creates a hundred tables with one statement, in the order of the file', async () => {
  const [texts, rows] = await inDiscardedTransaction(scratch, async (session) => {
    const sent: string[] = []
    const watched: Connection = {
      query(statement) {
        sent.push(statement.text)
        return session.query(statement)
      },
    }
    const insert = `insert into t249 values (1)`
    const more = ['alter table t249 add copied integer', 'update t249 set copied = id']
    await runAll(watched, [...tables, insert, ...more])
    const text =
      'select id::text, copied::text, (select count(*) from pg_class where relkind = $1 and relname ~ $2)::text from t249'
    return [sent, (await session.query({ text, values: ['r', '^t[0-9]+$'] })).rows]
  })
  const blocks = texts.filter((text) => text.startsWith('do '))
  expect(blocks.map((text) => text.split('create table').length - 1)).toEqual([100, 100, 50])
  expect(texts.filter((text) => !blocks.includes(text) && !text.includes('savepoint'))).toHaveLength(3)
  expect(rows).toEqual([['1', '1', '250']])
})

test('the error of a file that fails names the line of its statement, and nothing before it is created twice', async () => {
  const lines = tables.slice(0, 30).map((text, at) => `${at === 20 ? text.replace('integer', 'nothing') : text};`)
  const folder = await makeFolder({ '0001_first.sql': `-- up\n${lines.join('\n')}\n` })
  await expect(planMigration(specOf({}), folder.path, scratch)).rejects.toMatchObject({
    errors: [expect.stringContaining('0001_first.sql:22: type "nothing" does not exist')],
  })
})

test('a failed attempt undoes what it did before a block that failed', async () => {
  const [message, left] = await inDiscardedTransaction(scratch, async (session) => {
    const statements = ['create type aside as enum ()', ...tables.slice(0, 5), 'drop table missing']
    const error = await attempt(session, () => runAll(session, statements))
    return [error?.message, (await session.query({ text: `select to_regtype('aside')::text`, values: [] })).rows]
  })
  expect(message).toContain('missing')
  expect(left).toEqual([[null]])
})

const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
onServer('a block that is cancelled does not run again', async () => {
  const statements = Array.from({ length: 5 }, (_, at) => `create table slow${at} as select pg_sleep(0.1)::text`)
  const done = inDiscardedTransaction(scratch, async (session) => {
    // Long enough for each statement by itself.
    await session.query({ text: `set local statement_timeout = '400ms'`, values: [] })
    await runAll(session, statements)
  })
  await expect(done).rejects.toMatchObject({ code: '57014' })
})
