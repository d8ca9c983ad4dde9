import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { defaultDifferences } from '../../../src/internal.js'
import { runSql } from '../../support/existing.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

/** Functions, a cast and an operator that change the database. */
const EFFECTS = `
  drop table if exists log; drop type if exists odd cascade; create table log (n integer); create type odd as (n integer);
  create or replace function bump(n integer) returns integer language sql volatile as 'insert into log values (n) returning 5';
  create or replace function bump(n integer, m integer) returns integer language sql volatile as 'insert into log values (n) returning 5';
  create or replace function even(odd) returns integer language sql volatile as 'insert into log values (1) returning 5';
  create cast (odd as integer) with function even(odd);
  drop type if exists failing cascade; create type failing as (n integer);
  create or replace function failed(failing) returns integer language plpgsql as $$ begin raise exception 'no' using errcode = '38000'; end $$;
  create cast (failing as integer) with function failed(failing);
  create extension if not exists citext;
  drop domain if exists positive; create domain positive as integer check (value > 0);
  drop operator if exists %% (integer, integer); create operator %% (function = bump, leftarg = integer, rightarg = integer);`

/** The messages for a column with a definition in the database, whose field has these settings. */
async function messagesOf(definition: string, field: string, table = 'managed: false'): Promise<readonly string[]> {
  await runSql(
    database,
    `drop table if exists things; drop type if exists mood; drop domain if exists price; drop sequence if exists counted;
     create type mood as enum ('calm', 'cross'); create domain price as numeric(8, 2) default 5; create sequence counted;
     ${EFFECTS}
     create table things (id bigint generated always as identity primary key, value ${definition})`,
  )
  const spec = specOf(`version: 1
models:
  thing:
    table: things
    ${table}
    fields:
      id: { type: bigint, primary_key: true }
      value: { ${field} }
`)
  return (await defaultDifferences(spec, database)).map(({ message }) => message)
}

test.each([
  ["text default 'a'", 'type: text, default: a'],
  ["varchar(9) default 'it''s'::text", "type: string, max: 9, default: it's"],
  ["mood default 'calm'", 'type: choice, choices: [calm, cross], default: calm'],
  ['integer default 0', 'type: integer, default: 0'],
  ["integer default '0'", 'type: integer, default: 0'],
  ['bigint default -1', 'type: bigint, default: -1'],
  ['numeric(8, 2) default 0', 'type: decimal, precision: 8, scale: 2, default: "0.00"'],
  ['numeric(8, 2) default 1.5::double precision', 'type: decimal, precision: 8, scale: 2, default: "1.50"'],
  ['price', 'type: decimal, precision: 8, scale: 2, default: "5"'],
  ['integer default 60 * 60 * 24', 'type: integer, default: 86400'],
  ["varchar(9)[] default '{a}'", 'type: array, items: { type: string, max: 9 }, default: [a]'],
  ["timestamp(3) default '2020-01-02 03:04'", 'type: local_timestamp, default: "2020-01-02T03:04:00.000"'],
  ['double precision default 1', 'type: float, default: 1.0'],
  ['boolean default (1 = 1)', 'type: boolean, default: true'],
  ["date default '2020-01-02'", 'type: date, default: "2020-01-02"'],
  [`jsonb default '{"a":  [1]}'`, 'type: json, default: { a: [1] }'],
  ['integer[] default array[]::integer[]', 'type: array, items: { type: integer }, default: []'],
  ["text[] default '{a,b}'", 'type: array, items: { type: text }, default: [a, b]'],
  ["interval default '1 day'", 'type: interval, default: P1D'],
  ['timestamptz default now()', 'type: timestamp, default: { function: now }'],
  ['timestamptz default current_timestamp', 'type: timestamp, default: { function: now }'],
  ['timestamptz(3) default current_timestamp(3)', 'type: timestamp, default: { function: now }'],
  ["timestamptz default ('now'::text)::timestamptz", 'type: timestamp, default: { function: now }'],
  ['timestamptz default clock_timestamp()', 'type: timestamp, auto: on_create'],
  ["timestamp default (now() at time zone 'utc')", 'type: local_timestamp, auto: on_create'],
  ['uuid default gen_random_uuid()', 'type: uuid, default: { function: uuid }'],
  ['uuid default (gen_random_uuid()::text)::uuid', 'type: uuid, default: { function: uuid }'],
  ['uuid default md5(random()::text || clock_timestamp()::text)::uuid', 'type: uuid, default: { function: uuid }'],
  ["text default 'today'", 'type: text, default: today'],
  ['numeric default 0.00', 'type: decimal, precision: 8, scale: 2, default: "0"'],
  ["citext default 'a'", 'type: text, default: a'],
  ["char(5) default 'a'", 'type: char, length: 5, default: a'],
  ["interval default '24:00:00'", 'type: interval, default: PT24H'],
  // Not declared, or declared as one of the database.
  ["bigint default nextval('counted')", 'type: bigint, default: { function: database }'],
  ["text default 'a'", 'type: text'],
  ['text default lower(current_user)', 'type: text, default: { function: database }'],
  // Not in the database: inserts have the declared value.
  ['text', 'type: text, default: a'],
])('a column `%s` has the default of a field { %s }', async (definition, field) => {
  expect(await messagesOf(definition, field)).toEqual([])
})

test.each([
  [
    "text default 'b'",
    'type: text, default: a',
    "the column `things.value` has the default `'b'::text`, and the file declares `'a'`",
  ],
  ["text default 'A'", 'type: text, default: a', "has the default `'A'::text`"],
  ["text default lower('A')", 'type: text, default: a', "has the default `lower('A'::text)`"],
  ["bigint default nextval('counted')", 'type: bigint, default: 1', "has the default `nextval('counted'::regclass)`"],
  ['integer default 1', 'type: integer, default: 0', 'has the default `1`, and the file declares `'],
  ['numeric(8, 2) default 0.01', 'type: decimal, precision: 8, scale: 2, default: "0.00"', 'has the default `0.01`'],
  ['price', 'type: decimal, precision: 8, scale: 2, default: "6"', 'has the default `5`'],
  ['boolean default false', 'type: boolean, default: true', 'has the default `false`'],
  ['date default current_date', `type: date, default: "${new Date().toISOString().slice(0, 10)}"`, '`CURRENT_DATE`'],
  [
    "date default ('now'::text)::date",
    `type: date, default: "${new Date().toISOString().slice(0, 10)}"`,
    "'now'::text",
  ],
  ["citext default 'A'", 'type: text, default: a', "has the default `'A'::citext`"],
  ["interval default '24:00:00'", 'type: interval, default: P1D', "has the default `'24:00:00'::interval`"],
  ["interval[] default '{24:00:00}'", 'type: array, items: { type: interval }, default: [P1D]', '24:00:00'],
  ["integer default '(1)'::failing::integer", 'type: integer, default: 5', '::failing'],
  ["uuid default (lpad('1', 32, '0'))::uuid", 'type: uuid, default: { function: uuid }', 'lpad('],
  ['integer default abs(5)', 'type: integer, default: 5', 'has the default `abs(5)`'],
  ['integer default bump(1)', 'type: integer, default: 5', 'has the default `bump(1)`'],
  ['integer default (1 %% 2)', 'type: integer, default: 5', 'has the default `(1 %% 2)`'],
  ["integer default '(1)'::odd::integer", 'type: integer, default: 5', "has the default `('(1)'::odd)::integer`"],
  ['integer default (0)::positive', 'type: integer, default: 1', 'has the default `'],
  [
    "uuid default '00000000-0000-0000-0000-000000000000'",
    'type: uuid, default: { function: uuid }',
    'and the file declares `gen_random_uuid()`',
  ],
  ["timestamptz default '2020-01-02 00:00+00'", 'type: timestamp, auto: on_create', 'and the file declares `now()`'],
  ["timestamptz default now() + '1 day'::interval", 'type: timestamp, default: { function: now }', '`(now() + '],
  ["jsonb default '[]'", 'type: json, default: { a: 1 }', "has the default `'[]'::jsonb`"],
])('a column `%s` has another default than a field { %s }', async (definition, field, said) => {
  for (const table of ['managed: false', 'managed: true'])
    expect(await messagesOf(definition, field, table)).toEqual([expect.stringContaining(said)])
  // The comparison has changed nothing.
  expect(await database.query({ text: 'select n from log', values: [] })).toMatchObject({ rows: [] })
})

test('the report leads to the setting, and says what to do', async () => {
  const [settings, table] = [{ definition: "text default 'b'", field: 'type: text, default: a' }, 'things']
  await messagesOf(settings.definition, settings.field)
  const found = async (managed: boolean) =>
    defaultDifferences(
      specOf(`version: 1
models:
  thing:
    table: ${table}
    managed: ${managed}
    fields:
      id: { type: bigint, primary_key: true }
      value: { ${settings.field} }
`),
      database,
    )
  expect(await found(false)).toEqual([
    expect.objectContaining({
      code: 'SC418',
      path: ['models', 'thing', 'fields', 'value', 'default'],
      help: [
        'declare the same default, or `default: { function: database }` to declare no value',
        'or ask the owner of the table to change the default of the column, which new records get, also those of requests',
      ],
    }),
  ])
  expect(await found(true)).toEqual([
    expect.objectContaining({
      help: [
        'compare the database with the migration files: snippetctl migrate status',
        'or the migration files with resources.yaml: snippetctl migrate plan',
      ],
    }),
  ])
})
