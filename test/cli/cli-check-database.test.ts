import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { indexDifferences, loadApplication, migrateUp } from '../../src/internal.js'
import { makeProject, type Project, runInHost } from '../support/cli.js'
import { envOf, openTestDatabase, type TestDatabase } from '../support/database.js'

const YAML = `version: 1
models:
  author:
    table: authors
    fields: { id: { type: bigint, primary_key: true } }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      isbn: { type: string, max: 13, unique: true }
      author: { type: belongs_to, model: author }
      pages: { type: integer }
    indexes:
      - [title, id]
resources:
  book: { model: book, path: /books/, filterable: [title], orderable: [title] }
`

const MIGRATION = `-- up
create table authors (id bigint generated always as identity, constraint authors_pkey primary key (id));
create table books (
  id bigint generated always as identity constraint books_pkey primary key,
  title varchar(100) collate "C" not null,
  isbn varchar(13) collate "C" not null constraint books_isbn_key unique,
  author_id bigint not null constraint books_author_id_fkey references authors (id),
  pages integer not null
);
create index books_title_id_idx on books (title, id);
create index books_author_id_idx on books (author_id);
-- down
drop table books, authors;
`

let project: Project
let database: TestDatabase

beforeEach(async () => {
  project = await makeProject({ 'resources.yaml': YAML, 'migrations/0001_all.sql': MIGRATION })
  database = await openTestDatabase()
})
afterEach(async () => {
  await database.close()
  await project.remove()
})

/** On a server when the tests have one, else on the embedded database of the project. */
const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder, env: envOf(database) })

/** Applies the migrations, and changes the database behind their back. */
async function prepare(...statements: readonly string[]): Promise<void> {
  await migrateUp(database, join(project.folder, 'migrations'))
  for (const text of statements) await database.query({ text, values: [] })
}

/** The warnings of the command, without starting it, which would take longest. */
async function warnings() {
  const loaded = await loadApplication({ file: join(project.folder, 'resources.yaml'), env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  return loaded.warnings((await indexDifferences(loaded.spec, database)).rejections)
}

describe('check --database', () => {
  test('finds a table with a dot in its name', async () => {
    await prepare('alter table books rename to "lent.books"')
    await project.write('resources.yaml', YAML.replace('table: books', `table: '"lent.books"'`))
    expect(await warnings()).toEqual([])
  })

  test('is the help of `migrate status` for tables that migrations do not change', async () => {
    await run('migrate', 'up')
    const other = 'author:\n    table: authors\n    managed: false\n    fields: { name: { type: text },'
    await project.write('resources.yaml', YAML.replace('author:\n    table: authors\n    fields: {', other))
    const { code, stdout, stderr } = await run('migrate', 'status')
    expect([code, stdout]).toEqual([1, expect.stringContaining('column authors.name is missing; migrations do not')])
    expect(stderr).toContain('for details: snippetctl check --database')
    expect(stderr).not.toContain('migrate plan')
  })

  test('finds nothing wrong with a migrated database', async () => {
    await run('migrate', 'up')
    expect(await run('check', '--database')).toEqual({
      code: 0,
      stdout: 'resources.yaml: ok, 1 resource, 6 routes\ndatabase: 5 indexes compared\n',
      stderr: '',
    })
  })

  test('warns about a column with another default than its field', async () => {
    await project.write(
      'migrations/0001_all.sql',
      MIGRATION.replace('pages integer not null', 'pages integer not null default 1'),
    )
    await run('migrate', 'up')
    await writeFile(
      join(project.folder, 'resources.yaml'),
      YAML.replace('pages: { type: integer }', 'pages: { type: integer, default: 2 }'),
    )
    const { code, stdout, stderr } = await run('check', '--database')
    expect([code, `${stdout}${stderr}`]).toEqual([
      0,
      expect.stringContaining('[SC418]: the column `books.pages` has the default `1`, and the file declares `'),
    ])
  })

  test('warns about a message for a constraint that the table lacks', async () => {
    await run('migrate', 'up')
    const text = YAML.replace(
      '    indexes:\n',
      '    messages: { books_isbn_key: Taken, books_isbn_kye: Taken }\n    indexes:\n',
    )
    await writeFile(join(project.folder, 'resources.yaml'), text)
    const { code, stdout, stderr } = await run('check', '--database')
    expect([code, `${stdout}${stderr}`]).toEqual([0, expect.stringMatching(/warning\[SC408\].*`books_isbn_kye`/)])
    expect(`${stdout}${stderr}`).not.toContain('no constraint `books_isbn_key`')
  })

  test.each([
    [
      'a declared index',
      'drop index books_title_id_idx',
      '15:9 `(title, id)`',
      'create index concurrently "books_title_id_idx" on "books" ("title", "id")',
    ],
    [
      'the index of a relation',
      'drop index books_author_id_idx',
      '12:7 `(author_id)`',
      'create index concurrently "books_author_id_idx" on "books" ("author_id")',
    ],
    [
      'a unique index',
      'alter table books drop constraint books_isbn_key',
      '11:7 `(isbn)`',
      'alter table "books" add constraint "books_isbn_key" unique ("isbn")',
    ],
    [
      'an index on other columns instead',
      'drop index books_title_id_idx; create index mine on books (title, pages)',
      '15:9 `(title, id)`',
      'create index',
    ],
    [
      'a partial index instead',
      'drop index books_title_id_idx; create index mine on books (title, id) where id > 5',
      '15:9 `(title, id)`',
      'create index',
    ],
    [
      'an index in another order instead',
      'drop index books_title_id_idx; create index mine on books (title, id desc)',
      '15:9 `(title, id)`',
      'create index',
    ],
    [
      'an index with another position for nulls instead',
      'drop index books_title_id_idx; create index mine on books (title nulls first, id nulls first)',
      '15:9 `(title, id)`',
      'create index',
    ],
    [
      'an index with another collation instead',
      'drop index books_title_id_idx; create index mine on books (title collate "und-x-icu", id)',
      '15:9 `(title, id)`',
      'create index',
    ],
  ])('names a missing index: %s', async (_name, statement, where, again) => {
    await prepare(statement)
    const missing = (await warnings()).filter(({ code }) => code === 'SC403')
    const [{ message = '', range, help = [] } = {}] = missing
    expect(missing).toHaveLength(1)
    expect(`${range?.start.line}:${range?.start.column} ${/`\(.*?\)`/.exec(message)?.[0]}`).toBe(where)
    expect(help[1]).toContain(`create it again: ${again}`)
  })

  test.each([
    ['in reverse order', 'create index mine on books (title desc, id desc)'],
    ['with more columns', 'create index mine on books (title, id, pages)'],
  ])('accepts another index that serves the same lists: %s', async (_name, statement) => {
    await prepare('drop index books_title_id_idx', statement)
    expect(await warnings()).toEqual([])
  })

  test('names an invalid index', async () => {
    await prepare(`update pg_index set indisvalid = false where indexrelid = 'books_title_id_idx'::regclass`)
    expect(await warnings()).toMatchObject([
      {
        code: 'SC404',
        message: expect.stringContaining('`books_title_id_idx`'),
        help: [expect.stringContaining('reindex')],
      },
    ])
  })

  test.each([
    [
      'no list uses it',
      'create index mine on books (pages)',
      'nothing uses the index `mine` of the database: no list reads by `pages`',
    ],
    [
      'another index starts with its columns',
      'create index mine on books (title)',
      '`books_title_id_idx` starts with the same columns',
    ],
    [
      'another index has the same columns',
      'create index mine on books (title, id)',
      '`books_title_id_idx` starts with the same columns',
    ],
    ['its field is unique', 'create index mine on books (isbn)', '`books_isbn_key` starts with the same columns'],
  ])('names an unneeded index of the database: %s', async (_name, statement, message) => {
    await prepare(statement)
    expect(await warnings()).toMatchObject([
      {
        code: 'SC405',
        message: expect.stringContaining(message),
        help: [expect.stringMatching(/: drop index if exists "mine"$/)],
      },
    ])
  })

  test.each([
    ['is unique', 'create unique index mine on books (pages, title)'],
    ['is over an expression', 'create index mine on books (lower(title))'],
    ['is not a B-tree', 'create index mine on books using hash (pages)'],
    ['a list uses', 'create index mine on books (title, pages)'],
    [
      'serves a foreign key that no field describes',
      'create table sizes (pages integer primary key); alter table books add foreign key (pages) references sizes; create index mine on books (pages)',
    ],
  ])('does not report an index of the database that %s', async (_name, statement) => {
    await prepare(statement)
    expect(await warnings()).toEqual([])
  })

  test('reports pending migrations, compares nothing, and exits with 1', async () => {
    await run('migrate', 'up')
    await project.write('migrations/0002_more.sql', '-- up\nselect 1;\n')
    const text = await run('check', '--database')
    expect(text).toEqual({
      code: 1,
      stdout:
        'resources.yaml: ok, 1 resource, 6 routes\ndatabase: 1 migration not applied, so nothing was compared: 0002_more\n',
      stderr: '  = help: see why: snippetctl migrate status\n',
    })
    const json = await run('check', '--database', '--json')
    expect({ code: json.code, ...(JSON.parse(json.stdout) as object) }).toMatchObject({
      code: 1,
      ok: true,
      database: { pending: ['0002_more'] },
    })
  })

  test('names a table that no migration creates', async () => {
    await prepare()
    await project.write(
      'resources.yaml',
      YAML.replace('models:\n', 'models:\n  shelf:\n    fields: { id: { type: bigint, primary_key: true } }\n'),
    )
    expect(await warnings()).toMatchObject([{ code: 'SC403', message: 'the database has no table `shelf`' }])
  })

  test('prints its findings, and exits with 0', async () => {
    await project.write('migrations/0001_all.sql', MIGRATION.replace(/create index books_title.*\n/, ''))
    await run('migrate', 'up')
    const { code, stdout, stderr } = await run('check', '--database')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^warning\[SC403\]: the database has no index `\(title, id\)` of the table `books`\n/)
    expect(stdout).toMatch(/\nresources\.yaml: ok, 1 resource, 6 routes, 1 warning\ndatabase: 4 indexes compared\n$/)
    await project.write('resources.yaml', YAML.replace('models:', 'database: { managed: false }\nmodels:'))
    expect((await run('check', '--database')).stdout).toMatch(/\ndatabase: 4 indexes compared\n$/)
  })

  test('creates no embedded database', async () => {
    const { code, stdout, stderr } = await runInHost(['check', '--database'], { cwd: project.folder })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(
      /^error: the project has no database yet: .*\n {2}= help: create it: snippetctl migrate up\n$/,
    )
    expect(existsSync(join(project.folder, '.snippetctl', 'pg'))).toBe(false)
  })

  test.each([
    { host: '127.0.0.1', reason: /ECONNREFUSED 127\.0\.0\.1:1/ },
    { host: 'missing.invalid', reason: /(ENOTFOUND|EAI_AGAIN) missing\.invalid/ },
  ])('exits with 2 and the reason if the database at $host is unreachable', async ({ host, reason }) => {
    const env = { DATABASE_URL: `postgres://nobody@${host}:1/nowhere` }
    const { code, stderr } = await runInHost(['check', '--database'], { cwd: project.folder, env })
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(new RegExp(`cannot reach the database: .*${reason.source}`)),
    })
  })

  test('names `DATABASE_URL` if other programs own all tables', async () => {
    await project.write('resources.yaml', YAML.replace('version: 1', 'version: 1\ndatabase: { managed: false }'))
    const { stderr } = await runInHost(['check', '--database'], { cwd: project.folder, env: {} })
    expect(stderr).toContain('= help: set DATABASE_URL to the database that has the tables\n')
  })
})
