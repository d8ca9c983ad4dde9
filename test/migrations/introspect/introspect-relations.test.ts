import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { unmanagedTableDifferences, schemaDifferences } from '../../../src/internal.js'
import { introspect } from '../../../src/migrations/introspect/introspect.js'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { sendBackAll } from '../../support/round-trip.js'

const SQL = `
  create table orders (id integer primary key);
  create table order_lines (order_id integer references orders, position integer, article text, primary key (order_id, position));
  create table cities (id integer primary key, country varchar(2) not null, code varchar(5) not null, unique (country, code));
  create table deliveries (
    id integer primary key, order_id integer references orders, "Position" integer, country varchar(2), city varchar(5),
    order_lines text,
    foreign key ("Position", order_id) references order_lines (position, order_id) on delete cascade on update cascade,
    foreign key (country, city) references cities (country, code),
    constraint to_city foreign key (country, city) references cities (country, code) on delete cascade
  );
  create table notes (
    id integer primary key, a integer, b integer default 1,
    foreign key (a, b) references order_lines on delete set default
  );
  create table parcels (
    order_id integer, number integer, position integer, primary key (order_id, number),
    foreign key (order_id, position) references order_lines
  );
  insert into orders values (1);
  insert into order_lines values (1, 2, 'Ink');
  insert into cities values (1, 'FR', 'PAR');
  insert into deliveries values (1, 1, 2, 'FR', 'PAR', null), (2, 1, null, null, null, null);
`
const RELATIONS = `    relations:
      order_lines_by_order_position: { model: order_lines, fields: [order, position], on_delete: cascade }
      cities: { model: cities, fields: [country, city], references: [country, code] }
`

let folder: string
let database: TestDatabase
let scratch: TestDatabase
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'relations-'))
  database = await openTestDatabase('')
  scratch = await openTestDatabase('')
  await runSql(database, SQL)
})
afterAll(async () => {
  await database.close()
  await scratch.close()
  await rm(folder, { recursive: true, force: true })
})

test.each([true, false])(
  'foreign keys of several columns are relations (migrations create the tables: %s)',
  async (manage) => {
    const found = await introspect(database, { file: 'resources.yaml', directory: folder, scratch, manage })
    expect(found.remaining).toEqual([])
    expect(found.text).toContain(RELATIONS)
    expect(found.text).toContain('order_lines: { model: order_lines, fields: [order_id, position] }')
    const unsaid = [
      'deliveries.to_city: no relation: another',
      'notes.notes_a_b_fkey: no relation: the file cannot express',
    ]
    for (const text of unsaid) expect(found.left).toContainEqual(expect.stringContaining(text))
    const kept = 'the foreign key keeps ON UPDATE CASCADE'
    expect(found.left.filter((text) => text.includes(kept))).toHaveLength(manage ? 1 : 0)
    const api = await startApi(found.text, { database, checkResponses: false })
    try {
      const line = { order: 1, position: 2 }
      expect(await (await api.fetch('/api/deliveries/')).json()).toMatchObject([
        { id: 1, order_lines_by_order_position: line, cities: { country: 'FR', code: 'PAR' } },
        { id: 2, order_lines_by_order_position: null, cities: null },
      ])
      const rejected = await api.send('PATCH', '/api/deliveries/1/', { position: 3 })
      const missing = 'The combination of Order and Position names a record that does not exist'
      expect([rejected.status, await rejected.json()]).toMatchObject([
        409,
        { errors: { order: missing, position: missing } },
      ])
    } finally {
      await api.close()
    }
  },
)

test('a foreign key of another integer type than its key is a relation, unless migrations create the tables', async () => {
  const others = await openTestDatabase('')
  try {
    await runSql(
      others,
      `create table shelves (id integer primary key);
       create table bins (id bigint primary key);
       create table books (id smallint primary key references shelves, shelf bigint references shelves, bin integer references bins);
       create table pages (a integer, b integer, primary key (a, b));
       create table marks (id integer primary key, a bigint, b integer, foreign key (a, b) references pages);
       insert into shelves values (1), (2);
       insert into bins values (7), (3000000000);
       insert into books values (1, 2, 7);`,
    )
    const settings = { file: 'resources.yaml', directory: folder, scratch }
    const made = await introspect(others, { ...settings, manage: true })
    expect(made.left).toContain(
      'books.shelf: no relation: it is bigint, and the key is of another type; nothing can be added: the field shows the value, and the foreign key stays as it is',
    )
    const found = await introspect(others, { ...settings, manage: false })
    expect(found.text).toContain('shelf: { type: belongs_to, model: shelves, column: shelf, nullable: true }')
    expect(found.left).toEqual([expect.stringMatching(/^marks\.marks_a_b_fkey: no relation: a is bigint/)])
    expect(await schemaDifferences(specOf(found.text), others)).toEqual([])
    expect(await unmanagedTableDifferences(specOf(found.text), others)).toEqual([])
    const text = found.text.replace(
      'path: /books/\n',
      'path: /books/\n    filterable: [shelf, bin]\n    expand: [id, shelf, bin]\n',
    )
    const api = await startApi(text, { database: others })
    try {
      const book = { id: 1, shelf: 2, bin: 7 }
      expect(await sendBackAll(api, '/api/books/')).toEqual([book])
      const expanded = await (await api.fetch('/api/books/1/?expand=id,shelf,bin')).json()
      expect(expanded).toEqual({ ...book, expanded: { id: { id: 1 }, shelf: { id: 2 }, bin: { id: 7 } } })
      for (const query of ['shelf=2', 'bin=7'])
        expect(await (await api.fetch(`/api/books/?${query}`)).json()).toEqual([book])
      expect((await api.send('PATCH', '/api/books/1/', { shelf: 1 })).status).toBe(200)
      expect((await api.send('PATCH', '/api/books/1/', { bin: 3000000000 })).status).toBe(400)
      expect((await api.send('PATCH', '/api/books/1/', { shelf: 3 })).status).toBe(409)
      expect((await api.fetch('/api/books/?bin=3000000000')).status).toBe(400)
    } finally {
      await api.close()
    }
  } finally {
    await others.close()
  }
})

test('texts over which a relation goes can have checks, and other lengths unless migrations create the tables', async () => {
  const others = await openTestDatabase('')
  try {
    await runSql(
      others,
      `create table grants (kind varchar(20), id varchar(40), primary key (kind, id));
       create table sessions (id integer primary key, kind varchar(20) check (kind = 'login'), "grant" varchar(40) not null, foreign key (kind, "grant") references grants);
       create table tokens (id integer primary key, kind varchar(20), "grant" varchar(30), foreign key (kind, "grant") references grants);
       insert into grants values ('login', 'a'), ('other', 'b');
       insert into sessions values (1, 'login', 'a');
       insert into tokens values (1, 'other', 'b');`,
    )
    const settings = { file: 'resources.yaml', directory: folder, scratch }
    const made = await introspect(others, { ...settings, manage: true })
    expect(made.text).toContain('grants: { model: grants, fields: [kind, grant] }')
    expect(made.left).toEqual([
      expect.stringContaining('grant is character varying(30), and the key is of another type'),
    ])
    expect(made.remaining).toEqual([])
    const found = await introspect(others, { ...settings, manage: false })
    expect(found.text.match(/grants: \{ model: grants, fields: \[kind, grant\] \}/g)).toHaveLength(2)
    const text = found.text.replaceAll(/path: \/(?:sessions|tokens)\/\n/g, '$&    expand: [grants]\n')
    const api = await startApi(text, { database: others })
    try {
      const session = { id: 1, kind: 'login', grant: 'a', grants: { kind: 'login', id: 'a' } }
      expect(await sendBackAll(api, '/api/sessions/')).toEqual([session])
      const token = { id: 1, kind: 'other', grant: 'b', grants: { kind: 'other', id: 'b' } }
      const expanded = await (await api.fetch('/api/tokens/1/?expand=grants')).json()
      expect(expanded).toEqual({ ...token, expanded: { grants: { kind: 'other', id: 'b' } } })
      expect((await api.send('PATCH', '/api/sessions/1/', { kind: 'other' })).status).toBe(400)
      expect((await api.send('PATCH', '/api/sessions/1/', { grant: 'b' })).status).toBe(409)
    } finally {
      await api.close()
    }
  } finally {
    await others.close()
  }
})

test('adds relations to tables that migrations do not create, or advises a relation if a plan would add its index', async () => {
  const others = await openTestDatabase('')
  try {
    await runSql(
      others,
      `create collation german (provider = icu, locale = 'de-DE');
       create table rooms (id serial primary key, tenant integer not null, name text collate german, unique (tenant, id));
       create table bookings (
         id serial primary key, tenant integer not null, room integer not null,
         foreign key (tenant, room) references rooms (tenant, id) on delete cascade
       );
       create index on bookings (room, tenant, id);
       create table visits (
         id serial primary key, tenant integer not null, room integer, next_id integer references rooms,
         foreign key (tenant, room) references rooms (tenant, id)
       );`,
    )
    const settings = { file: 'resources.yaml', directory: folder, scratch, manage: true }
    const { text, left, remaining, migration = '' } = await introspect(others, settings)
    expect(remaining).toEqual([])
    expect(text).toContain(
      'rooms: { model: rooms, fields: [tenant, room], references: [tenant, id], on_delete: cascade }',
    )
    const [joined, single] = [
      'relations: { rooms: { model: rooms, fields: [tenant, room], references: [tenant, id] } }',
      'type: belongs_to, model: rooms, column: next_id',
    ]
    expect(left).toEqual(
      expect.arrayContaining([
        `visits.visits_tenant_room_fkey: no relation: migrations do not create rooms; the model can still have \`${joined}\`; the next plan then adds an index`,
        `visits.next_id: no relation: migrations do not create rooms; the field can still have \`${single}\`; the next plan then adds an index`,
      ]),
    )

    const related = text
      .replace(/( {2}visits:\n(?: {4}.*\n)+)/, `$1    ${joined}\n`)
      .replace('next_id: { type: integer, nullable: true }', `next_id: { ${single}, nullable: true }`)
    const path = join(folder, 'migrations')
    await mkdir(path)
    await writeFile(join(path, '0001_introspected.sql'), migration)
    const { steps, rejections } = await planMigration(specOf(related), path, scratch)
    expect(rejections).toEqual([])
    expect(steps.map(({ change, subject }) => `${change} ${subject}`)).toEqual([
      'add visits.visits_next_id_idx',
      'add visits.visits_tenant_room_idx',
    ])
  } finally {
    await others.close()
  }
})
