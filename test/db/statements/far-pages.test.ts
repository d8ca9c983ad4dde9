import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { enforcesKey } from '../../../src/db/statements/enforced-key.js'
import { type Api, startApi } from '../../support/api.js'
import { runSql } from '../../support/existing.js'
import { projectPerTest } from '../../support/project-per-test.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  note:
    managed: false
    table: Notes
    primary_key: [part, place]
    fields: { part: { type: text, max: 9 }, place: { type: integer }, text: { type: text, max: 9, nullable: true } }
resources:
  note:
    model: note
    path: /notes/
    read_only: true
    filterable: { text: [contains] }
    orderable: [text]
    nulls: { text: last }
    pagination: { page_size: 2000, max_page_size: 2000 }
`
const KEY = [{ column: 'part' }, { column: 'place' }]
const TABLE = 'create table "Notes" (part text, place integer, text text)'
const REQUIRED = 'alter table "Notes" alter part set not null, alter place set not null'
const ROWS = `insert into "Notes" select 'p' || 100 + i / 100, i, case when i % 3 = 0 then '' else 't' || i % 7 end from generate_series(1, 1300) i`
const REPEATED = `insert into "Notes" values ('p112', 1230, 'again')`
const NULL = `insert into "Notes" values ('p112', null, 'null'), (null, null, null)`

const TABLES = [
  {
    what: 'a primary key',
    sql: `${TABLE}; alter table "Notes" add constraint k primary key (part, place)`,
    isEnforced: true,
    wrong: `alter table "Notes" drop constraint k, alter part drop not null, alter place drop not null; ${REPEATED}; ${NULL}`,
  },
  {
    what: 'a unique constraint',
    sql: `${TABLE}; ${REQUIRED}; alter table "Notes" add constraint k unique (place, part) include (text)`,
    isEnforced: true,
    wrong: `alter table "Notes" alter place drop not null, alter part drop not null; ${NULL}`,
  },
  {
    what: 'a primary key with fewer columns, and partitions',
    sql: `create table "Notes" (part text not null, place integer, text text, constraint k primary key (place)) partition by range (place);
      create table low partition of "Notes" for values from (0) to (1000); create table high partition of "Notes" default`,
    isEnforced: true,
    wrong: `alter table "Notes" drop constraint k; ${REPEATED}`,
  },
  {
    what: 'a primary key with fewer columns, and another column that may be null',
    sql: `${TABLE}; alter table "Notes" add primary key (place)`,
    wrong: `insert into "Notes" values (null, 5000, 'null')`,
  },
  { what: 'no constraint', sql: TABLE, wrong: `${REPEATED}; ${NULL}` },
  {
    what: 'a unique constraint that permits null',
    sql: `${TABLE}; alter table "Notes" add unique (part, place)`,
    wrong: NULL,
  },
  {
    what: 'a unique constraint over more columns',
    sql: `${TABLE}; ${REQUIRED}; alter table "Notes" alter text set not null, add unique (part, place, text)`,
    wrong: REPEATED,
  },
  {
    what: 'a constraint NOT NULL that was not validated',
    sql: `${TABLE}; ${NULL}; alter table "Notes" add unique (part, place); do $$ begin
      if current_setting('server_version_num')::integer >= 180000 then
        execute 'alter table "Notes" add constraint n not null part not valid, add constraint m not null place not valid';
      end if;
    end $$`,
    wrong: '',
  },
  {
    what: 'a deferrable constraint',
    sql: `${TABLE}; alter table "Notes" add primary key (part, place) deferrable`,
    wrong: '',
  },
  {
    what: 'a partial index',
    sql: `${TABLE}; ${REQUIRED}; create unique index on "Notes" (part, place) where text <> 'again'`,
    wrong: REPEATED,
  },
  {
    what: 'an inheriting table',
    sql: `${TABLE}; alter table "Notes" add primary key (part, place); create table kid () inherits ("Notes")`,
    wrong: REPEATED.replace('"Notes"', 'kid'),
  },
  {
    what: 'a unique index without a constraint, and a NOT NULL of another column that was not validated',
    sql: `${TABLE}; ${REQUIRED}; create unique index k on "Notes" (place, part); do $$ begin
      if current_setting('server_version_num')::integer >= 180000 then
        execute 'alter table "Notes" add constraint n not null text not valid';
      end if;
    end $$`,
    isEnforced: true,
    wrong: `drop index k; ${REPEATED}`,
  },
  {
    what: 'a unique index with another collation',
    sql: `${TABLE}; ${REQUIRED}; create unique index on "Notes" (part collate "C", place)`,
    wrong: '',
  },
  {
    what: 'a unique index with other operators',
    sql: `${TABLE}; ${REQUIRED}; create unique index on "Notes" (part text_pattern_ops, place)`,
    wrong: '',
  },
  {
    what: 'a unique index over an expression',
    sql: `${TABLE}; ${REQUIRED}; create unique index on "Notes" (part, place, lower(text))`,
    wrong: REPEATED,
  },
  {
    what: 'a view',
    sql: `${TABLE.replace('"Notes"', 'stored')}; create view "Notes" as select * from stored`,
    wrong: `${REPEATED}; ${NULL}`,
  },
]

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { checkResponses: false })
})
afterAll(() => api.close())
beforeEach(async () => {
  await runSql(api.database, 'drop schema public cascade; create schema public')
})

interface Note {
  readonly part: string | null
  readonly place: number | null
}
const notes = async (query: string) => {
  const response = await api.fetch(`/notes/?${query}`)
  expect(response.status).toBe(200)
  return ((await response.json()) as readonly Note[]).map(({ part, place }) => `${part} ${place}`)
}

const SIZE = 205

/** Reads each page again, so that its statement is prepared. */
const expectPages = async () => {
  for (const query of ['', '&ordering=-text&text__contains=t']) {
    const whole = await notes(`page=1${query}`)
    for (let round = 0; round < 2; round++) {
      const pages = await Promise.all([6, 7].map((page) => notes(`page_size=${SIZE}&page=${page}${query}`)))
      expect(pages.flat()).toEqual(whole.slice(5 * SIZE))
    }
  }
}

/** Whether PostgreSQL guarantees that the key is unique and not null. */
const isEnforced = async () => {
  const { rows } = await api.database.query({
    text: `select (${enforcesKey({ table: 'Notes', key: KEY })})::text`,
    values: [],
  })
  return rows[0]?.[0] === 'true'
}

test.each(TABLES)('with $what, pages far from the first have the same records', async (table) => {
  await runSql(api.database, `${table.sql}; ${ROWS}; analyze`)
  expect(await isEnforced()).toBe(table.isEnforced ?? false)
  await expectPages()
  await runSql(api.database, table.wrong)
  expect(await isEnforced()).toBe(false)
  await expectPages()
})

describe('explain', () => {
  const project = projectPerTest()

  test.each([
    {
      what: 'a primary key',
      key: 'primary key (part, place)',
      read: /Index Only Scan using notes_key[^\n]* 1[0-9]{3} actual/,
    },
    { what: 'no constraint', key: 'check (true)', read: /^(?!.*Index Only Scan)/s },
  ])('shows that rows are skipped in an index alone only with a key: $what', async ({ key, read }) => {
    await project.write('resources.yaml', YAML)
    await project.sql(`${TABLE}; ${REQUIRED}; alter table "Notes" add constraint notes_key ${key}; ${ROWS};
      update "Notes" set text = repeat('x', 999); vacuum analyze "Notes"`)
    const { stdout } = await project.run('explain', 'note-list', 'page_size=2&page=600')
    expect(stdout).toMatch(read)
    expect(stdout).not.toContain('of pg_')
  })
})
