import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { runInHost } from '../support/cli.js'
import { testDatabaseKind } from '../support/database.js'
import { CREATE_ROLE, DROP_ROLE, ROLE } from '../support/roles.js'
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
  ward:
    managed: false
    fields: { email: { type: string, max: 9, primary_key: true, key: client }, name: { type: string, max: 9 } }
  numbered:
    managed: false
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 9 } }
  locked:
    managed: false
    fields: { id: { type: integer, primary_key: true, key: client }, name: { type: string, max: 9 } }
  ticket:
    managed: false
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 9, unique: true } }
  receipt:
    managed: false
    fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 9, unique: true } }
  narrow:
    managed: false
    fields:
      id: { type: integer, primary_key: true, key: client }
      size: { type: integer, nullable: true }
      code: { type: string, max: 9, nullable: true }
      sign: { type: string, max: 9, nullable: true }
      rank: { type: integer, nullable: true }
      n: { type: integer, nullable: true }
  member:
    managed: false
    fields: { email: { type: string, max: 9, primary_key: true, key: client }, name: { type: string, max: 9 } }
  stamped:
    managed: false
    fields:
      id: { type: uuid, primary_key: true, key: uuid }
      name: { type: string, max: 9, unique: true }
      state: { type: text, default: new }
      made_at: { type: timestamp, auto: on_create }
      changed_at: { type: timestamp, auto: on_update }
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
create table ward (email varchar(9) primary key, name varchar(9) not null);
create function admit() returns trigger language plpgsql as $$
  begin new.email := lower(new.email); if new.name = 'nobody' then return null; end if; return new; end $$;
create trigger admit before insert on ward for each row execute function admit();
create table numbered (id bigint generated always as identity primary key, name varchar(9) not null);
create trigger skip before insert on numbered for each row when (new.name = 'nobody') execute function skip();
create domain sign as varchar(2);
create domain best as integer check (value < 4);
create table narrow (id int primary key, size smallint, code varchar(5), sign sign, rank best, n int check (n > 2));
create table locked (id int primary key, name varchar(9) not null);
create function lock_row() returns trigger language plpgsql as $$
  begin if old.name = 'fixed' then return null; end if; return new; end $$;
create trigger lock_row before update on locked for each row execute function lock_row();
create table ticket (id bigint generated by default as identity (maxvalue 100) primary key, name varchar(9) not null unique);
create table receipt (id bigint generated by default as identity primary key, name varchar(9) not null unique);
insert into receipt values (50, 'paper');
create view guest_count as select room, count(*)::int as n from generate_series(1, 150) room group by rollup (room);
create table guest_note as select * from guest_count;
create table excluded (id int primary key, note varchar(9) not null);
create table stamped (id uuid primary key, name varchar(9) not null unique, state varchar(9) not null, made_at timestamptz not null,
  changed_at timestamptz not null);
`

const SKIPPED = 'the database did not store this record: a trigger or a rule has skipped it, or a policy hides it'

// The embedded database has no other role.
const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

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
  // A server is named first.
  return (stdout + stderr).replace(/^loading into .*\n/, '')
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

test('new records have the declared values although the columns have no defaults', async () => {
  const records = (state: string) => `stamped:\n  key: name\n  records:\n    - { name: a }\n    - { name: b${state} }\n`
  expect(await seed(records(', state: old'))).toContain('created 2, updated 0, unchanged 0')
  const before = (await shelves.run('dump', 'stamped')).stdout
  expect(before).toMatch(/"name":"a","state":"new","made_at":"[^"]+Z","changed_at":"[^"]+Z"/)
  expect(await seed(records(''))).toContain('created 0, updated 0, unchanged 2')
  expect((await shelves.run('dump', 'stamped')).stdout).toBe(before)
  expect(await seed(records(', state: sold'))).toContain('created 0, updated 1, unchanged 1')
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

test('a record that a trigger skips is an error also if its key is always generated', async () => {
  const rows = (name: string) => `numbered:\n  - { id: 1, name: ada }\n  - { id: 2, name: ${name} }\n`
  expect(await seed(rows('nobody'))).toBe(
    `error: data.yaml:3: ${SKIPPED}\nnothing was written: data.yaml has 1 error\n`,
  )
  expect(await seed(rows('bob'))).toContain('created 2, updated 0, unchanged 0')
  expect(await seed(rows('nobody'))).toContain(`error: data.yaml:3: ${SKIPPED}`)
})

test('a record whose key a trigger changes is left alone or updated by a second run', async () => {
  const members = (name: string) =>
    `member:\n  - { email: Ada@x.org, name: ada }\n  - { email: bob@x.org, name: ${name} }\n`
  expect(await seed(members('bob'))).toContain('created 2, updated 0, unchanged 0')
  expect(await seed(members('bob'))).toContain('created 0, updated 0, unchanged 2')
  expect(await seed(members('eve'))).toContain('created 0, updated 1, unchanged 1')
})

test('a record whose key a trigger changes is an error only if the trigger skips it', async () => {
  const wards = (name: string) =>
    `ward:\n  - { email: Ada@x.org, name: ada }\n  - { email: Bob@x.org, name: ${name} }\n`
  expect(await seed(wards('nobody'))).toBe(
    `error: data.yaml:3: ${SKIPPED}\nnothing was written: data.yaml has 1 error\n`,
  )
  expect(await seed(wards('bob'))).toContain('created 2, updated 0, unchanged 0')
  expect(await seed(wards('bob'))).toContain('created 0, updated 0, unchanged 2')
  expect(await seed(wards('nobody'))).toContain(`error: data.yaml:3: ${SKIPPED}`)
})

test('a change that a trigger skips is an error with its line', async () => {
  const rows = (name: string) =>
    `locked:\n  - { id: 1, name: fixed }\n  - { id: 2, name: ${name} }\n  - { id: 3, name: c }\n`
  expect(await seed(rows('fixed'))).toContain('created 3, updated 0, unchanged 0')
  expect(await seed(rows('fixed'))).toContain('created 0, updated 0, unchanged 3')
  expect(await seed(rows('free'))).toBe(`error: data.yaml:3: ${SKIPPED}\nnothing was written: data.yaml has 1 error\n`)
})

test('two records that a trigger makes one are an error with the line of the second', async () => {
  const lines = ['Ada@x', 'Eve@x', 'Bob@x', 'ADA@x', 'Zoe@x'].map((email) => `  - { email: ${email}, name: a }\n`)
  expect(await seed(`member:\n${lines.join('')}`)).toBe(
    'error: data.yaml:5: this record conflicts with an earlier record of the file\nnothing was written: data.yaml has 1 error\n',
  )
})

test('a rejected unique value names the record that has it, and its line', async () => {
  const tickets = (one: string, two: string) => `ticket:\n  - { id: 1, name: ${one} }\n  - { id: 2, name: ${two} }\n`
  expect(await seed(tickets('a', 'b'))).toContain('created 2')
  expect(await seed('ticket:\n  - { id: 3, name: a }\n')).toContain(
    'error: data.yaml:2: name: Name is taken by another record (id 1)\n',
  )
  expect(await seed(tickets('b', 'a'))).toBe(
    'error: data.yaml:2: name: Name is taken by another record (id 2, line 3); put that line first, or, if the two exchange their values, ' +
      'give one of them a third value first, in a file of its own\n' +
      'error: data.yaml:3: name: Name is taken by another record (id 1, line 2)\nnothing was written: data.yaml has 2 errors\n',
  )
  expect(await seed(tickets('b', 'c').replace(/(.*\n)(.*\n)(.*\n)/, '$1$3$2'))).toContain(
    'created 0, updated 2, unchanged 0',
  )
})

test('a sequence is advanced past the numbers that it can reach', async () => {
  expect(await seed('ticket:\n  - { id: 7, name: seven }\n  - { id: 2000, name: far }\n')).toContain('created 2')
  await shelves.project.write('key.yaml', 'ticket:\n  key: name\n  records:\n    - { name: next }\n')
  expect(await shelves.run('seed', 'key.yaml')).toMatchObject({ code: 0 })
  expect((await shelves.run('dump', 'ticket')).stdout).toContain('{"id":8,"name":"next"}')
})

test('a sequence is advanced past records that a file leaves as they are', async () => {
  expect(await seed('receipt:\n  - { id: 50, name: paper }\n')).toContain('created 0, updated 0, unchanged 1')
  await shelves.project.write('key.yaml', 'receipt:\n  key: name\n  records:\n    - { name: next }\n')
  expect(await shelves.run('seed', 'key.yaml')).toMatchObject({ code: 0 })
  expect((await shelves.run('dump', 'receipt')).stdout).toContain('{"id":51,"name":"next"}')
})

onServer('names the grant for a role that may not set a sequence', async () => {
  const url = new URL(String(shelves.database?.url))
  await shelves.database?.query({
    text: `${CREATE_ROLE} grant select, insert, update on ticket to ${ROLE}; grant usage on sequence ticket_id_seq to ${ROLE}; grant select on snippetctl_migrations to ${ROLE}`,
    values: [],
  })
  url.username = url.password = ROLE
  await shelves.project.write('key.yaml', 'ticket:\n  - { id: 70, name: later }\n')
  try {
    const seedAsRole = () =>
      runInHost(['seed', 'key.yaml'], { cwd: shelves.project.folder, env: { DATABASE_URL: url.href } })
    expect((await seedAsRole()).stderr).toContain(
      `error: the role ${ROLE} may not advance the sequence of id past the stored numbers (grant usage, update on sequence public.ticket_id_seq to "${ROLE}")\n`,
    )
    await shelves.database?.query({ text: "insert into ticket values (90, 'there')", values: [] })
    await shelves.project.write('key.yaml', 'ticket:\n  - { id: 90, name: there }\n')
    expect(await seedAsRole()).toMatchObject({ code: 0, stderr: expect.stringContaining('unchanged 1') })
  } finally {
    await shelves.database?.query({ text: DROP_ROLE, values: [] })
  }
  expect((await shelves.run('dump', 'ticket')).stdout).not.toContain('later')
})

test.each([
  ['a view', 'guest_count'],
  ['a table without a constraint for its key', 'guest_note'],
])('a dump of %s has its records with null keys, and those with the same key', async (_what, name) => {
  const { stdout } = await shelves.run('dump', name)
  expect(stdout.split('\n').slice(-3)).toEqual(['{"room":150,"n":1}', '{"room":null,"n":150}', ''])
  expect(stdout.split('\n')).toHaveLength(152)
})

test('a value that its column rejects is an error with its line and its field', async () => {
  const values = [
    'size: 40000',
    'code: abcdef',
    'sign: abc',
    'rank: 5',
    'n: 1',
    'size: 40000, code: abcdef',
    'size: 40000, code: abc, sign: ab',
  ]
  const found = await seed(`narrow:\n${values.map((value, at) => `  - { id: ${at}, ${value} }\n`).join('')}`)
  expect(found.match(/data.yaml:.*/g)).toEqual([
    'data.yaml:2: size: Size cannot be stored',
    'data.yaml:3: code: Code cannot be stored',
    'data.yaml:4: sign: Sign cannot be stored',
    'data.yaml:5: rank: Rank cannot be stored',
    'data.yaml:6: n: N is not valid',
    'data.yaml:7: size: Size cannot be stored',
    'data.yaml:7: code: Code cannot be stored',
    'data.yaml:8: size: Size cannot be stored',
  ])
})

test('records cannot be seeded into a view', async () => {
  expect(await seed('guest_count:\n  - { room: 1, n: 1 }\n')).toContain(
    'data.yaml:2: guest_count is a view; records are seeded into tables',
  )
})
