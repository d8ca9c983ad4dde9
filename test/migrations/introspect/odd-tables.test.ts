import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

interface Case {
  readonly sql: string
  /** Texts that `introspect` reports; by default none. */
  readonly left?: readonly string[]
  /** Texts of the file that it writes. */
  readonly file?: readonly string[]
}

const CASES: Readonly<Record<string, Case>> = {
  'a hash index over a column that is shown as text': {
    sql: `create table notes (id integer primary key, label name, body text);
      create index on notes using hash (label); create index on notes using hash (body)`,
    file: ['indexes:\n      - { fields: [body], using: hash }\n\n'],
  },
  'indexes with a column twice, and with more conditions than a model can declare': {
    sql: `create table visits (id integer primary key, day date, ${Array.from({ length: 11 }, (_, at) => `a${at} integer`).join(', ')});
      create index on visits (a0, a0);
      create index on visits (day) where ${Array.from({ length: 10 }, (_, at) => `a${at} = 1`).join(' and ')};
      create index on visits (id) where ${Array.from({ length: 11 }, (_, at) => `a${at} = 1`).join(' and ')}`,
    file: ['    indexes:\n      - { fields: [day], where: { a0: 1, a1: 1, ', 'a9: 1 } }\n      - [a0]\n\n'],
  },
  'a foreign table whose wrapper has no handler, and a view of it': {
    sql: `create foreign data wrapper nowhere; create server far foreign data wrapper nowhere;
      create foreign table tides (id integer, place text) server far; create view places as select place from tides`,
    file: ['tides:', 'places:'],
  },
  'a unique index on the columns of the primary key': {
    sql: `create table notes (book integer, page integer, primary key (book, page)); create unique index on notes (book, page)`,
  },
  'an index that is named like a foreign key': {
    sql: `create table books (id integer primary key);
      create table notes (id integer primary key, book integer references books);
      create index notes_book_fkey on notes (book)`,
    file: ['indexes:\n      - [book]\n'],
  },
  'a relation to a computed primary key': {
    sql: `create table shelves (place integer not null unique, label integer generated always as (place * 2) stored primary key);
      create table books (id integer primary key, shelf integer references shelves)`,
    left: [
      'books.shelf: no relation: the key label is computed; nothing can be added: the field shows the value, and the foreign key stays as it is',
    ],
    file: ['shelf: { type: integer, nullable: true }'],
  },
  'a computed primary key, and no other': {
    sql: `create table shelves (place integer not null, label integer generated always as (place * 2) stored primary key);
      create table books (id integer primary key, shelf integer references shelves)`,
    left: ['shelves: records can only be listed: the primary key cannot be used: label is computed; to find records'],
  },
  'a relation to a computed column': {
    sql: `create table shelves (id integer primary key, label integer generated always as (id * 2) stored unique);
      create table books (id integer primary key, shelf integer references shelves (label))`,
    file: ['{ type: belongs_to, model: shelves, references: label, '],
  },
  'a relation to a key of a type that no key can have': {
    sql: `create table tides (height float8 primary key); create table boats (id integer primary key, tide float8 references tides)`,
    left: [
      'boats.tide: no relation: no relation can refer to the type double precision; nothing can be added: the field shows the value, and the foreign key stays as it is',
    ],
  },
  'indexes that a model cannot declare, with a first column that serves filters': {
    sql: `create table songs (id integer primary key, title text, artist text, year integer, album text, length integer);
      create index on songs (title text_pattern_ops);
      create index on songs (artist) include (year);
      create index on songs (year desc);
      create index on songs (album, lower(title));
      create index on songs (length) where year > 0`,
    file: [
      '    indexes:\n      - [title]\n      - [artist]\n      - [year]\n      - [album]\n\n',
      'filterable: [title, artist, year, album]\n',
    ],
  },
  'unique constraints and keys that a model cannot declare, with a first column that serves filters': {
    sql: `create table lines (a integer not null, b integer not null, c integer generated always as (a + b) stored, d integer, primary key (a, c), unique (b) include (d))`,
    file: ['indexes:\n      - [a]\n      - [b]\n'],
  },
  'tables whose names contain dots, commas, quotes, and other characters that are quoted': {
    sql: `create table "x.y" (id serial primary key, label varchar(20));
      create table "a,b" (id integer generated always as identity primary key, "c.d" integer not null references "x.y" on delete cascade, note varchar(20));
      create table "s""t:*" (id bigserial primary key, parent bigint references "s""t:*", other integer references "x.y");
      create index on "a,b" (note); create index on "x.y" (label);
      comment on table "x.y" is 'dotted'; comment on column "a,b".note is 'a note'`,
    file: ['table: "\\"x.y\\""', 'type: belongs_to, model: x_y'],
  },
  'a view with columns that have the names of system columns': {
    sql: `create table spots (id integer primary key); create view places as select ctid, tableoid, id as xmin from spots`,
    file: ['      ctid:     { type: opaque, column_type: tid, nullable: true }\n'],
  },
  'an enum without values': {
    sql: `create type nothing as enum (); create table notes (id integer primary key, none nothing, all_of nothing[])`,
  },
}

test.each(Object.entries(CASES))('%s', async (_name, { sql, left = [], file = [] }) => {
  await given(sql)
  const { stdout: text } = await run('introspect', '--print')
  for (const part of file) expect(text).toContain(part)
  const report = await run('introspect')
  expect(report.code).toBe(0)
  for (const line of left) expect(report.stderr).toContain(`left  ${line}`)
  expect(await run('check')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') })
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') })
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('nothing to change'),
  })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test.each(Object.entries(CASES))('%s, for migrations of the project', async (_name, { sql }) => {
  await given(sql)
  const report = await run('introspect', '--manage')
  expect(report).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
  expect(await run('check')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test('the migration makes tables with the same storage, and leaves out other settings, which the report lists', async () => {
  await given(`create unlogged table visits (id integer constraint visits_pkey primary key, a integer, b text) with (fillfactor = 70, toast.autovacuum_enabled = off);
    create statistics visits_ab on a, b from visits;
    alter table visits alter a set statistics 500, alter b set storage external, alter b set compression pglz, alter b set (n_distinct = 5);
    alter table visits cluster on visits_pkey, replica identity full, enable row level security, force row level security;
    grant select on visits to public; grant update (b) on visits to public;
    comment on constraint visits_pkey on visits is 'the key'; comment on index visits_pkey is 'its index';
    create function touch() returns trigger language plpgsql as 'begin return new; end';
    create trigger touch before update on visits for each row execute function touch(); alter table visits disable trigger touch;
    alter default privileges grant select on tables to public`)
  const { code, stderr } = await run('introspect', '--manage')
  expect(code).toBe(0)
  for (const part of [
    'statistics visits_ab',
    'statistics target of column a',
    'storage of column b',
    'compression of column b',
    'settings of column b',
    'clustering by visits_pkey',
    'replica identity',
    'row-level security',
    'forced row-level security',
    'grant to public',
    'comment on constraint visits_pkey',
    'comment on index visits_pkey',
    'trigger touch (disabled)',
  ])
    expect(stderr).toContain(`left  ${part} of visits is not recorded; create it in other databases yourself\n`)
  expect(stderr).toMatch(/left {2}default grant of \w+ is ignored; create it in other databases yourself\n/)
  const text = await readFile(join(project.folder, 'migrations', '0001_introspected.sql'), 'utf8')
  expect(text).toContain('create unlogged table "visits" (')
  expect(text).toContain(") with (fillfactor = '70', toast.autovacuum_enabled = 'off');")
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test('indexes that could not be built make no field unique and no list fast', async () => {
  await given(`create table notes (id integer primary key, code integer, day date, tags text[]);
    create unique index notes_code on notes (code); create index notes_day on notes (day); create index notes_tags on notes using gin (tags);
    update pg_index set indisvalid = false where indrelid = 'notes'::regclass and not indisprimary`)
  const { stdout, stderr } = await run('introspect', '--manage', '--print')
  expect(stdout).not.toMatch(/unique|indexes/)
  for (const name of ['notes_code', 'notes_day'])
    expect(stderr).toContain(`left  notes.${name}: is not valid, so PostgreSQL does not read it: CREATE `)
  expect((await run('introspect', '--print')).stdout).not.toMatch(/unique|indexes|filterable/)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') })
})

test('a materialized view without data is reported', async () => {
  await given('create materialized view totals as select 1 as total with no data')
  const left = 'left  totals: requests are 503 until it has data: refresh materialized view "totals"\n'
  expect(await run('introspect')).toMatchObject({ code: 0, stderr: expect.stringContaining(left) })
  const difference = 'the materialized view `totals` has no data yet, and requests for it are 503\n'
  expect(await run('check', '--database')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`warning[SC409]: ${difference}`),
  })
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`left  ${difference}`),
  })
})

test('a view of a materialized view without data is reported, and the commands go on', async () => {
  await given(
    'create materialized view totals as select 1 as id with no data; create view sums as select id from totals',
  )
  await project.write(
    'resources.yaml',
    'version: 1\nmodels:\n  sums: { managed: false, primary_key: [id], fields: { id: { type: integer, key: client } } }\n',
  )
  const difference =
    'it is not known whether the primary key `id` identifies records: reading `sums` failed: materialized view "totals" has not been populated\n'
  expect(await run('check', '--database')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`warning[SC410]: ${difference}`),
  })
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`left  ${difference}`),
  })
})

test('the migration makes each of several constraints over the same columns', async () => {
  await given(`create table notes (id integer primary key, code integer, day date);
    alter table notes add constraint same_id unique (id), add unique (code) with (fillfactor = 70), add constraint same_code unique (code), add unique (code, day);
    alter table notes add constraint late unique (code) deferrable`)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
  expect(await run('migrate', 'status')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('drift') })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test('a relation to a key of an enum has the enum until a plan changes the key', async () => {
  await given(`create type mood as enum ('sad', 'ok'); create table moods (id mood primary key);
    create table days (id serial primary key, mood mood references moods, last_mood mood)`)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  const file = join(project.folder, 'resources.yaml')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replaceAll('choices: [sad, ok]', 'choices: [sad, ok, happy]'))
  expect((await run('migrate', 'plan')).stdout).toContain('~ change  mood  enum, new choices: happy')
  await writeFile(file, text.replaceAll('choices: [sad, ok]', 'choices: [ok]'))
  expect((await run('migrate', 'plan')).stdout).toMatch(/~ change {2}days\.mood +mood -> text/)
})

test('checks of lengths are settings up to the longest that a field can have', async () => {
  await given(`create table notes (id integer primary key, title text check (char_length(title) <= 10485760),
    body text check (char_length(body) < 10485762), parts integer[] check (cardinality(parts) <= 1000000),
    more integer[] check (cardinality(more) <= 1000001))`)
  const { stdout, code } = await run('introspect', '--print')
  expect(code).toBe(0)
  for (const line of [
    'title: { type: text, max: 10485760, nullable: true }',
    'body:  { type: text, nullable: true }',
    'parts: { type: array, items: { type: integer, nullable: true }, max: 1000000, nullable: true }',
    'more:  { type: array, items: { type: integer, nullable: true }, nullable: true }',
  ])
    expect(stdout).toContain(line)
  const { stderr } = await run('introspect', '--manage')
  for (const name of ['notes_body_check', 'notes_more_check'])
    expect(stderr).toContain(`the check ${name} stays as it is`)
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test('the report says which values requests must send although the column has a default', async () => {
  await given(`create table visits (id integer primary key, day date not null default current_date,
    remark text default current_user, mood text not null default 'ok')`)
  const { stderr } = await run('introspect', '--manage')
  expect(stderr.match(/visits\.\w+: its default.*/g)).toEqual([
    'visits.day: its default stays as it is: CURRENT_DATE; nothing can be added, and no plan changes it; until the field declares a default, requests must send a value',
    'visits.remark: its default stays as it is: CURRENT_USER; nothing can be added, and no plan changes it',
  ])
})

test('new relations to a key of an enum have the enum', async () => {
  await given(`create type "a mood" as enum ('sad', 'ok'); create table moods (id "a mood" primary key);
    create table days (id serial primary key, mood "a mood" references moods)`)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
  const file = join(project.folder, 'resources.yaml')
  const text = await readFile(file, 'utf8')
  const other = 'other: { type: belongs_to, model: moods, default: sad }'
  const more = `  nights:
    fields: { mood: { type: belongs_to, model: moods, primary_key: true } }
  dreams:
    fields: { id: { type: bigint, primary_key: true }, night: { type: belongs_to, model: nights } }
`
  await writeFile(file, text.replace(/^ +mood: *\{.*\n/m, `$&      ${other}\n`).replace(/^models:\n/m, `$&${more}`))
  expect(await run('migrate', 'plan', '--write', 'more')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\+ add {2}days\.other_id +"a mood" not null default 'sad'/),
  })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test('the migration makes the same sequences', async () => {
  await given(`create sequence countdown increment -1 minvalue -9 maxvalue 5 start 3;
    create sequence below increment -1;
    create sequence within maxvalue 2147483647;
    create sequence tiny as smallint;
    create table notes (
      id integer generated always as identity (increment -1 maxvalue 32767) primary key,
      a bigint default nextval('countdown'), b bigint default nextval('below'), c bigint default nextval('within'), d bigint default nextval('tiny')
    )`)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
  const text = await readFile(join(project.folder, 'migrations', '0001_introspected.sql'), 'utf8')
  for (const part of [
    'create sequence "countdown" start 3 increment -1 minvalue -9 maxvalue 5;',
    'create sequence "below" start -1 increment -1 minvalue -9223372036854775808 maxvalue -1;',
    'create sequence "within" maxvalue 2147483647;',
    'create sequence "tiny" as smallint;',
    'generated always as identity (start 32767 increment -1 minvalue -2147483648 maxvalue 32767)',
  ])
    expect(text).toContain(part)
})

test('a unique index that has the fields of the key is part of no plan', async () => {
  await project.write(
    'resources.yaml',
    `version: 1
models:
  note:
    table: notes
    primary_key: [book, page]
    fields: { book: { type: integer }, page: { type: integer } }
    indexes:
      - { fields: [book, page], unique: true }
resources:
  note: { model: note, path: /notes/ }
`,
  )
  expect(await run('migrate', 'plan', '--write', 'notes')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') })
})

test('a foreign key needs no index of its own if a key that no model can have begins with it', async () => {
  await given(`create table servers (id integer primary key);
    create type pair as (a integer, b integer);
    create table databases (server_id integer not null references servers, number oid not null, primary key (server_id, number));
    create table places (server_id integer not null references servers, at pair, unique (server_id, at));
    create table spots (server_id integer not null references servers, at pair); create index on spots (server_id, at)`)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})
