import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { type Choice, findingsIn, followHelps } from '../support/follow-help.js'
import { projectPerTest } from '../support/project-per-test.js'

// Each walk runs some 30 commands, most of which open a scratch database.

const project = projectPerTest()

/** Tables as others make them: their names, keys, types, relations, indexes, views and triggers. */
const TABLES = `
  create type mood as enum ('sad', 'ok');
  create domain isbn as text check (length(value) = 13);
  create table "Customers" (
    "customerId" varchar(5) primary key,
    email varchar(254) not null unique check (email <> ''),
    host text generated always as (split_part(email, '@', 2)) stored
  );
  create table plans (id integer primary key, code char(3) not null unique, since timestamp, tags text[] not null default '{}');
  create table orders (
    id bigserial primary key,
    customer varchar(5) not null references "Customers",
    mood mood not null default 'ok',
    isbn isbn,
    placed_at timestamptz not null default clock_timestamp(),
    note varchar(90),
    plan_code char(3) references plans (code),
    weight real, doc bytea, took interval, shape point, during tstzrange,
    check (weight > 0 or note is not null)
  );
  create index orders_by_customer on orders (customer);
  create index orders_noted on orders (placed_at) where note is not null;
  create index orders_lower on orders (lower(note));
  create index orders_mood on orders using hash (mood);
  create index orders_odd on orders ((id % 7));
  create table order_lines (
    order_id bigint references orders, position smallint, amount numeric(10, 2) not null check (amount > 0),
    primary key (order_id, position)
  );
  create table shipments (
    id uuid primary key default gen_random_uuid(), order_id bigint not null, position smallint not null,
    foreign key (order_id, position) references order_lines on delete cascade
  );
  create table log (at timestamptz, line text);
  create table events (id bigint, at date not null, primary key (id, at)) partition by range (at);
  create table events_1 partition of events for values from ('2020-01-01') to ('2030-01-01');
  create table parents (id serial primary key, name varchar(40) not null);
  create table children (toy text) inherits (parents);
  create view open_lines as select order_id, amount from order_lines;
  create materialized view sums as select order_id, count(*) as n from shipments group by order_id;
  create function touch() returns trigger language plpgsql as 'begin new.placed_at := now(); return new; end';
  create trigger touched before update on orders for each row execute function touch();
  create table "Order Details" ("Order ID" integer primary key, "displayName" varchar(20) collate "C" not null);`

/** Changes that somebody makes by hand, of each kind that is drift. */
const BY_HAND = `
  alter table "Order Details" add "it's new" integer not null default 3, alter "displayName" type varchar(20);
  create index "By Name" on "Order Details" ("displayName");
  alter table orders add extra isbn, add span tstzrange, alter customer type varchar(9), alter mood drop default,
    add constraint odd check (id <> 13);
  alter table order_lines drop constraint order_lines_order_id_fkey;
  alter table plans alter since set default now(), alter tags drop not null;
  drop index orders_by_customer;`

const STATUS = 'migrate status'
const CHECK = 'check --database'
const PLAN = 'migrate plan'
const OVERVIEWS = [STATUS, CHECK, PLAN]

const show = (overview: string) => project.run(...overview.split(' '))

test.each<[Choice, readonly string[]]>([
  ['first', [STATUS, CHECK, PLAN]],
  ['last', [CHECK, STATUS, PLAN]],
])(
  'the help for changes by hand leads to a project without findings, always by the %s way out',
  async (choice, order) => {
    await project.sql(TABLES)
    expect(await project.run('introspect', '--manage')).toMatchObject({ code: 0 })
    await project.sql(BY_HAND)
    const follower = followHelps(project, choice, OVERVIEWS)
    const seen: string[] = []
    for (let before = -1; before < follower.done.length; ) {
      before = follower.done.length
      for (const overview of order) {
        const outcome = await show(overview)
        seen.push(outcome.stdout + outcome.stderr)
        expect(seen.filter((text) => text === seen.at(-1)).length).toBeLessThan(3)
        for (const finding of findingsIn(outcome)) await follower.follow(finding)
        if (follower.done.length > before) break
      }
    }
    expect(follower.done).toEqual(
      expect.arrayContaining([`migrate adopt Order Details.it's new`, 'migrate adopt orders.span', 'migrate up']),
    )
    expect(await show(STATUS)).toMatchObject({ code: 0, stdout: expect.not.stringContaining('drift') })
    expect(await show(PLAN)).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to migrate') })
    expect(await show(CHECK)).toMatchObject({ code: 0, stdout: expect.not.stringMatching(/warning|error/) })
  },
)

test('a migration that runs only in one database is corrected as the help says', async () => {
  await project.sql('create table books (id bigserial primary key, title text not null)')
  expect(await project.run('introspect', '--manage')).toMatchObject({ code: 0 })
  await project.sql('create index by_title on books (title)')
  await project.write('migrations/0002_less.sql', '-- up\ndrop index by_title;\n')
  expect(await project.run('migrate', 'up')).toMatchObject({ code: 0 })
  const stuck = await show(STATUS)
  expect(stuck).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('correct the file, for example with `if exists`'),
  })
  await project.write('migrations/0002_less.sql', '-- up\ndrop index if exists by_title;\n')
  const follower = followHelps(project, 'last', OVERVIEWS)
  for (const finding of findingsIn(stuck)) await follower.follow(finding)
  expect(follower.done).toEqual(['migrate resolve --edited 0002_less'])
  for (const overview of OVERVIEWS) expect(await show(overview)).toMatchObject({ code: 0 })
  expect(await readdir(join(project.folder, 'migrations'))).toHaveLength(2)
})

test('the help for unmanaged tables that have changed leads to models that fit them', async () => {
  await project.sql(TABLES)
  expect(await project.run('introspect')).toMatchObject({ code: 0 })
  await project.sql(`
    drop view open_lines;
    alter table order_lines alter amount type numeric(12, 4);
    alter table orders alter note set not null, alter mood drop not null, drop doc, add span tstzrange;
    alter table plans alter since type timestamptz;`)
  const outcome = await show(CHECK)
  const follower = followHelps(project, 'first', OVERVIEWS)
  for (const finding of findingsIn(outcome)) await follower.follow(finding)
  expect(new Set(follower.done)).toEqual(new Set(['introspect --update']))
  const text = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  expect(text).toContain('amount:   { type: decimal, precision: 12, scale: 4')
  const after = await show(CHECK)
  expect(after).toMatchObject({ code: 0, stdout: expect.stringContaining('table or view open_lines is missing') })
  expect(after.stdout.match(/warning/g)).toHaveLength(2)
  expect(await project.run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})
