import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openShelves, type Shelves } from '../support/shelves.js'

const YAML = `version: 1
models:
  sale:
    managed: false
    primary_key: [id, region]
    fields: { id: { type: integer, key: client }, region: { type: string, max: 9 }, note: { type: string, max: 9 } }
  visit:
    managed: false
    fields:
      id: { type: integer, primary_key: true, key: client }
      sale: { type: integer }
      region: { type: string, max: 9 }
    relations:
      sold: { model: sale, fields: [sale, region] }
  excluded:
    managed: false
    fields: { id: { type: integer, primary_key: true, key: client }, note: { type: string, max: 9 } }
  parcel:
    managed: false
    fields:
      id: { type: integer, primary_key: true, key: client }
      width: { type: integer, nullable: true }
      area: { type: integer, nullable: true, generated: true }
  guest_count:
    managed: false
    primary_key: [room]
    fields: { room: { type: integer, key: client }, n: { type: integer } }
  guest_note:
    managed: false
    primary_key: [room]
    fields: { room: { type: integer, key: client }, n: { type: integer } }
  guest:
    managed: false
    fields: { id: { type: integer, primary_key: true, key: client }, name: { type: string, max: 9 } }
  member:
    managed: false
    fields: { email: { type: string, max: 9, primary_key: true, key: client }, name: { type: string, max: 9 } }
resources:
  sale: { model: sale, path: /sales/ }
  visit: { model: visit, path: /visits/ }
`

/** Tables that migrations of resources.yaml do not make. */
const BY_HAND = `-- up
create table sale (id int, region varchar(9), note varchar(9) not null, primary key (id, region)) partition by list (region);
create table sale_north partition of sale for values in ('north');
create table sale_south partition of sale for values in ('south');
create table visit (id int primary key, sale int not null, region varchar(9) not null,
  foreign key (sale, region) references sale (id, region));
create table parcel (id int primary key, width int, area int generated always as (width * 2) stored);
create table guest (id int primary key, name varchar(9) not null);
create function skip() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger skip before insert on guest for each row when (new.name = 'nobody') execute function skip();
create table member (email varchar(9) primary key, name varchar(9) not null);
create function lower_email() returns trigger language plpgsql as $$ begin new.email := lower(new.email); return new; end $$;
create trigger lower_email before insert on member for each row execute function lower_email();
create view guest_count as select room, count(*)::int as n from generate_series(1, 150) room group by rollup (room);
create table guest_note as select * from guest_count;
create table excluded (id int primary key, note varchar(9) not null);
`

let shelves: Shelves
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
  await shelves.project.write('migrations/0002_by_hand.sql', BY_HAND)
  expect(await shelves.run('migrate', 'up')).toMatchObject({ code: 0 })
})
afterAll(() => shelves.remove())

const seed = async (text: string, file = 'data.yaml'): Promise<string> => {
  await shelves.project.write(file, text)
  const { stdout, stderr } = await shelves.run('seed', file)
  return stdout + stderr
}

test.each([
  ['a partitioned table', 'sale', 'region: north, '],
  ['a table with the name of the proposed row', 'excluded', ''],
])('records of %s are created, updated or left alone', async (_, table, more) => {
  const records = (note: string) => `${table}:\n  - { id: 1, ${more}note: a }\n  - { id: 2, ${more}note: ${note} }\n`
  expect(await seed(records('a'))).toContain('created 2, updated 0, unchanged 0')
  expect(await seed(records('a'))).toContain('created 0, updated 0, unchanged 2')
  expect(await seed(records('b'))).toContain('created 0, updated 1, unchanged 1')
})

test('a record that refers to a missing one of a partitioned table is reported with its line', async () => {
  expect(await seed('visit:\n  - { id: 1, sale: 7, region: north }\n')).toContain('data.yaml:2: ')
  expect(
    await seed('visit:\n  - { id: 1, sale: 8, region: south }\nsale:\n  - { id: 8, region: south, note: c }\n'),
  ).toContain('created 2, updated 0, unchanged 0')
})

test('a dump of a table with a generated column is what seed reads', async () => {
  await seed('parcel:\n  - { id: 1, width: 2 }\n  - { id: 2 }\n')
  for (const format of ['ndjson', 'csv']) {
    const { stdout } = await shelves.run('dump', 'parcel', '--format', format)
    expect(await seed(stdout, `parcel.${format}`)).toContain('created 0, updated 0, unchanged 2')
  }
  expect(await seed('parcel:\n  - { id: 1, width: 3, area: 4 }\n')).toContain('created 0, updated 1, unchanged 0')
  expect((await shelves.run('dump', 'parcel')).stdout).toContain('{"id":1,"width":3,"area":6}')
})

test('a record that a trigger skips is an error with its line, and nothing is written', async () => {
  const guests = (name: string) => `guest:\n  - { id: 1, name: ada }\n  - { id: 2, name: ${name} }\n`
  const skipped = 'data.yaml:3: the database did not store this record: a trigger or a rule has skipped it'
  expect(await seed(guests('nobody'))).toContain(skipped)
  expect(await seed(guests('bob'))).toContain('created 2, updated 0, unchanged 0')
  expect(await seed(guests('eve'))).toContain('created 0, updated 1, unchanged 1')
})

test('a record whose key a trigger changes is left alone or updated by a second run', async () => {
  const members = (name: string) =>
    `member:\n  - { email: Ada@x.org, name: ada }\n  - { email: bob@x.org, name: ${name} }\n`
  expect(await seed(members('bob'))).toContain('created 2, updated 0, unchanged 0')
  expect(await seed(members('bob'))).toContain('created 0, updated 0, unchanged 2')
  expect(await seed(members('eve'))).toContain('created 0, updated 1, unchanged 1')
})

test.each([
  ['a view', 'guest_count'],
  ['a table without a constraint for its key', 'guest_note'],
])('a dump of %s has its records with null keys, and those with the same key', async (_what, name) => {
  const { stdout } = await shelves.run('dump', name)
  expect(stdout.split('\n').slice(-3)).toEqual(['{"room":150,"n":1}', '{"room":null,"n":150}', ''])
  expect(stdout.split('\n')).toHaveLength(152)
})

test('records cannot be seeded into a view', async () => {
  expect(await seed('guest_count:\n  - { room: 1, n: 1 }\n')).toContain(
    'data.yaml:2: guest_count is a view; records are seeded into tables',
  )
})
