import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Problem } from '../../src/foundation/problem.js'
import { type TestDatabase, openTestDatabase } from '../support/database.js'

const DDL = `
  create table authors (id bigint generated always as identity primary key, name text not null unique);
  create table books (
    id bigint generated always as identity primary key,
    author_id bigint references authors,
    title varchar(20) not null check (title <> ''),
    pages integer
  )`

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase(DDL)
})
afterAll(() => database.close())

const query = (text: string, ...values: (string | null)[]) => database.query({ text, values })

describe("cells are in PostgreSQL's text form", () => {
  test.each([
    ['9223372036854775807::bigint', '9223372036854775807'],
    ['1.10::numeric', '1.10'],
    ['0.1::float8', '0.1'],
    ["'NaN'::float8", 'NaN'],
    ['true', 't'],
    ['null::text', null],
    ["''::text", ''],
    ["E'a\\nb\\u00e9\\U0001F600'", 'a\nbé😀'],
    ["'2024-02-29'::date", '2024-02-29'],
    ["'2024-02-29 12:34:56.123456+02'::timestamptz", '2024-02-29 10:34:56.123456+00'],
    ["'2024-02-29 12:34:56.5'::timestamp", '2024-02-29 12:34:56.5'],
    ["'infinity'::timestamptz", 'infinity'],
    ["'1 day 02:03:04'::interval", '1 day 02:03:04'],
    ['array[1,2,null]', '{1,2,NULL}'],
    [`'{"a": [1, "x"]}'::json`, '{"a": [1, "x"]}'],
    [`'{"b":1,"a":2}'::jsonb`, '{"a": 2, "b": 1}'],
    ["'\\x00ff'::bytea", '\\x00ff'],
    ["'00000000-0000-0000-0000-00000000000A'::uuid", '00000000-0000-0000-0000-00000000000a'],
  ])('%s is returned as %j', async (expression, cell) => {
    expect(await query(`select ${expression}`)).toMatchObject({ rows: [[cell]], count: 1 })
  })
})

describe("parameters are in PostgreSQL's text form", () => {
  test.each([
    ['bigint', '9007199254740993', '9007199254740993'],
    ['boolean', 'true', 't'],
    ['boolean', 'f', 'f'],
    ['numeric', '1e2', '100'],
    ['text', 'true', 'true'],
    ['text', '', ''],
    ['text', null, null],
    ['jsonb', '"text"', '"text"'],
    ['jsonb', '[1,2]', '[1, 2]'],
    ['integer[]', '{1,2}', '{1,2}'],
    ['timestamptz', '2024-02-29T12:34:56.123456Z', '2024-02-29 12:34:56.123456+00'],
    ['bytea', '\\xdead', '\\xdead'],
  ])('%s accepts %j', async (type, value, cell) => {
    expect((await query(`select $1::${type}`, value)).rows).toEqual([[cell]])
  })
})

test('the count is the number of affected rows, even if none are returned', async () => {
  await query("insert into authors (name) values ('count 1'), ('count 2')")
  expect(await query("update authors set name = name || '!' where name like 'count %'")).toMatchObject({
    rows: [],
    count: 2,
  })
  expect((await query("delete from authors where name like 'count %'")).count).toBe(2)
  expect((await query('create temporary table none ()')).count).toBe(0)
})

test('a named statement can be repeated with other values', async () => {
  const named = (value: string) => database.query({ name: 'twice', text: 'select $1::int * 2', values: [value] })
  expect([(await named('2')).rows, (await named('4')).rows]).toEqual([[['4']], [['8']]])
})

test('a named statement survives a change of its table', async () => {
  await query('create table changing (a int)')
  const named = () => database.query({ name: 'changing', text: 'select * from changing', values: [] })
  await query('insert into changing values (1)')
  expect((await named()).rows).toEqual([['1']])
  await query('alter table changing add b int default 2')
  expect((await named()).rows).toEqual([['1', '2']])
  expect((await named()).rows).toEqual([['1', '2']])
})

describe("knex sees the driver's types", () => {
  test('rows, counts and several statements at once', async () => {
    const { knex } = database
    await knex('authors').insert([{ name: 'knex 1' }, { name: 'knex 2' }])
    expect(await knex('authors').where('name', 'like', 'knex %').orderBy('name').select('name')).toEqual([
      { name: 'knex 1' },
      { name: 'knex 2' },
    ])
    expect(await knex('authors').where('name', 'like', 'knex %').del()).toBe(2)
    const answers = await knex.raw("select 1 as a; select '2024-02-29'::date as b, 9007199254740993 as c, true as d")
    expect(answers.map((answer: { rows: unknown[] }) => answer.rows)).toEqual([
      [{ a: 1 }],
      [{ b: '2024-02-29', c: '9007199254740993', d: true }],
    ])
    expect(await knex.schema.hasTable('authors')).toBe(true)
  })

  test('its transactions roll back', async () => {
    const failing = database.knex.transaction(async (trx) => {
      await trx('authors').insert({ name: 'rolled back' })
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect((await query("select from authors where name = 'rolled back'")).count).toBe(0)
  })
})

describe('a transaction', () => {
  const named = (name: string) => query('select name from authors where name = $1', name)

  test('is committed with all changes of its work', async () => {
    const id = await database.transaction(async (connection) => {
      await connection.query({ text: "insert into authors (name) values ('kept')", values: [] })
      return (await connection.query({ text: "select name from authors where name = 'kept'", values: [] })).rows[0]?.[0]
    })
    expect([id, (await named('kept')).count]).toEqual(['kept', 1])
  })

  test('is rolled back and rethrows when its work throws', async () => {
    const thrown = new Error('changed my mind')
    const work = database.transaction(async (connection) => {
      await connection.query({ text: "insert into authors (name) values ('dropped')", values: [] })
      throw thrown
    })
    await expect(work).rejects.toBe(thrown)
    expect((await named('dropped')).count).toBe(0)
  })

  test('fails if its work swallows the error of a statement, because the server rolls back', async () => {
    const work = database.transaction(async (connection) => {
      await connection.query({ text: "insert into authors (name) values ('half')", values: [] })
      await connection.query({ text: 'insert into authors (name) values (null)', values: [] }).catch(() => undefined)
    })
    await expect(work).rejects.toMatchObject({ type: 'validation' })
    expect((await named('half')).count).toBe(0)
  })

  test('leaves its connection intact after a failure', async () => {
    const failing = () => database.transaction((connection) => connection.query({ text: 'select 1/0', values: [] }))
    for (let round = 0; round < 12; round++) await expect(failing()).rejects.toThrow('division by zero')
    expect((await query('select 1')).rows).toEqual([['1']])
  })

  test('rejects statements after its end', async () => {
    const connection = await database.transaction(async (inner) => inner)
    await expect(connection.query({ text: 'select 1', values: [] })).rejects.toThrow('after its transaction had ended')
  })

  test('is retried after a serialization failure, up to a limit', async () => {
    let runs = 0
    const raise = "do $$ begin raise exception 'again' using errcode = '40001'; end $$"
    const work = (failures: number) =>
      database.transaction(async (connection) => {
        runs++
        if (runs <= failures) await connection.query({ text: raise, values: [] })
        return runs
      })
    expect(await work(2)).toBe(3)
    runs = 0
    await expect(work(99)).rejects.toMatchObject({ type: 'unavailable', headers: { 'Retry-After': '1' } })
    expect(runs).toBe(4)
  })
})

describe('an error of the server becomes a problem', () => {
  test.each([
    ['a duplicate', "insert into authors (name) values ('same'), ('same')", 'conflict'],
    ['a missing parent', "insert into books (author_id, title) values (-1, 'x')", 'conflict'],
    ['text that is too long', "insert into books (title) values (repeat('x', 21))", 'validation'],
    ['a forbidden null', 'insert into books (title) values (null)', 'validation'],
    ['a violated check', "insert into books (title) values ('')", 'validation'],
    ['a number that is too large', 'select 2147483648::int', 'validation'],
    ['text that is not a number', "select 'x'::int", 'validation'],
    ['a missing table', 'select * from missing', 'unavailable'],
    ['a missing column', 'select missing from books', 'unavailable'],
  ])('%s', async (_what, text, type) => {
    const error = await query(text).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(Problem)
    expect(error).toMatchObject({ type, cause: expect.any(Error) })
    expect((error as Problem).message).not.toMatch(/authors|books|_key|missing|column|relation/)
  })

  test('except for one that only a bug can cause', async () => {
    const error = await query('selec 1').catch((error: unknown) => error)
    expect(error).not.toBeInstanceOf(Problem)
    expect(error).toMatchObject({ code: '42601' })
  })
})

test('a database responds to a probe', async () => {
  await expect(database.probe()).resolves.toBeUndefined()
})
