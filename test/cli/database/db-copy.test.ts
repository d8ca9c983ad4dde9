import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
} from '../../support/cli.js'
import { onProjectDatabase, runSql } from '../../support/existing.js'
import { openShelves, type Shelves } from '../../support/shelves.js'

// The target is a server, which the embedded run of the tests lacks.
const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

const TAGS = `version: 1
models:
  tag:
    fields:
      name: { type: string, max: 40, collation: default, primary_key: true }
resources:
  tag: { model: tag, path: /tags/ }
`
const RECORDS = `{"author": [{"id": 7, "name": "Émile", "mentor": 9}, {"id": 9, "name": "George"}],
  "book": [
    {"id": 9007199254740993, "title": "😀\\u0001\\n", "price": "-99999999999999999999999999999999.01", "weight": 5e-324,
     "extra": {"a": 9223372036854775809}, "author": 7, "created_at": "0001-01-01T00:00:00.000001Z"},
    {"id": 2, "title": "", "token": "0190163d-8694-739b-aea5-966c26f8ad91"}]}`

onServer('db copy', () => {
  let source: Shelves
  let target: TestDatabase

  beforeAll(async () => {
    source = await openShelves({ embedded: true })
    await source.project.write('records.json', RECORDS)
    expect((await source.run('seed', 'records.json')).code).toBe(0)
    target = await openTestDatabase()
  })

  afterAll(async () => {
    await source.remove()
    await target.close()
  })

  const copy = (url = target.url ?? '') => source.run('db', 'copy', '--to', url)
  const onTarget = (...args: readonly string[]) =>
    runInHost(args, { cwd: source.project.folder, env: { DATABASE_URL: target.url ?? '' } })

  test('copies nothing if a row changes during the copy', async () => {
    expect((await onTarget('migrate', 'up')).code).toBe(0)
    await target.query({
      text: `create function spoil() returns trigger language plpgsql as $$
      begin new.title := new.title || 'x'; return new; end $$`,
      values: [],
    })
    await target.query({
      text: 'create trigger spoil before insert on books for each row execute function spoil()',
      values: [],
    })
    const { code, stderr } = await copy()
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing was copied: row 1 of books is not the same in the target'),
    })
    const { rows } = await target.query({ text: 'select count(*)::text from authors', values: [] })
    expect(rows).toEqual([['0']])
    await target.query({ text: 'drop trigger spoil on books', values: [] })
  })

  test('copies every record and sequence, and reports the comparison', async () => {
    const { code, stdout, stderr } = await copy()
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toMatch(/copied 4 rows of 2 tables to PostgreSQL at .*, and compared each: all are the same\n/)
    for (const resource of ['author', 'book'])
      expect((await onTarget('dump', resource)).stdout).toBe((await source.run('dump', resource)).stdout)
    const statistics = `select relname, reltuples::int::text from pg_class where relname in ('authors', 'books') order by 1`
    expect((await target.query({ text: statistics, values: [] })).rows).toEqual([
      ['authors', '2'],
      ['books', '2'],
    ])
    const added = await target.query({
      text: `insert into authors (name) values ('New') returning id::text`,
      values: [],
    })
    expect(added.rows).toEqual([['10']])
    const keys = await target.query({
      text: `select count(*)::text from pg_constraint where contype = 'f' and condeferrable`,
      values: [],
    })
    expect(keys.rows).toEqual([['0']])
  })

  test('rejects a target that has rows', async () => {
    expect(await copy()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the target has rows already, in authors, books\n'),
    })
  })

  test.each([
    { url: 'mysql://nowhere', says: '--to is malformed' },
    { url: 'postgres://nobody@127.0.0.1:1/nowhere', says: 'cannot reach the target' },
  ])('rejects the target $url', async ({ url, says }) => {
    const { code, stderr } = await copy(url)
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(says) })
  })
})

onServer('db copy of texts as keys', () => {
  let source: Shelves
  let server: TestDatabase
  const name = `copy_${process.pid}_in_another_order`
  beforeAll(async () => {
    source = await openShelves({ embedded: true, yaml: TAGS })
    server = await openTestDatabase()
    const text = `create database ${name} template template0 locale_provider icu icu_locale 'en-US' locale 'C.UTF-8'`
    await server.query({ text, values: [] })
  })
  afterAll(async () => {
    await server.query({ text: `drop database if exists ${name}`, values: [] })
    await server.close()
    await source.remove()
  })

  test('copies rows that the target sorts in another order', async () => {
    const url = new URL(server.url ?? '')
    url.pathname = `/${name}`
    await source.project.write('records.json', '{"tag": [{"name": "a"}, {"name": "B"}, {"name": "c"}]}')
    expect((await source.run('seed', 'records.json')).code).toBe(0)
    const env = { DATABASE_URL: url.href }
    expect((await runInHost(['migrate', 'up'], { cwd: source.project.folder, env })).code).toBe(0)
    expect(await source.run('db', 'copy', '--to', url.href)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('copied 3 rows of 1 table to'),
    })
  })
})

const READINGS = `version: 1
models:
  reading:
    table: readings
    managed: false
    fields:
      year: { type: integer, primary_key: true }
      value: { type: integer }
resources:
  reading: { model: reading, path: /readings/ }
`

onServer('db copy of partitioned tables', () => {
  test('copies those of models, and reports those without a model once', async () => {
    const target = await openTestDatabase()
    const project = await makeProject({ 'resources.yaml': READINGS })
    const partitioned = (name: string) =>
      `create table ${name} (year integer primary key, value integer not null) partition by range (year);
       create table ${name}_2026 partition of ${name} for values from (2026) to (2027)`
    await onProjectDatabase(project, undefined, (source) =>
      runSql(
        source,
        `${partitioned('readings')}; ${partitioned('notes')};
         insert into readings values (2026, 5); insert into notes values (2026, 6)`,
      ),
    )
    for (const text of partitioned('readings').split(';')) await target.query({ text, values: [] })
    const { code, stderr } = await runInHost(['db', 'copy', '--to', target.url ?? ''], { cwd: project.folder })
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /copied 1 row of 1 table .*\nwarning: not copied, because no model has them: notes\n/,
      ),
    })
    expect((await target.query({ text: 'select value::text from readings', values: [] })).rows).toEqual([['5']])
    await project.remove()
    await target.close()
  })
})

/** Books with values that differ whenever the migration is run. */
const STAMPED = BOOKS.replace(
  'max: 100 }',
  `max: 100 }
      token: { type: uuid, default: { function: uuid } }
      created_at: { type: timestamp, auto: on_create }`,
)

const STAMPED_MIGRATION = BOOKS_MIGRATION.replace(
  'not null,',
  `not null,
  "token" uuid default gen_random_uuid() not null,
  "created_at" timestamptz default now() not null,`,
)

const ROWS_MIGRATION = `-- up\ninsert into books (title) values ('Emma'), ('Ulysses');\n`

onServer('db copy of a project whose migration creates rows', () => {
  let project: Project
  let target: TestDatabase

  beforeAll(async () => {
    project = await makeProject({
      'resources.yaml': STAMPED,
      [BOOKS_MIGRATION_FILE]: STAMPED_MIGRATION,
      'migrations/0002_rows.sql': ROWS_MIGRATION,
    })
    target = await openTestDatabase()
    expect((await migrate()).code).toBe(0)
    await onProjectDatabase(project, undefined, (source) =>
      runSql(
        source,
        `update books set title = 'Emma, 2nd edition' where id = 1; insert into books (title) values ('Own')`,
      ),
    )
  })

  afterAll(async () => {
    await project.remove()
    await target.close()
  })

  const migrate = (env = {}) => runInHost(['migrate', 'up'], { cwd: project.folder, env })
  const copy = () => runInHost(['db', 'copy', '--to', target.url ?? ''], { cwd: project.folder })
  const titles = async () =>
    (await target.query({ text: 'select title from books order by id', values: [] })).rows.flat()

  test('rejects a target in which rows were added to those of migrations', async () => {
    expect((await migrate({ DATABASE_URL: target.url ?? '' })).code).toBe(0)
    await target.query({ text: `update books set title = 'Mine' where id = 2`, values: [] })
    expect(await copy()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the target has rows already, in books\n'),
    })
    expect(await titles()).toEqual(['Emma', 'Mine'])
  })

  test.each([
    {
      reason: 'a table without a model refers to them',
      obstacle: 'create table notes (book bigint references books)',
      says: /cannot be replaced: cannot truncate a table referenced in a foreign key constraint\n.*= help: a table without a model refers to them/,
    },
    {
      reason: 'a trigger rejects it',
      obstacle: `create function keep() returns trigger language plpgsql as $$ begin raise 'kept'; end $$;
        create trigger keep before truncate on books execute function keep()`,
      says: /the rows that migrations inserted into books cannot be replaced: kept\n$/,
    },
  ])('does not replace the rows of migrations if $reason', async ({ obstacle, says }) => {
    await target.query({ text: 'drop table if exists notes, books, snippetctl_migrations', values: [] })
    expect((await migrate({ DATABASE_URL: target.url ?? '' })).code).toBe(0)
    for (const text of obstacle.split(/;(?=\s+create trigger)/)) await target.query({ text, values: [] })
    expect(await copy()).toMatchObject({ code: 2, stderr: expect.stringMatching(says) })
    expect(await titles()).toEqual(['Emma', 'Ulysses'])
  })

  test('replaces the rows that migrations created, and reports it', async () => {
    await target.query({ text: 'drop table books, snippetctl_migrations', values: [] })
    expect(await copy()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('rows that migrations had made there were replaced, in books\n'),
    })
    expect(await titles()).toEqual(['Emma, 2nd edition', 'Ulysses', 'Own'])
  })
})

onServer('db copy to a target whose rows a later migration rewrote', () => {
  let target: TestDatabase

  beforeAll(async () => {
    target = await openTestDatabase()
  })

  afterAll(() => target.close())

  const query = async (text: string) => (await target.query({ text, values: [] })).rows

  test.each([
    {
      change: 'changed before they were backfilled',
      users: `update books set title = 'Mine' where id = 2`,
      again: `update books set title = title || '!'`,
    },
    {
      change: 'added before the table was rewritten',
      users: `insert into books (title) values ('Mine')`,
      again: 'alter table books alter token type uuid using token::text::uuid',
    },
  ])('rejects rows of migrations that users $change, and keeps them', async ({ users, again }) => {
    await query('drop table if exists books, snippetctl_migrations')
    const { folder, write, remove } = await makeProject({
      'resources.yaml': STAMPED,
      [BOOKS_MIGRATION_FILE]: STAMPED_MIGRATION,
      'migrations/0002_rows.sql': ROWS_MIGRATION,
    })
    const migrate = (env = {}) => runInHost(['migrate', 'up'], { cwd: folder, env })
    expect((await migrate({ DATABASE_URL: target.url ?? '' })).code).toBe(0)
    await query(users)
    await write('migrations/0003_again.sql', `-- up\n${again};\n`)
    expect((await migrate({ DATABASE_URL: target.url ?? '' })).code).toBe(0)
    expect((await migrate()).code).toBe(0)
    const before = await query('select * from books order by id')
    expect(await runInHost(['db', 'copy', '--to', target.url ?? ''], { cwd: folder })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the target has rows already, in books\n'),
    })
    expect(await query('select * from books order by id')).toEqual(before)
    await remove()
  })
})
