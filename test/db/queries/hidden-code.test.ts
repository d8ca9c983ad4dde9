import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { kindOf } from '../../../src/db/queries/statement-kind.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await openTestDatabase('create table books ("into" int, "as" int)')
})
afterAll(() => database.close())

/** The settings and tables that a statement leaves on its connection. */
interface Left {
  readonly name: string | null
  readonly table: string | null
}

const UNDONE = new Error('undone')
const NOTHING: Left = { name: 'plain', table: null }

/** Sends a statement as a plugin's query is sent, and looks at what it leaves; its transaction is rolled back. */
async function leftBy(text: string, conforming = 'on'): Promise<Left> {
  let left: Left = NOTHING
  const sent = database.transaction(async (connection) => {
    await connection.query({
      text: `select set_config('standard_conforming_strings', $1, true), set_config('application_name', 'plain', true)`,
      values: [conforming],
    })
    await connection.query({ text, values: [], single: true })
    const look = `select current_setting('application_name'), to_regclass('pg_temp.leak')::text`
    const [name = null, table = null] = (await connection.query({ text: look, values: [] })).rows[0] ?? []
    left = { name, table }
    throw UNDONE
  })
  await sent.catch((error: unknown) => {
    if (error !== UNDONE) throw error
  })
  return left
}

const LEAK = `set_config('application_name', 'leak', false)`

describe('a call that the text of a query hides', () => {
  test.each([
    `select ${LEAK}`,
    `select ${LEAK.toUpperCase().replaceAll(/'.*?'/g, (text) => text.toLowerCase())}`,
    `select 'a''', ${LEAK}, ''''`,
    `select 'a\\', ${LEAK}, '\\'`,
    `select e'\\\\', ${LEAK}, e'\\''`,
    `select e'\\'', ${LEAK}, '\\'`,
    `select 'a'\n'b', ${LEAK}`,
    `select e'a'\n'\\', ' , ${LEAK}, e'\\' '`,
    `select e'a' -- ' \n -- '\r\n'\\', ' , ${LEAK}`,
    `select 'e'::text, ${LEAK}, 'e'`,
    `select 1 as e, '\\', ${LEAK}, '\\'`,
    `select 1 as te, '\\', ${LEAK} where 'te' = 'te'`,
    `select n'\\', ${LEAK}, n'\\'`,
    `select b'1', x'f', ${LEAK}`,
    `select u&'\\0041', ${LEAK}, u&'!0041' uescape '!'`,
    `select "column", ${LEAK} from (values (1)) v("column")`,
    `select 1 as "a""", ${LEAK}, 2 as """"`,
    `select 1 as "'", ${LEAK}, 2 as "'"`,
    `select 1 as "--", ${LEAK}, 2 as "/*"`,
    `select '/*', ${LEAK}, '*/'`,
    `select '--', ${LEAK}`,
    `select '$$', ${LEAK}, '$$'`,
    `select $$'$$, ${LEAK}, $$'$$`,
    `select $a$ $$ ' $b$ $a$, ${LEAK}`,
    `select $a$ $a $a$, ${LEAK}`,
    `select $a$ $$a$, ${LEAK}`,
    `select $A$ $a$ ' $A$, ${LEAK}`,
    `select $é1_$ ' $é1_$, ${LEAK}`,
    `select 1 as a$x$, ${LEAK}, 2 as b$x$`,
    `select 1 as é$$, ${LEAK}, 2 as é$$`,
    `select 1 as _$$, ${LEAK}, 2 as _$$`,
    `select 1 /* /* */ ' */, ${LEAK} /* ' */`,
    `select 1 /*/*/ ' */ */, ${LEAK} /* ' */`,
    `select 1 /* **/, ${LEAK} /***/`,
    `select 1 /*-- */, ${LEAK}`,
    `select 1 +/* ' */ 1, ${LEAK} /* ' */`,
    `select 1 --/*\n, ${LEAK} --*/`,
    `select 1 --'\r, ${LEAK} --'`,
    `select 1 +-- '\n 1, ${LEAK} -- '`,
    `select pg_catalog . /* */ "set_config" -- (\n ('application_name', 'leak', false)`,
    `select set_config('application_name', 'leak', 'true' = $$false$$)`,
    `select set_config('application_name', 'leak', "true") from (values (false)) v("true")`,
    `select a.* from lateral (select ${LEAK}) a`,
    `explain (analyze, format json) select ${LEAK}`,
    `explain analyze verbose (select ${LEAK})`,
    `update pg_settings set setting = 'leak' where name = 'application_name'`,
    `update only /**/ ("pg_catalog" . pg_settings) set setting = 'leak' where name = 'application_name'`,
  ])('is found in `%s`', async (text) => {
    await expect(leftBy(text)).resolves.toEqual({ name: 'leak', table: null })
    expect(() => kindOf(text)).toThrow('the connection is shared with other requests')
  })

  test.each([
    `select u&"set\\005fconfig"('application_name', 'leak', false)`,
    `select U&"set!005fconfig" uescape '!' ('application_name', 'leak', false)`,
  ])('may be behind a name with escapes: `%s`', async (text) => {
    await expect(leftBy(text)).resolves.toMatchObject({ name: 'leak' })
    expect(() => kindOf(text)).toThrow('cannot write a name with `U&`')
  })

  test.each([`select '\\', ', ${LEAK}, '\\' '`, `select 'a' \n '\\'', ${LEAK} --'`])(
    'is found where texts have escapes without a prefix: `%s`',
    async (text) => {
      await expect(leftBy(text, 'off')).resolves.toMatchObject({ name: 'leak' })
      expect(() => kindOf(text)).toThrow('the connection is shared with other requests')
    },
  )
})

describe('a new table that the text of a query hides', () => {
  test.each([
    'select 1 as a into temp leak',
    'select 1. into temp leak',
    'select .1 as a into temp leak',
    'select "into" into temp leak from books',
    'select books.as into temp leak from books',
    'select 1 as as into temp leak',
    'select books.as as as into/**/temp leak from books',
    'select 1 as "as" into temp leak',
    'select insert into temp leak from (values (1)) v(insert)',
    'select (1) merge into temp leak',
    'with insert as (select 1 as a) select * into temp leak from insert',
    '(select 1 as a into temp leak)',
    'explain (analyze, costs off) select 1 as a into temp leak',
    'explain analyze create temp table leak as select 1 as a',
  ])('is found in `%s`', async (text) => {
    await expect(leftBy(text)).resolves.toMatchObject({ table: expect.stringContaining('leak') })
    expect(() => kindOf(text)).toThrow('change tables by a migration')
  })
})

describe('a query without a lasting effect', () => {
  test.each([
    `select '${LEAK.replaceAll("'", "''")}'`,
    `select $$ ${LEAK} $$, $_1$ ${LEAK} $_1$`,
    `select e'\\' || ${LEAK.replaceAll("'", "\\'")} || \\''`,
    `select e'a'\n'\\', set_config(1, 2, 3) '`,
    `select 1 as "${LEAK}"`,
    `select 1 /* ${LEAK} /* */ ${LEAK} */ -- ${LEAK}`,
    `select 'a' like '%\\%' escape '\\', 'set_config('`,
    `select set_config('application_name', 'plain', true)`,
    `select set_config('application_name', 'plain', ((true))::boolean)`,
    'select 1 as set_config',
    'select books.into, books.as, 1 as into from books',
    'select 1 as "into", 1 as "u&"',
    'with inserted as (insert into books ("into") select 1 as into returning *) select * from inserted',
    'insert into books ("into") select "into" from books',
    'with a as (select 1) insert into books ("into") select * from a',
    'explain (costs off) insert into books ("into") values (1)',
  ])('may be sent: `%s`', async (text) => {
    await expect(leftBy(text)).resolves.toEqual(NOTHING)
    expect(() => kindOf(text)).not.toThrow()
  })
})

test.each([
  'select 1 /* /* */',
  "select '",
  `select e'\\'`,
  'select "a',
  'select $a$ $A$',
  'select $$ $',
  "select '\\' '",
])('an unterminated text, quoted name or comment is rejected: `%s`', async (text) => {
  await expect(leftBy(text)).rejects.toThrow()
  expect(() => kindOf(text)).toThrow('the query has an unterminated text, quoted name or comment')
})

test.each([
  ['comments', 'select 1', '/*', 40_001],
  ['comments that end', 'select 1', '/*/* */', 40_001],
  ['quotes', 'select 1', "'", 40_001],
  ['continued texts', "select e'a'", '\n--\n', 40_001],
  ['dollars', 'select ', '$a', 40_001],
  ['names', 'select ', 'a.', 40_001],
  ['parentheses', 'select ', '(', 40_001],
])('a long query is read in linear time: %s', (_what, start, part, times) => {
  const began = performance.now()
  try {
    kindOf(start + part.repeat(times))
  } catch {
    // Most have no end.
  }
  expect(performance.now() - began).toBeLessThan(2_000)
})
