import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { testDatabaseKind } from '../../support/database.js'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

const configuration = () => readFile(join(project.folder, 'resources.yaml'), 'utf8')

const TABLES = `
  create table authors (id serial primary key, name varchar(80) not null,
    initial text generated always as (left(name, 1)) stored);
  create table books (id bigserial primary key, author_id integer not null references authors on delete cascade, isbn text unique);
  -- Where answers are kept is no model of anybody's.
  create table snippetctl_answers (id bigserial primary key, key text);`

describe('introspect', () => {
  test('prints models and writes nothing with --print', async () => {
    await given(TABLES)
    const { code, stdout, stderr } = await run(
      'introspect',
      '--manage',
      '--no-resources',
      '--print',
      '--tables',
      'authors',
    )
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `version: 1

models:
  # authors.initial: no field: it is computed; nothing can be added while migrations create the table: the column stays as it is
  authors:
    fields:
      id:   { type: integer, primary_key: true }
      name: { type: string, max: 80, collation: default }
`,
      stderr:
        'left  authors.initial: no field: it is computed; nothing can be added while migrations create the table: the column stays as it is\n',
    })
    await expect(configuration()).rejects.toThrow('ENOENT')
    await expect(access(join(project.folder, 'migrations'))).rejects.toThrow('ENOENT')
  })

  test('prints the report and writes nothing with --print --json', async () => {
    await given(TABLES)
    const { code, stdout } = await run('introspect', '--print', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, models: [{ model: 'authors' }, { model: 'books' }] })
    await expect(configuration()).rejects.toThrow('ENOENT')
  })

  test('prints names with control characters on one line', async () => {
    await given('create table odd (id integer primary key, "a\n\u001b[31mb" integer generated always as (id) stored)')
    const { stderr } = await run('introspect', '--manage', '--print')
    expect(stderr).toMatch(/^left {2}odd\.a \[31mb: no field: [^\n\u001b]*\n$/)
  })

  test('says that other tables have no model', async () => {
    await given('create table nothing (); create table books (id integer primary key)')
    expect(await run('introspect')).toMatchObject({ code: 0 })
    expect(await run('introspect')).toMatchObject({
      code: 0,
      stderr:
        'left  nothing has no model: it has no columns; nothing can be added\nnothing to add: every other table has a model in resources.yaml\n',
    })
  })

  test('names the schemas in which a table is missing', async () => {
    await given('create schema sales; create schema stock; create table sales.orders (id integer primary key)')
    expect(await run('introspect', '--schema', 'sales,stock', '--tables', 'orders')).toMatchObject({
      code: 2,
      stderr: 'error: there is no table orders in the schemas sales, stock\n  = help: There is: sales.orders\n',
    })
    expect(await run('introspect', '--schema', 'stock', '--tables', 'orders')).toMatchObject({
      code: 2,
      stderr: 'error: there is no table orders in the schema stock\n',
    })
  })

  test('says that --schema is not for tables of migrations, also if it names their schema', async () => {
    await given('create table books (id integer primary key)')
    expect(await run('introspect', '--manage', '--schema', 'public')).toMatchObject({
      code: 2,
      stderr:
        'error: --schema is for tables that migrations do not create: they create tables in the schema of the connection\n' +
        '  = help: Leave out --schema, or introspect other schemas in a folder of their own, without --manage\n',
    })
  })

  test('declares a check completely or not at all', async () => {
    await given(`create table codes (id serial primary key,
      code text check (char_length(code) > 2 and code in ('abc', 'abcd')) check (char_length(code) < 10))`)
    const { stdout, stderr } = await run('introspect', '--manage', '--no-resources', '--print')
    expect(stdout).toContain('code: { type: text, max: 9, collation: default, nullable: true }')
    expect(stderr).toMatch(/^left {2}codes\.code: the check codes_code_check stays as it is: .*\n$/)
  })

  test('reads the length of a jsonb as the text that PostgreSQL prints', async () => {
    await given(`create table notes (id serial primary key,
      extra jsonb check (octet_length(extra::text) <= 2000), other jsonb check (length(other::text) <= 2000))`)
    const { stdout, stderr } = await run('introspect', '--manage', '--no-resources', '--print')
    expect(stdout).toContain('extra: { type: json, max: 2000, nullable: true }')
    expect(stderr).toMatch(/^left {2}notes\.other: the check notes_other_check stays as it is: .*\n$/)
  })

  test('ignores the casts of a check only if they keep each value and the order of values', async () => {
    await given(`create table prices (id serial primary key,
      year integer check (year::text >= '10') check (year::bigint >= 1),
      price numeric(6, 2) check (price::bigint >= 1) check (price <= 5::numeric),
      ratio real check (ratio::double precision >= 0.5::double precision) check (ratio::integer <= 2))`)
    const { stdout } = await run('introspect', '--manage', '--no-resources', '--print')
    for (const part of [
      'year:  { type: integer, minimum: 1, nullable: true }',
      'price: { type: decimal, precision: 6, scale: 2, maximum: "5.00", nullable: true }',
      'ratio: { type: float, bits: 32, minimum: 0.5, nullable: true }',
      "# prices.year: the check prices_year_check stays as it is: CHECK (((year)::text >= '10'::text))",
      '# prices.price: the check prices_price_check stays as it is: CHECK (((price)::bigint >= 1))',
      '# prices.ratio: the check prices_ratio_check1 stays as it is: CHECK (((ratio)::integer <= 2))',
    ])
      expect(stdout).toContain(part)
  })

  test.each([
    'standard_conforming_strings = on',
    // Only a server opens a new session for each command.
    ...(testDatabaseKind() === 'postgres' ? ['standard_conforming_strings = off', 'quote_all_identifiers = on'] : []),
  ])('reads types, and texts with backslashes, in a database with %s', async (setting) => {
    await given(`do $$ begin
      execute format('alter database %I set ${setting}', current_database());
    end $$`)
    await given(String.raw`create table paths (id serial primary key,
      "at" text collate "C" not null default E'C:\\it''s\\',
      kind text collate "C" not null default 'a\b' check (kind in ('a\b', E'\\', 'c')), day date not null)`)
    const { stdout, stderr } = await run('introspect', '--manage', '--no-resources', '--print')
    expect({ stdout, stderr }).toEqual({
      stdout: String.raw`version: 1

models:
  paths:
    fields:
      id:   { type: integer, primary_key: true }
      at:   { type: text, default: "C:\\it's\\" }
      kind: { type: choice, choices: ["a\\b", "\\", c], default: "a\\b" }
      day:  { type: date }
`,
      stderr: '',
    })
  })

  test('leaves out `create` for a managed table if only a trigger fills a column that no request can set', async () => {
    await given(`create table films (id serial primary key, title text, words tsvector not null);
      create function fill() returns trigger language plpgsql as $$ begin new.words := to_tsvector('simple', new.title); return new; end $$;
      create trigger fill before insert or update on films for each row execute function fill();`)
    expect(await run('introspect', '--manage')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'left  films: no request can create records: words is not null and has no default',
      ),
    })
    expect(await configuration()).toContain('operations: [list, retrieve, update, partial_update, destroy]')
    expect(await run('check')).toMatchObject({ code: 0 })
  })

  test('only adds what a file lacks, and exposes nothing', async () => {
    const before = `# ours
version: 1
models:
  # people who write
  writer:
    table: authors
    fields:
      id: { type: integer, primary_key: true } # a counter
      name: { type: string, max: 80, collation: default }
# the end
settings: {}
`
    await project.write('resources.yaml', before)
    await given(TABLES)
    const outcome = await run('introspect', '--manage', '--no-resources')
    expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('wrote resources.yaml: 1 new model\n') })
    expect(await configuration()).toBe(
      before.replace(
        '# the end',
        `
  books:
    fields:
      id:     { type: bigint, primary_key: true }
      author: { type: belongs_to, model: writer, on_delete: cascade }
      isbn:   { type: text, collation: default, nullable: true, unique: true }

# the end`,
      ),
    )
    expect(await run('migrate', 'status')).toMatchObject({ code: 0 })
    // A second time there is nothing to add and nothing to record.
    expect(await run('introspect', '--manage', '--no-resources')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('nothing to add'),
    })
  })

  test.each([
    ['an unknown table', ['--tables', 'autors'], ['there is no table autors', 'There is: authors, books']],
    ['an invalid file', [], ['resources.yaml:1:']],
  ] as const)('rejects %s and writes nothing', async (_what, args, said) => {
    await given(TABLES)
    if (args.length === 0) await project.write('resources.yaml', 'models: 5\n')
    const { code, stderr } = await run('introspect', '--manage', ...args)
    expect({ code, missing: said.filter((text) => !stderr.includes(text)) }).toEqual({ code: 2, missing: [] })
    await expect(access(join(project.folder, 'migrations'))).rejects.toThrow('ENOENT')
  })

  test('rewrites the file with --force', async () => {
    await project.write('resources.yaml', 'models: 5\n')
    await given(TABLES)
    expect(await run('introspect', '--force', '--manage', '--no-resources')).toMatchObject({ code: 0 })
    expect(await configuration()).toMatch(/^version: 1\n\nmodels:\n/)
  })

  test('a later change of the file is planned against the database', async () => {
    await given(TABLES)
    expect(await run('introspect', '--manage', '--no-resources')).toMatchObject({ code: 0 })
    await project.write('resources.yaml', (await configuration()).replace('type: text, ', 'type: text, max: 13, '))
    const { stdout } = await run('migrate', 'plan', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      steps: [{ change: 'add', subject: 'books.books_isbn_length' }],
      rejections: [],
    })
  })
})
