import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

const file = () => join(project.folder, 'resources.yaml')

const configuration = () => readFile(file(), 'utf8')

const TABLES = `
  create table authors (id bigserial primary key, name varchar(80) not null);
  create table books (id bigserial primary key, "pageCount" integer, title varchar(80) not null, old text, price numeric(6, 2));`

/** What somebody made of the file that introspect wrote. */
const EDITED = `version: 1
database: { managed: false }

# Our models.
models:
  authors:
    fields:
      id:   { type: bigint, primary_key: true }
      name: { type: string, min: 2, max: 80, label: "Full name" } # min by hand

  volumes:
    table: books
    fields:
      id:    { type: bigint, primary_key: true }
      pages: { type: integer, column: pageCount, nullable: true, minimum: 1 } # by hand
      title:
        type: string
        max: 80 # as the column
        label: Name
      # Nobody knows what this is.
      old:   { type: text, nullable: true }
      price: { type: decimal, precision: 6, scale: 2, nullable: true }

resources:
  volumes:
    model: volumes
    path: /volumes/
    orderable: [title, id] # by title first
  authors: { model: authors, path: /writers/ }
`

const CHANGES = `
  alter table books alter "pageCount" type bigint, alter "pageCount" set not null, alter title type varchar(40), drop old,
    add author_id bigint references authors, add "isSold" boolean not null default false, alter price type numeric(10, 3);
  create table shops (id bigserial primary key, name text not null)`

const UPDATED = `version: 1
database: { managed: false }

# Our models.
models:
  authors:
    fields:
      id:   { type: bigint, primary_key: true }
      name: { type: string, min: 2, max: 80, label: "Full name" } # min by hand

  volumes:
    table: books
    fields:
      id:    { type: bigint, primary_key: true }
      pages: { type: bigint, column: pageCount, minimum: 1 } # by hand
      title:
        type: string
        max: 40 # as the column
        label: Name
      # Nobody knows what this is.
      # the column "old" is gone:
      # old:   { type: text, nullable: true }
      price: { type: decimal, precision: 10, scale: 3, nullable: true }
      author: { type: belongs_to, model: authors, nullable: true }
      is_sold: { type: boolean, column: isSold, default: false }

  shops:
    fields:
      id:   { type: bigint, primary_key: true }
      name: { type: text }

resources:
  volumes:
    model: volumes
    path: /volumes/
    orderable: [title, id] # by title first
  authors: { model: authors, path: /writers/ }

  shops:
    model: shops
    path: /shops/
`

test.each([
  ['Unix', (text: string) => text],
  ['Windows', (text: string) => `\ufeff${text.replaceAll('\n', '\r\n')}`],
])(
  'introspect --update of a file from %s keeps edits, and adds, changes and comments fields',
  async (_system, format) => {
    await given(TABLES)
    await writeFile(file(), format(EDITED))
    const unchanged = await run('introspect', '--update')
    expect(unchanged).toMatchObject({
      code: 0,
      stderr: 'nothing to change: every table has a model in resources.yaml\n',
    })
    expect(await configuration()).toBe(format(EDITED))

    await given(CHANGES)
    const shown = await run('introspect', '--update', '--print')
    expect(await configuration()).toBe(format(EDITED))
    const updated = await run('introspect', '--update')
    expect(shown.stdout.trimEnd()).toBe(format(UPDATED).trimEnd())
    expect(updated.stderr.match(/^(?:changed|differs|wrote).*$/gm)).toEqual([
      'changed  volumes.pages: follows its column: type: bigint, no nullable',
      'changed  volumes.title: follows its column: type: string, max: 40',
      'changed  volumes.price: follows its column: type: decimal, precision: 10, scale: 3',
      'changed  volumes.author: added, for a new column: { type: belongs_to, model: authors, nullable: true }',
      'changed  volumes.is_sold: added, for a new column: { type: boolean, column: isSold, default: false }',
      'changed  volumes.old: commented out: the column "old" is gone',
      'wrote resources.yaml: 6 changes, 1 new model',
    ])
    expect(updated.code).toBe(0)
    expect(await configuration()).toBe(format(UPDATED))

    const written = await configuration()
    const again = await run('introspect', '--update')
    expect(again).toMatchObject({ code: 0, stderr: 'nothing to change: every table has a model in resources.yaml\n' })
    expect(await configuration()).toBe(written)
    expect(await run('check', '--database')).toMatchObject({
      code: 0,
      stdout: expect.not.stringMatching(/error|SC409/),
    })
    const plan = await run('migrate', 'plan')
    expect(plan).toMatchObject({
      code: 0,
      stdout: 'nothing to migrate: the files create the schema of the configuration\n',
    })
  },
)

test('introspect --update quotes each line that prevents a change', async () => {
  await given(TABLES)
  const lines = ['orderable: [title, old]', 'default_order: [old]']
  await writeFile(file(), EDITED.replace('orderable: [title, id] # by title first', lines.join('\n    ')))
  await given('alter table books drop old; create table extras (id bigint primary key)')
  const { stderr } = await run('introspect', '--update')
  expect(stderr.match(/^(?:wrote|differs).*$/gm)).toEqual([
    'wrote resources.yaml: 1 new model',
    'differs  not written: volumes.old: commented out: the column "old" is gone, because of `orderable: [title, old]`, `default_order: [old]`: ' +
      'the model `volumes` has no field `old`; change these lines by hand, and run the command again',
    'differs  column books.old is missing',
  ])
})

test('introspect --update reports what it cannot write, and leaves the file as it is', async () => {
  await given(TABLES)
  const text = EDITED.replace('[title, id]', '[title, old]')
  await writeFile(file(), text)
  await given('alter table books drop old; drop table authors')
  const { code, stdout } = await run('introspect', '--update', '--json')
  expect({ code, report: JSON.parse(stdout) as unknown }).toEqual({
    code: 1,
    report: {
      schemaVersion: 1,
      models: [],
      left: [],
      changes: [],
      differs: [
        'not written: volumes.old: commented out: the column "old" is gone, because of `orderable: [title, old] # by title first`: the model `volumes` has no field `old`; change this line by hand, and run the command again',
        'table or view authors is missing',
        'column books.old is missing',
      ],
    },
  })
  expect(await configuration()).toBe(text)
})

test('introspect --update rejects tables that migrations of the project make', async () => {
  await given(TABLES)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
  const before = await configuration()
  const { code, stderr } = await run('introspect', '--update')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `error: migrations of this project create the tables, and --update is for unmanaged tables
  = help: See what differs: snippetctl check --database
`,
  })
  expect(await configuration()).toBe(before)
})

test('a relation follows the key that it refers to in the same run, and a key without its sequence becomes one of clients', async () => {
  await given(`create table authors (id serial primary key, name text);
    create table books (id serial primary key, author_id integer references authors)`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given('alter table authors alter id type bigint, alter id drop default')
  const updated = await run('introspect', '--update')
  expect(updated).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
  const text = await configuration()
  expect(text).toMatch(/id: +\{ type: bigint, primary_key: true, key: client \}/)
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('SC409') })
  expect(await run('introspect', '--update')).toMatchObject({ stderr: expect.stringMatching(/^nothing to change/) })
  expect(await configuration()).toBe(text)
})

test('a table whose key is gone is reported by --update and by check --database', async () => {
  await given('create table books (isbn text primary key, title text)')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given('alter table books drop isbn')
  expect(await run('introspect', '--update')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('differs  column books.isbn is missing'),
  })
  expect(await run('check', '--database')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('warning[SC409]: column books.isbn is missing'),
  })
})

test('declared values that the service sets stay, and need no default of the column', async () => {
  await given(
    'create table posts (id uuid primary key, state text not null, created_at timestamptz not null, changed timestamp not null, at timestamptz not null)',
  )
  const { code, stderr } = await run('introspect')
  const hint = 'requests must send it; if the other program sets it,'
  expect([code, stderr.match(/^left.*$/gm)]).toEqual([
    0,
    [
      `left  posts.created_at: ${hint} \`auto: on_create\` lets the service do so`,
      `left  posts.changed: ${hint} \`auto: on_update\` lets the service do so`,
    ],
  ])
  const text = (await configuration())
    .replace('key: client', 'key: uuid')
    .replace('type: text', 'type: text, default: draft')
    .replace('type: timestamp }', 'type: timestamp, auto: on_create }')
  await writeFile(file(), text)
  const unchanged = { code: 0, stderr: 'nothing to change: every table has a model in resources.yaml\n' }
  expect(await run('introspect', '--update')).toMatchObject(unchanged)
  await given("alter table posts alter state set default 'new', alter created_at set default now()")
  expect(await run('introspect', '--update')).toMatchObject(unchanged)
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('SC409') })
  expect(await configuration()).toBe(text)
})

test('a default that a field does not declare is reported, also where requests cannot send the field', async () => {
  await given(
    "create table posts (id bigserial primary key, owner text not null default 'o', secret text not null default 's')",
  )
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const text = (await configuration())
    .replace(/(owner: +\{ type: text).*\}/, '$1, read_only: true }')
    .replace(/(secret: +\{ type: text).*\}/, '$1, private: true }')
    .replace('path: /posts/', 'path: /posts/\n    operations: [list, retrieve]')
  await writeFile(file(), text)
  const { stderr } = await run('introspect', '--update')
  expect(stderr.match(/^left .*$/gm)).toEqual([
    expect.stringContaining('posts.owner: the column has a default, which the field does not declare;'),
    expect.stringContaining('posts.secret: the column has a default, which the field does not declare;'),
  ])
  expect(stderr).not.toContain('requests must')
})

test('a required field stays required when its column gets a default, which is reported', async () => {
  await given('create table posts (id bigserial primary key, at timestamptz not null, state text not null, note text)')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const before = await configuration()
  await given(
    "alter table posts alter at set default clock_timestamp(), alter state set default 'x', alter note set default 'x'",
  )
  const left = (name: string) =>
    `left  posts.${name}: the column has a default, which the field does not declare; if new records may omit the field, write \`default: { function: database }\``
  for (const time of ['first', 'second']) {
    const { stderr } = await run('introspect', '--update')
    expect([time, stderr.match(/^(?:changed|left .*default).*$/gm)]).toEqual([time, [left('at'), left('state')]])
  }
  expect(await configuration()).toBe(before)
  const text = before.replace(/(state: +\{ type: text) \}/, '$1, default: { function: database } }')
  await writeFile(file(), text)
  expect((await run('introspect', '--update')).stderr).not.toContain('posts.state')
  expect(await configuration()).toBe(text)
  await given('alter table posts alter state drop default')
  expect((await run('introspect', '--update')).stderr.match(/^changed.*$/gm)).toEqual([
    'changed  posts.state: follows its column: no default',
  ])
  expect(await configuration()).toBe(before)
})

test('keys that get a default are reported with the setting that lets requests omit them', async () => {
  await given(`create table codes (code varchar primary key); create table parts (x bigint, part uuid, primary key (x, part));
    create table notes (id bigint primary key); create table logs (id uuid primary key); create sequence numbers`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const before = await configuration()
  await given(`alter table codes alter code set default 'a'; alter table parts alter x set default 1, alter part set default gen_random_uuid();
    alter table notes alter id set default nextval('numbers'); alter table logs alter id set default gen_random_uuid()`)
  const { code, stderr } = await run('introspect', '--update')
  const remedies = {
    'codes.code': 'write `default: { function: database }`',
    'logs.id': 'remove `key: client`',
    'notes.id': 'remove `key: client`',
    'parts.x': 'write `default: { function: database }`',
    'parts.part': 'write `key: uuid`',
  }
  expect([code, stderr.match(/^(?:changed|left).*$/gm)]).toEqual([
    0,
    Object.entries(remedies).map(
      ([field, remedy]) =>
        `left  ${field}: the column has a default, which the field does not declare; if new records may omit the field, ${remedy}`,
    ),
  ])
  const followed = before
    .replace(/^( +code: .*?) \}/m, '$1, default: { function: database } }')
    .replace(/^( +x: .*?) \}/m, '$1, default: { function: database } }')
    .replaceAll(', key: client', '')
    .replace(/^( +part: .*?) \}/m, '$1, key: uuid }')
  await writeFile(file(), followed)
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^nothing to change/),
  })
})

test('a default of the database stays where a trigger or a sequence fills the column', async () => {
  await given(`
    create table lines (id serial primary key, number integer not null, part serial);
    create function count_on() returns trigger language plpgsql as $$ begin new.number := coalesce(new.number, 7); return new; end $$;
    create trigger count_on before insert on lines for each row execute function count_on()`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const fills = 'default: { function: database } }'
  const text = (await configuration())
    .replace(/(id: +\{ type: integer, primary_key: true) \}/, `$1, key: client, ${fills}`)
    .replace(/(number: +\{ type: integer) \}/, `$1, ${fills}`)
  expect(text.split(fills).length).toBe(4)
  await writeFile(file(), text)
  expect((await run('introspect', '--update')).stderr).not.toContain('changed')
  expect(await configuration()).toBe(text)
})

test('a UUID key without a default can be set by the service', async () => {
  await given('create table posts (id uuid primary key default gen_random_uuid(), title text)')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given('alter table posts alter id drop default')
  const { stdout } = await run('check', '--database')
  expect(stdout).toContain('warning[SC409]: column posts.id has no default, and the server should fill it in')
  expect(stdout).toContain('let the service set it: `key: uuid`')
  await writeFile(file(), (await configuration()).replace('primary_key: true', 'primary_key: true, key: uuid'))
  expect((await run('check', '--database')).stdout).not.toContain('SC409')
})

test('a part of a key keeps a UUID of the database that is not random', async () => {
  await given(
    `create function ordered_id() returns uuid language sql as $$ select md5(now()::text)::uuid $$;
    create table posts (tenant integer, id uuid default ordered_id(), primary key (tenant, id));
    create table notes (tenant integer, id uuid default gen_random_uuid(), primary key (tenant, id))`,
  )
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const text = await configuration()
  expect(text).toContain('{ type: uuid, key: uuid, default: { function: database } }')
  expect(text).toContain('{ type: uuid, key: uuid }')
  expect(await run('check')).toMatchObject({ code: 0 })
})

test('a table that is gone has other help than a table that has changed', async () => {
  await given('create table books (id bigint primary key, title text)')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given('drop table books')
  const { stdout } = await run('check', '--database')
  expect(stdout).toContain('warning[SC409]: table or view books is missing')
  expect(stdout).toContain('= help: remove the model, or ask the owner of the table to create it\n')
  expect(stdout).toContain('= help: or let a migration create it: `managed: true` in the model\n')
  expect(stdout).not.toContain('introspect --update')
  expect(await run('migrate', 'plan', '--write', 'books')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      '= help: models with `managed: false` are left out; a model with `managed: true` gets a table\n',
    ),
  })
})

test('models of another schema follow their tables, and new tables there get models', async () => {
  await given('create schema sales; create table sales.customers (id bigserial primary key, code varchar(10) not null)')
  expect(await run('introspect', '--schema', 'sales')).toMatchObject({ code: 0 })
  await given(`
    alter table sales.customers alter code type varchar(30);
    create table sales.orders (id bigserial primary key);
    create table public.others (id bigserial primary key)`)
  expect(await run('introspect', '--update')).toMatchObject({ code: 0 })
  expect(await configuration()).toMatch(/code: .*max: 30/)
  expect(await configuration()).toContain('table: "sales.orders"')
  expect(await configuration()).not.toContain('others')
  expect(await run('check', '--database')).toMatchObject({ code: 0 })
})

test('values that a field leaves out are reported, and its choices stay', async () => {
  await given(`create type state as enum ('new', 'paid', 'sent');
    create table orders (id serial primary key, state state not null, states state[])`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given("alter type state add value 'it''s lost'")
  await writeFile(file(), (await configuration()).replaceAll('[new, paid, sent]', '[new, sent]'))
  const before = await configuration()
  const updated = await run('introspect', '--update')
  expect(updated).toMatchObject({ code: 0, stderr: expect.not.stringContaining('changed') })
  expect(updated.stderr.match(/^left.*$/gm)).toEqual([
    `left  orders.state: the column also takes "paid", "it's lost", which requests may not send; to allow that, write \`choices: [new, paid, sent, "it's lost"]\``,
    expect.stringContaining(`orders.states: the column also takes "paid", "it's lost"`),
  ])
  expect(await configuration()).toBe(before)
})

test.each([
  {
    change: 'another value gets a new name',
    choices: '[new, sent]',
    sql: "alter type state rename value 'sent' to 'shipped'",
    left: { labels: '"paid", "shipped", "lost"', choices: '[new, paid, shipped, lost]' },
    now: '[new]',
  },
  {
    change: 'the enum is made again without another value',
    choices: '[new, sent, lost]',
    sql: `alter type state rename to former; create type state as enum ('new', 'paid', 'sent');
      alter table orders alter state type state using state::text::state, alter states type state[] using states::text[]::state[]`,
    left: { labels: '"paid"', choices: '[new, paid, sent]' },
    now: '[new, sent]',
  },
  {
    change: 'a value gets a new name and the enum another value',
    choices: '[new, paid, sent, lost]',
    sql: "alter type state rename value 'sent' to 'shipped'; alter type state add value 'late'",
    left: { labels: '"shipped", "late"', choices: '[new, paid, shipped, lost, late]' },
    now: '[new, paid, lost]',
  },
])(
  'values that a field does not list are reported, and not added, when $change',
  async ({ choices, sql, left, now }) => {
    await given(`create type state as enum ('new', 'paid', 'sent', 'lost');
    create table orders (id serial primary key, state state not null, states state[])`)
    expect(await run('introspect')).toMatchObject({ code: 0 })
    await writeFile(file(), (await configuration()).replaceAll('[new, paid, sent, lost]', choices))
    await given(sql)
    const { stderr } = await run('introspect', '--update')
    const also = `the column also takes ${left.labels}, which requests may not send; to allow that, write`
    expect(stderr.match(/^(?:changed|left).*$/gm)).toEqual([
      `left  orders.state: ${also} \`choices: ${left.choices}\``,
      `left  orders.states: ${also} \`items: { type: choice, choices: ${left.choices}, nullable: true }\``,
      `changed  orders.state: follows its column: type: choice, choices: ${now}`,
      `changed  orders.states: follows its column: type: array, items: { type: choice, choices: ${now}, nullable: true }`,
    ])
    expect(await run('check', '--database')).toMatchObject({ code: 0 })
  },
)

test('values of a check that replaces an enum are reported, and neither added nor removed', async () => {
  await given(
    `create type state as enum ('new', 'sent'); create table orders (id serial primary key, state state not null)`,
  )
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given(`alter table orders alter state type varchar(9), add check (state in ('new', 'lost'))`)
  const { stderr } = await run('introspect', '--update')
  expect(stderr.match(/^(?:changed|left).*$/gm)).toEqual([
    'left  orders.state: the column also takes "lost", which requests may not send; to allow that, write `choices: [new, lost]`',
    'left  orders.state: the column does not take "sent", which requests may send; to reject that before, write `choices: [new, lost]`',
  ])
})

test('bounds and choices are not reported for fields that no request writes', async () => {
  await given(`create type state as enum ('new', 'old'); create table seats (id serial primary key, row integer, number integer, total integer, state state);
    create table logs (id serial primary key, line integer)`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const text = (await configuration())
    .replace(/^( +row: .*?) \}/m, '$1, read_only: true }')
    .replace(/^( +number: .*?) \}/m, '$1, private: true }')
    .replace(/^( +state: .*?) \}/m, '$1, read_only: true }')
    .replace('path: /logs/\n', 'path: /logs/\n    operations: [list, retrieve]\n')
  expect(text).toMatch(/row: .*read_only[^]*number: .*private[^]*state: .*read_only[^]*retrieve/)
  await writeFile(file(), text)
  await given(
    `alter table seats add check (row > 4), add check (number > 4), add check (total > 4); alter table logs add check (line > 4);
    alter table seats alter state type text using state::text, add check (state in ('new'))`,
  )
  const { code, stderr } = await run('introspect', '--update')
  expect([code, stderr.match(/^(?:changed|left).*$/gm)]).toEqual([
    0,
    [
      'left  seats.total: the column takes fewer values than requests may send; to reject the others before, write `minimum: 5`',
    ],
  ])
})

test('bounds of columns that are narrower than those of their fields are reported, until the fields have them', async () => {
  await given(`create table seats (id serial primary key, row integer check (row >= 0), number smallint, price numeric(6, 2) check (price >= 0), code text,
    note text, total integer generated always as (row * 2) stored)`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given(`alter table seats add check (row between 1 and 20), add check (price > 0), add check (char_length(code) between 2 and 9), add check (note <> 'x'),
    add check (total <= 9)`)
  await writeFile(
    file(),
    (await configuration()).replace(', minimum: -32768, maximum: 32767', ', minimum: 5, maximum: 99999'),
  )
  const before = await configuration()
  const narrower = 'the column takes fewer values than requests may send; to reject the others before, write'
  const rules = {
    row: 'minimum: 1, maximum: 20',
    number: 'maximum: 32767',
    price: 'minimum: "0.01"',
    code: 'min: 2, max: 9',
  }
  const { code, stderr } = await run('introspect', '--update')
  expect(code).toBe(0)
  expect(stderr.match(/^(?:changed|left).*$/gm)).toEqual(
    Object.entries(rules).map(([name, rule]) => `left  seats.${name}: ${narrower} \`${rule}\``),
  )
  expect(await configuration()).toBe(before)
  const followed = Object.entries(rules).reduce((text, [name, rule]) => {
    const known = rule.split(', ').map((each) => each.replace(/:.*/, ''))
    const bare = known.reduce(
      (line, key) => line.replace(new RegExp(`(\\n +${name}: .*), ${key}: [^,}]+(?=[,}]| })`), '$1'),
      text,
    )
    return bare.replace(new RegExp(`(\\n +${name}: +\\{ type: \\w+)`), `$1, ${rule}`)
  }, before)
  await writeFile(file(), followed)
  expect((await run('introspect', '--update')).stderr).not.toMatch(/^(?:changed|left)/m)
  expect(await run('check', '--database')).toMatchObject({ code: 0 })
})

test('the help for a model that names the current schema is YAML, and other tables can be updated', async () => {
  await given('create table "a.b" (id serial primary key); create table orders (id serial primary key)')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const text = await configuration()
  const [, table = ''] = /table: (.*a\.b.*)/.exec(text) ?? []
  await writeFile(file(), text.replace(`table: ${table}`, `table: 'public."a.b"'`))
  expect(await run('introspect', '--update')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`names the current schema: write \`table: ${table}\``),
  })
  expect(await run('introspect', '--update', '--tables', 'orders')).toMatchObject({ code: 0 })
})

test('a model that names the current schema is rejected, because its table would get a second model', async () => {
  await given('create table orders (id serial primary key)')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const qualified = 'table: public.orders\n    fields:'
  await writeFile(file(), (await configuration()).replace('fields:', qualified))
  const before = await configuration()
  const rejected = expect.stringContaining('the model `orders` names the current schema: write `table: orders`')
  for (const args of [['introspect'], ['introspect', '--update']])
    expect(await run(...args)).toMatchObject({ code: 2, stderr: rejected })
  expect(await configuration()).toBe(before)
  const unmanaged = before
    .replace('database: { managed: false }\n', '')
    .replace(qualified, `managed: false\n    ${qualified}`)
  await writeFile(file(), unmanaged)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 2, stderr: rejected })
  await writeFile(file(), before.replace(qualified, 'table: orders\n    fields:'))
  expect(await run('introspect', '--update')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^nothing to/) })
})

test('the choices of a field follow renamed and removed values of its enum', async () => {
  await given(`create type state as enum ('new', 'paid'); create type size as enum ('s', 'm'); create type color as enum ('red'); create type grade as enum ('first');
    create table orders (id serial primary key, state state not null default 'paid', grade grade not null default 'first', sizes size[], color color, owner integer, ratio real);
    create table owners (id integer primary key)`)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given(`alter type state rename value 'paid' to 'settled'; alter type size add value 'l';
    alter type color add value 'blue' before 'red'; alter type color rename value 'red' to 'green';
    alter type grade rename value 'first' to 'best'; alter type grade add value 'last';
    alter table orders alter owner type bigint, alter ratio type integer,
      add constraint owner foreign key (owner) references owners on delete set null`)
  const updated = await run('introspect', '--update')
  expect(updated).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
  // Only settings that the file had are removed.
  expect(updated.stderr.match(/^changed.*$/gm)).toEqual([
    'changed  orders.state: follows its column: type: choice, choices: [new, settled], default: settled',
    'changed  orders.grade: follows its column: type: choice, choices: [best, last], default: best',
    'changed  orders.color: follows its column: type: choice, choices: [blue, green]',
    'changed  orders.owner: follows its column: type: belongs_to, model: owners, on_delete: set_null, column: owner',
    'changed  orders.ratio: follows its column: type: integer, no bits',
  ])
  expect(await configuration()).toMatch(/state: +\{ type: choice, choices: \[new, settled\], default: settled \}/)
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('SC409') })
  expect(await run('introspect', '--update')).toMatchObject({ stderr: expect.stringMatching(/^nothing to change/m) })
})

test('a field becomes opaque if its column gets a type or a value that no other field type has', async () => {
  await given(`create type state as enum ('new', 'paid');
    create table orders (id serial primary key, state state, words text)`)
  expect(await run('introspect', '--no-resources')).toMatchObject({ code: 0 })
  await given(`alter type state add value ''; alter table orders alter words type tsvector using words::tsvector`)
  expect(await run('introspect', '--update', '--no-resources')).toMatchObject({
    code: 0,
    stderr: `changed  orders.state: follows its column: type: opaque, column_type: state, no choices
changed  orders.words: follows its column: type: opaque, column_type: tsvector
wrote resources.yaml: 2 changes
`,
  })
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('SC409') })
  expect(await run('introspect', '--update')).toMatchObject({ stderr: expect.stringMatching(/^nothing to change/) })
})

test('a new primary key is reported with the lines that declare it', async () => {
  await given('create table visits (day date, place text)')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await given('alter table visits add primary key (day, place)')
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      'left  visits: records can only be listed, although the table has a primary key now; write `primary_key: [day, place]` and remove `operations: [list]`\n',
    ),
  })
  const text = await configuration()
  const declared = text
    .replace('primary_key: none', 'primary_key: [day, place]')
    .replace('    operations: [list]\n', '')
  await writeFile(file(), declared)
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: 'nothing to change: every table has a model in resources.yaml\n',
  })
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') })
})

test('the models of a project whose migrations only create tables of the service follow unmanaged tables', async () => {
  await given(TABLES)
  expect(await run('introspect', '--no-resources')).toMatchObject({ code: 0 })
  const text = (await configuration()).replace('\n\n', '\nauth: { keys: true }\n\n')
  await project.write('resources.yaml', text)
  expect(await run('migrate', 'plan', '--write', 'keys')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  await given('create table later (id bigint primary key); alter table authors add born date')
  expect(await run('introspect', '--update', '--no-resources')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('wrote resources.yaml: 1 change, 1 new model\n'),
  })
  expect(await configuration()).toContain('born: { type: date, nullable: true }')
  await given('create table last (id bigint primary key)')
  expect(await run('introspect', '--no-resources')).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('.sql'),
  })
  expect(await run('check', '--database')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('SC409') })
})

test('introspect --manage rejects a configuration whose tables another program changes', async () => {
  await given(TABLES)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const before = await configuration()
  const { code, stderr } = await run('introspect', '--manage')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `error: resources.yaml has \`database: { managed: false }\`, and with --manage, migrations change the tables
  = help: Write \`managed: true\` there, and run the command again: it lists how the models differ from the tables
  = help: Or leave out --manage, to add models of tables that another program changes
`,
  })
  expect(await configuration()).toBe(before)
})

test('introspect --manage names the command that prints a matching file if an edited file has many differences', async () => {
  const texts = Array.from({ length: 12 }, (_, at) => `text${at} varchar(20) not null default 'a'`)
  await given(`create table notes (id bigint primary key, ${texts.join(', ')})`)
  expect(await run('introspect', '--no-resources')).toMatchObject({ code: 0 })
  await writeFile(file(), (await configuration()).replace('managed: false', 'managed: true'))
  const help = '  = help: see a configuration that fits the tables: snippetctl introspect --manage --force --print\n'
  const { code, stderr } = await run('introspect', '--manage', '--no-resources')
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(help) })
  expect(stderr.match(/^differs/gm)).toHaveLength(12)
  const fitting = await run('introspect', '--manage', '--force', '--print', '--no-resources')
  expect(fitting).toMatchObject({ code: 0, stderr: '' })
  await writeFile(file(), fitting.stdout)
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test('introspect --manage records no table of a model with `managed: false`', async () => {
  await given(TABLES)
  await project.write(
    'resources.yaml',
    `version: 1
models:
  authors:
    managed: false
    fields: { id: { type: bigint, primary_key: true } }
`,
  )
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
  const text = await readFile(join(project.folder, 'migrations/0001_introspected.sql'), 'utf8')
  expect(text).not.toContain('create table "authors"')
})
