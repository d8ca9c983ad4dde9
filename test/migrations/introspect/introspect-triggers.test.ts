import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { unmanagedTableDifferences } from '../../../src/internal.js'
import { type Introspected, introspect } from '../../../src/migrations/introspect/introspect.js'
import { type Api, startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { createAllAgain, sendBackAll } from '../../support/round-trip.js'

const functionOf = (name: string, body: string) =>
  `create function ${name}() returns trigger language plpgsql as $$ begin ${body} return new; end $$;`

const SQL = `
  ${functionOf('touch', '-- the time; new.name := 1;\n new.changed_at = clock_timestamp();')}
  ${functionOf('set_slug', 'if new.slug is null then new.slug := lower(new.title); end if;')}
  ${functionOf('tidy', 'new.title := trim(new.title); new."Words" := length(new.title);')}
  ${functionOf('stamp', 'new.made_by := current_user;')}
  create table actors (id serial primary key, name text not null, changed_at timestamptz not null default now());
  create trigger touch before update on actors for each row execute function touch();
  create table films (id serial primary key, title text not null, slug text, "Words" integer, changed_at timestamptz not null);
  create trigger slug before insert or update on films for each row execute function set_slug();
  create trigger tidy before insert or update on films for each row execute function tidy();
  create trigger touched before update on films for each row execute function touch();
  create table notes (id serial primary key, note text, made_by text, changed_at timestamptz default now());
  create trigger stamp before insert on notes for each row execute function stamp();
  create trigger touched before update of note on notes for each row execute function touch();
  create trigger off before update on notes for each row execute function touch();
  alter table notes disable trigger off;
  alter table notes enable row level security;
  create table tagged (film integer not null references films, tag text not null, primary_tag boolean, weight integer not null);
  create unique index on tagged (film, tag);
  create unique index on tagged (film, tag, weight);
  create unique index on tagged (weight) where primary_tag;
  create table codes (code text not null unique, note text unique, number integer);
  create table uses (id serial primary key, code text references codes (code));
  create table loose (a text unique, b double precision not null unique);
  insert into actors (name, changed_at) values ('Ada', '2001-01-01Z'), ('Bo', '2002-02-02Z');
  insert into films (title, slug, changed_at) values ('M', 'm', '2001-01-01Z');
  insert into notes (note) values ('n');
  insert into tagged values (1, 'a/b', true, 1), (1, 'c', null, 2);
  insert into codes values ('x', null, 1);
  insert into uses (code) values ('x');
`

let folder: string
let database: TestDatabase
let found: Introspected
let api: Api
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'triggers-'))
  database = await openTestDatabase('')
  await runSql(database, SQL)
  found = await introspect(database, { file: 'resources.yaml', directory: folder })
  api = await startApi(found.text, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

const fieldsOf = (table: string) =>
  found.models
    .find((model) => model.table === table)
    ?.fields.map(({ name, words }) => [name, Object.fromEntries(words)])

test('a column that a trigger sets on each change is generated', () => {
  expect(fieldsOf('actors')).toContainEqual(['changed_at', { type: 'timestamp', generated: true }])
  expect(fieldsOf('films')).toContainEqual([
    'words',
    { type: 'integer', column: 'Words', nullable: true, generated: true },
  ])
})

test.each([
  ['films', 'slug', 'the trigger has a branch'],
  ['films', 'title', 'its new value depends on the one that is sent'],
  ['films', 'changed_at', 'it has no value in new rows'],
  ['notes', 'made_by', 'the trigger leaves changes alone'],
  ['notes', 'changed_at', 'the trigger runs for changes of another column only, and another one is off'],
])('%s.%s stays writable: %s', (table, name) => {
  expect(fieldsOf(table)).toContainEqual([name, expect.not.objectContaining({ generated: true })])
})

test('other triggers and row-level security are named', () => {
  expect(found.left).toEqual([
    'films: the trigger slug may change values that requests write; fields that it always sets can have `generated: true`',
    'films: the trigger tidy may change values that requests write; fields that it always sets can have `generated: true`',
    'films: the trigger touched may change values that requests write; fields that it always sets can have `generated: true`',
    'loose: records can only be listed: the table has no primary key; nothing can be added: no other fields can be the key',
    'notes: the trigger stamp may change values that requests write; fields that it always sets can have `generated: true`',
    'notes: the trigger touched may change values that requests write; fields that it always sets can have `generated: true`',
    'notes: row-level security may hide records and reject changes; nothing can be added: the policies of the database user apply',
  ])
})

test('a table without a primary key has the fewest unique columns as its key, if none of them is ever null', () => {
  expect(Object.fromEntries(found.models.map(({ table, key }) => [table, key]))).toMatchObject({
    tagged: ['film', 'tag'],
    codes: ['code'],
    loose: [],
  })
})

test('the database fits the file', async () => {
  expect(await unmanagedTableDifferences(specOf(found.text), database)).toEqual([])
})

test.each(['actors', 'tagged', 'codes', 'uses'])(
  'sending back %s changes nothing, and deleted records can be created again',
  async (name) => {
    // A generated value is another after each change.
    const shown = (record: Readonly<Record<string, unknown>>) => ({ ...record, changed_at: null })
    const before = (await (await api.fetch(`/api/${name}/`)).json()) as readonly Readonly<Record<string, unknown>>[]
    expect(before.length).toBeGreaterThan(0)
    if (name === 'actors') {
      const path = '/api/actors/1/'
      const record = (await (await api.fetch(path)).json()) as Readonly<Record<string, unknown>>
      const response = await api.send('PUT', path, record)
      expect([response.status, shown((await response.json()) as typeof record)]).toEqual([200, shown(record)])
      return
    }
    await sendBackAll(api, `/api/${name}/`)
    await createAllAgain(api, `/api/${name}/`)
    expect(await (await api.fetch(`/api/${name}/`)).json()).toHaveLength(before.length)
  },
)
