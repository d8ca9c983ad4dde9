import { beforeEach, describe, expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()

/** Tables whose parts are easily described wrongly. */
const TABLES: Readonly<Record<string, string>> = {
  'times with fewer digits': `create table visits (id serial primary key, at timestamp(3) not null default current_timestamp, seen timestamp(0)[],
    began timestamp(6), day_at time(6))`,
  'names that YAML reads as other values': `
    create table "null" ("true" integer primary key, "null" text not null, "NULL" text, no integer unique, "on" boolean);
    create table "false" (y integer, n integer references "null", yes integer, primary key (y, n), foreign key (n) references "null");
    create index on "false" (n)`,
  'a default that char(n) pads': `create table customers (code char(5) primary key default '  ', name char(35) not null default ' ', state char(1) default 'A')`,
  'types of any name': `
    create type "Größe-(cm), 'x'" as (width integer, height integer);
    create table sizes (id serial primary key, size "Größe-(cm), 'x'", took interval day to second, spent interval(3), sizes "Größe-(cm), 'x'"[])`,
  'an enum with an empty choice': `
    create type answer as enum ('yes', 'no', '');
    create table answers (id serial primary key, first answer not null default '', rest answer[], last answer)`,
  'a varchar that an index reads as a text': `
    create table people (id serial primary key, email varchar not null default '', gone boolean not null default false);
    create index people_by_email on people (lower(email));
    create unique index people_present on people (email) where email = 'x';
    create table members (id serial primary key, email varchar not null);
    create index members_email_lower_idx on members (lower(email))`,
  'a foreign key to a partitioned table': `
    create table measures (city integer, day date, peak integer, primary key (city, day)) partition by range (day);
    create table measures_2024 partition of measures for values from ('2024-01-01') to ('2025-01-01');
    create table measures_2025 partition of measures for values from ('2025-01-01') to ('2026-01-01');
    create table notes (id serial primary key, city integer, day date, foreign key (city, day) references measures);
    create index on notes (city, day)`,
  'a primary key that is checked at the end of the transaction': `
    create table chapters (place integer primary key deferrable initially deferred, title text not null);
    create table pages (id integer, title text not null, primary key (id) include (title))`,
  'a key that a function of this database fills': `
    create function new_key() returns uuid language sql as 'select gen_random_uuid()';
    create table events (id uuid primary key default new_key(), name text not null);
    create table parts (event uuid default new_key(), place integer, primary key (event, place))`,
  'defaults that break a check or their type': `
    create table orders (id serial primary key, quantity integer not null default 0 check (quantity > 0), state varchar(9) default 'new' check (state in ('open', 'paid')),
      code varchar(3) default 'unknown', weight numeric(4, 2) default 1000, note text default '' check (note <> ''), due date default '0044-03-15 BC', extra jsonb default 'null')`,
  'defaults of JSON': `
    create table settings (id serial primary key, none jsonb not null default '{}', few jsonb default '{"a": {"it''s, x: {": [1.5, null, {"y": ""}]}}',
      big jsonb default '{"n": 12345678901234567890}', call jsonb default '{"function": "now"}', key jsonb default '{"a": {"__proto__": 1, "<<": 2}}',
      deep jsonb default '[[[[[[[[[[[[1]]]]]]]]]]]]', digits jsonb default '[1.50]')`,
  'checks that contradict each other': `
    create table nothing (id serial primary key, low integer check (low between 10 and 1), tiny smallint check (tiny > 100000), long varchar(5) check (length(long) > 5),
      huge bigint check (huge > 100000000000000000000))`,
  'a table whose columns are all of domains': `
    create domain distance as bigint;
    create table routes (length distance not null, climb distance)`,
  'tables without a column that a field of a managed model can describe': `
    create table spots (place point not null default '(1,1)');
    create table ticks (number integer generated always as identity unique);
    create table tocks (tick integer references ticks (number), id serial primary key);
    create index on tocks (tick);
    create table units (length distance, number integer generated always as identity, two integer generated always as (1 + 1) stored);
    create type reply as enum ('a', '');
    create table replies (given reply)`,
  'domains of domains': `
    create type mood as enum ('sad', 'ok');
    create domain feeling as mood; create domain needed as feeling not null; create domain moods as mood[];
    create domain positive as integer check (value > 0); create domain small as positive check (value < 9);
    create table days (id serial primary key, felt feeling, must needed, many moods, rank small, last small not null)`,
  'a required column that only this database can have': `
    create domain isbn as text check (length(value) = 13);
    create table books (id serial primary key, title text not null, isbn isbn not null, code text generated always as ('ISBN ' || isbn) stored);
    create index on books (lower(isbn)) where title <> '';
    create index on books (title) where isbn <> '';
    create index on books (title)`,
  'indexes that have a whole order': `
    create table spares (id integer primary key, code varchar(20) not null unique, made date not null, note text not null unique, size integer not null, twin integer unique);
    create index on spares (made, id);
    create index on spares (size);
    create table places (hall integer, rack smallint, level time not null, spare integer references spares, primary key (hall, rack));
    create index on places (level, hall, rack);
    create index on places (spare, hall, rack)`,
}

describe(`introspect describes ${Object.keys(TABLES).join(', ')}`, () => {
  // All in one database: each command takes longer to start than to look at another table.
  beforeEach(() => project.sql(Object.values(TABLES).join(';\n')))

  test('in a file without mistakes and differences', async () => {
    expect(await project.run('introspect')).toMatchObject({ code: 0 })
    await expectNoFindings()
    const updated = await project.run('introspect', '--update')
    expect(updated).toMatchObject({ code: 0, stderr: expect.stringMatching(/^nothing to change/) })
  })

  test('with --manage, in a file and a migration that agree with the database', async () => {
    expect(await project.run('introspect', '--manage')).toMatchObject({ code: 0 })
    await expectNoFindings()
    const status = await project.run('migrate', 'status')
    expect(status).toMatchObject({ code: 0, stdout: expect.not.stringMatching(/drift|differs/) })
    expect(await project.run('doctor')).toMatchObject({
      stdout: expect.stringMatching(/^ok +schema +1 migration applied/m),
    })
  })
})

/** A text without a bound in an index is no mistake of the file. */
const FINDING = /warning\[SC(?!407)/

async function expectNoFindings(): Promise<void> {
  for (const command of [['check'], ['check', '--database'], ['migrate', 'plan', '--exit-code']])
    expect(await project.run(...command)).toMatchObject({ code: 0, stdout: expect.not.stringMatching(FINDING) })
}

test('a domain of domains has the field of its base type, and is required if one of them takes no null', async () => {
  await project.sql(TABLES['domains of domains'] ?? '')
  const { stdout } = await project.run('introspect', '--print')
  expect(stdout).toContain('felt: { type: choice, choices: [sad, ok], nullable: true }')
  expect(stdout).toContain('must: { type: choice, choices: [sad, ok] }')
  expect(stdout).toContain(
    'many: { type: array, items: { type: choice, choices: [sad, ok], nullable: true }, nullable: true }',
  )
  expect(stdout).toContain('rank: { type: integer, nullable: true }')
})

test('lists can be ordered by the fields for which an index has the whole order', async () => {
  await project.sql(TABLES['indexes that have a whole order'] ?? '')
  const { stdout } = await project.run('introspect', '--print')
  expect(stdout.match(/orderable: .*/g)).toEqual(['orderable: [level]', 'orderable: [code, made]'])
})

test('a schema that does not exist is an error that names the existing ones', async () => {
  await project.sql('create schema sales; create table sales.orders (id serial primary key)')
  expect(await project.run('introspect', '--schema', 'sales,sale')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/there is no schema sale\n.*There is: public, sales/s),
  })
})
