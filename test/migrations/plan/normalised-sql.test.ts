import { expect, test } from '@jest/globals'
import { readCatalog } from '../../../src/migrations/introspect/catalog/catalog.js'
import { normaliseSql } from '../../../src/migrations/plan/compare/normalise-sql.js'
import { packChecks } from '../../../src/migrations/plan/compare/pack-checks.js'
import { inDiscardedTransaction } from '../../../src/migrations/run/session.js'
import { openTestDatabase } from '../../support/database.js'

const TABLES = `
  create table whole (id bigint, n integer check (n > 0), s text check (s in ('a', 'b')));
  create table same (id uuid, n integer check (n > 0), s text check (s in ('a', 'b')));
  create table decimals (n numeric check (n > 0), s varchar(3) check (length(s) < 3));
  create table bytes (n bigint check (n > 0) no inherit, s text collate "C" check (s < 'b'));
  create table rows_of (n integer, s text, check (rows_of.* is not null));
  create table "Odd ""n""" ("a ""b""" integer check ("a ""b""" > 0), "a" integer check ("a" > 0));
  create table computed (n integer check (n > 0), twice integer generated always as (n * 2) stored check (twice > 0));
  create table indexed (n integer check (n > 0), s text);
  create index on indexed (lower(s)) where n > 3;
  alter table bytes add constraint later check (n < 9) not valid`

test('the expressions of a database are printed as it prints them itself', async () => {
  const database = await openTestDatabase(TABLES)
  try {
    await inDiscardedTransaction(database, async (session) => {
      const catalog = await readCatalog(session)
      expect(await normaliseSql(session, catalog)).toEqual(catalog)
    })
  } finally {
    await database.close()
  }
})

test('an expression of another spelling is printed as on the columns of its own table', async () => {
  const database = await openTestDatabase(TABLES)
  try {
    await inDiscardedTransaction(database, async (session) => {
      const catalog = await readCatalog(session)
      const respelled = catalog.map((table) => ({
        ...table,
        constraints: table.constraints.map((check) => ({
          ...check,
          definition: check.definition.replace('((n > 0))', '(n>0)').replace(/\(\(n > \(0\).*?\)\)/, '(n>0)'),
        })),
      }))
      expect(respelled).not.toEqual(catalog)
      expect(await normaliseSql(session, respelled)).toEqual(catalog)
    })
  } finally {
    await database.close()
  }
})

const N = { name: 'n', type: 'integer' }

test.each([
  {
    shares: 'equal checks once',
    checks: [
      { columns: [N], definition: 'check (n > 0)' },
      { columns: [N], definition: 'check (n > 0)' },
      { columns: [N, { name: 'm', type: 'text' }], definition: 'check (n > 1)' },
    ],
    tables: [
      {
        columns: ['n', 'm'],
        checks: ['check (n > 0)', 'check (n > 1)'],
      },
    ],
  },
  {
    shares: 'no table for columns of one name and two types',
    checks: [
      { columns: [N], definition: 'check (n > 0)' },
      { columns: [{ name: 'n', type: 'bigint' }], definition: 'check (n > 0)' },
    ],
    tables: [
      { columns: ['n'], checks: ['check (n > 0)'] },
      { columns: ['n'], checks: ['check (n > 0)'] },
    ],
  },
  {
    shares: 'no table with more columns than allowed',
    checks: ['a', 'b', 'c'].map((name) => ({ columns: [{ name, type: 'text' }], definition: 'check (true)' })),
    tables: [
      { columns: ['a', 'b'], checks: ['check (true)', 'check (true)'] },
      { columns: ['c'], checks: ['check (true)'] },
    ],
  },
])('checks share tables: $shares', ({ checks, tables }) => {
  const packed = packChecks(checks, 2)
  expect(
    packed.tables.map(({ columns, checks: its }) => ({
      columns: columns.map(({ name }) => name),
      checks: its.map(({ definition }) => definition),
    })),
  ).toEqual(tables)
  const names = packed.tables.flatMap(({ checks: its }) => its.map(({ name }) => name))
  expect(new Set(names).size).toBe(names.length)
  expect(checks.map((check) => names.includes(packed.nameOf(check) ?? ''))).toEqual(checks.map(() => true))
})
