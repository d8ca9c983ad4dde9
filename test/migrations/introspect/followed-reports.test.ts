import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

interface Case {
  readonly sql: string
  readonly options?: readonly string[]
  /** What `introspect` reports. */
  readonly report: string
  /** The options of each `introspect` that it asks for. */
  readonly again?: readonly (readonly string[])[]
  /** The edits that follow it; equal texts are there already. */
  readonly edits: readonly (readonly [from: string, to: string])[]
  /** Statements that it asks for. */
  readonly then?: string
  /** A migration that it asks for. */
  readonly migration?: string
}

const MANAGE = ['--manage']

const CASES: Readonly<Record<string, Case>> = {
  'a table without a key': {
    sql: `create table readings (station bigint not null, day date not null, value float8 not null)`,
    report:
      'readings: records can only be listed: the table has no primary key; to find records by fields that identify them, for example, write `primary_key: [station, day]` and remove `operations: [list]`',
    edits: [
      ['primary_key: none', 'primary_key: [station, day]'],
      ['    operations: [list]\n', ''],
    ],
  },
  'a view': {
    sql: `create table books (id integer primary key, title text); create view titles as select upper(title) as title, id from books`,
    report:
      'titles: records can only be listed: the view has no primary key; to find records by fields that identify them, for example, write `primary_key: [id]`, remove `nullable: true` from these fields and write `read_only: true` instead of `operations: [list]`',
    edits: [
      ['primary_key: none', 'primary_key: [id]'],
      ['id:    { type: integer, nullable: true }', 'id:    { type: integer }'],
      ['    operations: [list]', '    read_only: true'],
    ],
  },
  'a materialized view with a unique index': {
    sql: `create table sales (id integer primary key, shop integer, day date, price integer);
      create materialized view days as select shop, day, sum(price) as price from sales group by 1, 2; create unique index on days (shop, day)`,
    report:
      'days: records can only be listed: the view has no primary key; to find records by fields that identify them, for example, write `primary_key: [shop, day]`, remove `nullable: true` from these fields and write `read_only: true` instead of `operations: [list]`',
    edits: [
      ['primary_key: none', 'primary_key: [shop, day]'],
      ['shop:  { type: integer, nullable: true }', 'shop:  { type: integer }'],
      ['day:   { type: date, nullable: true }', 'day:   { type: date }'],
      ['    operations: [list]', '    read_only: true'],
    ],
  },
  'a table without a key that migrations make': {
    sql: `create table readings (station bigint not null, day date not null, value float8 not null)`,
    options: MANAGE,
    report:
      'readings: records can only be listed: the table has no primary key; to find records by fields that identify them, for example, run `alter table "readings" add primary key ("station", "day")` in a migration of your own, write `primary_key: [station, day]` and remove `operations: [list]`',
    edits: [
      ['primary_key: none', 'primary_key: [station, day]'],
      ['    operations: [list]\n', ''],
    ],
    migration: 'alter table "readings" add primary key ("station", "day");',
  },
  'a column that no request can set': {
    sql: `create table stones (id integer primary key, shape point not null)`,
    report:
      'stones: no request can create records: shape is not null and has no default, and no request can set values of type point; once the column has a default: `generated: true` in its field, and no `operations` in the resource',
    edits: [
      ['column_type: point }', 'column_type: point, generated: true }'],
      ['    operations: [list, retrieve, update, partial_update, destroy]\n', ''],
    ],
    then: `alter table stones alter column shape set default '(0,0)'`,
  },
  'an enum with an empty value': {
    sql: `create type mood as enum ('', 'ok'); create table people (id integer primary key, mood mood, moods mood[])`,
    report:
      "people.mood: requests cannot set it: its enum has an empty value, and no choice is empty; after `alter type mood rename value '' to 'none'` the field can have `type: choice, choices: [none, ok]`",
    then: `alter type mood rename value '' to 'none'`,
    edits: [['mood:  { type: opaque, column_type: mood, ', 'mood:  { type: choice, choices: [none, ok], ']],
  },
  'a trigger': {
    sql: `create table films (id integer primary key, seen integer);
      create function touch() returns trigger language plpgsql as $$ begin if new.id > 0 then new.seen := 1; end if; return new; end $$;
      create trigger touched before update on films for each row execute function touch();`,
    report:
      'films: the trigger touched may change values that requests write; fields that it always sets can have `generated: true`',
    edits: [['{ type: integer, nullable: true }', '{ type: integer, nullable: true, generated: true }']],
  },
  'a table from which others inherit': {
    sql: `create table people (id integer primary key, name text); create table pupils (class text) inherits (people)`,
    report:
      'people: not among the operations: update, partial_update, destroy: tables inherit from it, and their rows can have the same keys: a request could change several records; if all keys differ, remove `operations: [list, create, retrieve]`',
    edits: [['    operations: [list, create, retrieve]\n', '']],
  },
  'a name that is taken': {
    sql: `create table people (id integer primary key, display_name text, "displayName" text)`,
    report:
      'people.displayName: its field is display_name_2, because display_name is taken; it can have any other name with `column: displayName`',
    edits: [['display_name_2:', 'shown_name:    ']],
  },
  'a field that is named like a parameter': {
    sql: `create table notes (id integer primary key, page integer); create index on notes (page)`,
    report:
      'notes.page: no filter: lists use the parameter page; to have one, rename the field: `page_value: { …, column: page }` and `filterable: [page_value]`',
    edits: [
      ['page: { type: integer, ', 'page_value: { type: integer, column: page, '],
      ['- [page]', '- [page_value]'],
      ['path: /notes/', 'path: /notes/\n    filterable: [page_value]'],
    ],
  },
  'a foreign key with an action that the file cannot express': {
    sql: `create table shops (id integer primary key);
      create table sales (id integer primary key, shop integer default 1 references shops on delete set default)`,
    report:
      'sales.shop: no relation: the file cannot express FOREIGN KEY (shop) REFERENCES shops(id) ON DELETE SET DEFAULT; the field can still have `type: belongs_to, model: shops, column: shop`',
    edits: [['shop: { type: integer, ', 'shop: { type: belongs_to, model: shops, column: shop, ']],
  },
  'a foreign key of several columns with such an action': {
    sql: `create table lines (a integer, b integer, primary key (a, b));
      create table notes (id integer primary key, a integer, b integer, foreign key (a, b) references lines on delete set default)`,
    report:
      'notes.notes_a_b_fkey: no relation: the file cannot express FOREIGN KEY (a, b) REFERENCES lines(a, b) ON DELETE SET DEFAULT; the model can still have `relations: { lines: { model: lines, fields: [a, b] } }`',
    edits: [
      ['  notes:\n    fields:', '  notes:\n    relations: { lines: { model: lines, fields: [a, b] } }\n    fields:'],
    ],
  },
  'a table of which nothing is known yet': {
    sql: `create table shops (id integer primary key, a integer, b integer, unique (a, b));
      create table sales (id integer primary key, shop integer references shops, a integer, b integer, foreign key (a, b) references shops (a, b))`,
    options: ['--tables', 'sales'],
    report:
      'sales.shop: no relation: the table shops has no model; once it has one: snippetctl introspect --update\nleft  sales.sales_a_b_fkey: no relation: the table shops has no model, or one that was there before; once it has one: snippetctl introspect --update',
    again: [[], ['--update']],
    edits: [
      [
        'shop: { type: belongs_to, nullable: true, model: shops, column: shop }',
        'shop: { type: belongs_to, nullable: true, model: shops, column: shop }',
      ],
      [
        'shops: { model: shops, fields: [a, b], references: [a, b] }',
        'shops: { model: shops, fields: [a, b], references: [a, b] }',
      ],
    ],
  },
  'a table of which nothing is known yet, that migrations make': {
    sql: `create table shops (id integer primary key, code integer not null unique);
      create table sales (id integer primary key, shop integer references shops)`,
    options: [...MANAGE, '--tables', 'sales'],
    again: [[]],
    report:
      'sales.shop: no relation: the table shops has no model; once it has one: `type: belongs_to, model: shops, column: shop` in this field',
    edits: [['shop: { type: integer, ', 'shop: { type: belongs_to, model: shops, column: shop, ']],
  },
  'a check': {
    sql: `create table prices (id integer primary key, price integer constraint odd check (price % 2 = 1))`,
    options: MANAGE,
    report:
      'prices.price: the check odd stays as it is: CHECK (((price % 2) = 1)); no plan changes it, and its errors can have a message: `messages: { odd: "…" }`',
    edits: [['  prices:\n    fields:', '  prices:\n    messages: { odd: "…" }\n    fields:']],
  },
  'an exclusion': {
    sql: `create table rooms (id integer primary key, place box, constraint apart exclude using gist (place with &&))`,
    options: MANAGE,
    report:
      'rooms.apart: stays as it is: EXCLUDE USING gist (place WITH &&); no plan changes it, and its errors can have a message: `messages: { apart: "…" }`',
    edits: [['  rooms:\n    fields:', '  rooms:\n    messages: { apart: "…" }\n    fields:']],
  },
}

async function expectAccepted(): Promise<void> {
  expect(await run('check')).toMatchObject({ code: 0, stderr: '' })
  expect(await run('check', '--database')).toMatchObject({ code: 0, stderr: '' })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
}

test.each(Object.entries(CASES))('%s has a report that can be followed', async (_name, each) => {
  await given(each.sql)
  const { code, stderr } = await run('introspect', ...(each.options ?? []))
  expect(stderr).toContain(`left  ${each.report}\n`)
  expect(code).toBe(0)
  if (each.then !== undefined) await given(each.then)
  for (const options of each.again ?? []) expect(await run('introspect', ...options)).toMatchObject({ code: 0 })
  let text = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  for (const [from, to] of each.edits) {
    expect(text).toContain(from)
    text = text.replace(from, to)
  }
  await project.write('resources.yaml', text)
  if (each.migration !== undefined) {
    await project.write('migrations/0002_key.sql', `-- up\n\n${each.migration}\n`)
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  }
  await expectAccepted()
})

test('a view beside tables of migrations has the model that `introspect` prints elsewhere, with `managed: false`', async () => {
  await given(`create table books (id integer primary key); create view titles as select id from books`)
  const { stdout } = await run('introspect', '--print', '--no-resources', '--tables', 'titles')
  const { stderr } = await run('introspect', '--manage')
  expect(stderr).toContain(
    'left  titles has no model: it is a view, which migrations do not create; a model with `managed: false` can show it: `snippetctl introspect --print --tables titles` in an empty folder prints one\n',
  )
  const text = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  const model = stdout.slice(stdout.indexOf('  titles:')).replace('titles:', 'titles:\n    managed: false')
  await project.write('resources.yaml', text.replace('models:\n', `models:\n${model}`))
  await expectAccepted()
})
