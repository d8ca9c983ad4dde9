import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runInHost } from '../../support/cli.js'
import { openTestDatabase, testDatabaseKind } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { projectPerTest } from '../../support/project-per-test.js'

const PAGES = '-- up\n\nalter table books add pages integer;\n\n-- down\n\nalter table books drop pages;\n'
const NOTE = '-- up\n\nalter table books add note text;\n\n-- down\n\nalter table books drop note;\n'

const project = projectPerTest({
  'resources.yaml': BOOKS,
  [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
  'migrations/0002_add_pages.sql': PAGES,
})
const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
const migrate = (...args: readonly string[]) => project.run('migrate', ...args)

const files = async () => (await readdir(join(project.folder, 'migrations'))).sort()
const read = (name: string) => readFile(join(project.folder, 'migrations', name), 'utf8')

const cell = (text: string) =>
  project.onDatabase(async (connection) => (await connection.query({ text, values: [] })).rows[0]?.[0])

describe('migrate squash', () => {
  test('replaces files in a database that ran all of them, and later files keep their numbers', async () => {
    await migrate('up')
    const outcome = await migrate('squash')
    expect(outcome).toMatchObject({ code: 0 })
    expect(outcome.stderr).toContain(
      'wrote migrations/0002_squashed.sql in place of 2 files: it creates the same schema',
    )
    expect(await files()).toEqual(['0002_squashed.sql'])
    const text = await read('0002_squashed.sql')
    expect(text.match(/create table/g)).toHaveLength(1)
    expect(text).not.toContain('alter table "books" add')
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to apply') })
    await project.write('migrations/0003_add_note.sql', NOTE)
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^applied {2}0003_add_note/) })
    expect((await migrate('status')).stdout).toMatch(/applied +0002_squashed .*\napplied +0003_add_note/)
    expect(await migrate('down', '--allow-destructive=books.note')).toMatchObject({ code: 0 })
    expect(await migrate('down')).toMatchObject({ code: 2, stderr: expect.stringContaining('has no down part') })
    await migrate('up')
    expect(await migrate('squash', '--name', 'again')).toMatchObject({ code: 0 })
    expect(await files()).toEqual(['0003_again.sql'])
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to apply') })
  })

  test('makes the same schema and rows in a new database', async () => {
    await project.write(
      'migrations/0003_first_book.sql',
      '-- up\n\ninsert into books (title, pages) values (\'One; "two"\', 3);\n\n-- down\n\ndelete from books;\n',
    )
    expect(await migrate('squash')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^applied {2}0003_squashed/) })
    expect(await cell('select title || pages from books')).toBe('One; "two"3')
  })

  test('rejects a database that ran only some of the files, and names the way out', async () => {
    await migrate('up')
    await project.write('migrations/0003_add_note.sql', NOTE)
    expect(await migrate('squash')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /applied only some of the files, and not 0003_add_note\n {2}= help: Apply them first, here and in every other database: snippetctl migrate up/,
      ),
    })
    expect(await files()).toHaveLength(3)
    expect(await migrate('squash', '--through', '0002_add_pages')).toMatchObject({ code: 0 })
    expect(await files()).toEqual(['0002_squashed.sql', '0003_add_note.sql'])
  })

  test('in another database that ran only some of the files, up stops and says what to do', async () => {
    const old = [await read('0001_create_books.sql'), await read('0002_add_pages.sql')]
    // The project is squashed elsewhere, while this database has the first file only.
    await project.write('migrations/0002_add_pages.sql', '-- up\n\n-- down\n')
    await migrate('up')
    await project.write('migrations/0002_add_pages.sql', old[1] ?? '')
    const elsewhere = await makeProject({
      'resources.yaml': BOOKS,
      [BOOKS_MIGRATION_FILE]: old[0] ?? '',
      'migrations/0002_add_pages.sql': old[1] ?? '',
    })
    await runInHost(['migrate', 'squash'], { cwd: elsewhere.folder })
    const squashed = await readFile(join(elsewhere.folder, 'migrations', '0002_squashed.sql'), 'utf8')
    await elsewhere.remove()
    await project.write('migrations/0002_squashed.sql', squashed)
    expect(await migrate('up')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/0001_create_books\.sql is replaced by 0002_squashed: delete it/),
    })
    await rm(join(project.folder, 'migrations/0001_create_books.sql'))
    await rm(join(project.folder, 'migrations/0002_add_pages.sql'))
    const rejected = await migrate('up')
    expect(rejected).toMatchObject({ code: 2 })
    expect(rejected.stderr).toContain(
      '0002_squashed replaces several migrations, but this database has applied only some of them: 0002_add_pages not at all, or with another text',
    )
    expect(rejected.stderr).toContain(
      'with the version of the project that still has their files: snippetctl migrate up',
    )
    await project.sql("insert into books (title) values ('Middlemarch')")
    await project.write('resources.yaml', BOOKS.replace('max: 100', 'max: 5'))
    const planned = await migrate('plan')
    expect(planned.stdout).toContain('1 of 1 rows')
    expect(planned.stdout).not.toContain('cannot')
    await project.write('resources.yaml', BOOKS)
    const diagnosed = await migrate('resolve')
    expect(diagnosed).toMatchObject({ code: 1 })
    expect(diagnosed.stdout).toContain(
      [
        '  = help: apply 0002_add_pages first, with the version of the project that still has these files: snippetctl migrate up',
        '  = help: or make their changes by hand; changes of rows are not compared:',
        '  = help: restore it: alter table "books" add column "pages" integer',
        '',
      ].join('\n'),
    )
    await project.sql('alter table "books" add column "pages" integer')
    expect((await migrate('resolve')).stdout).toContain(
      [
        '  = help: changes of rows are not compared: unless the database has the row changes of 0002_add_pages, apply 0002_add_pages first, with the version of the project that still has these files: snippetctl migrate up',
        '  = help: the database confirms this: snippetctl migrate resolve --applied 0002_squashed',
        '',
      ].join('\n'),
    )
    expect(await migrate('resolve', '--applied', '0002_squashed')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to apply') })
  })

  test('rejects the name of a file that exists, before it writes anything', async () => {
    await project.write('migrations/0002_squashed.sql', PAGES)
    await rm(join(project.folder, 'migrations/0002_add_pages.sql'))
    await migrate('up')
    const before = await files()
    expect(await migrate('squash')).toMatchObject({
      code: 2,
      stderr:
        'error: the migration 0002_squashed exists already\n  = help: Choose another name: snippetctl migrate squash --name NAME\n',
    })
    expect(await files()).toEqual(before)
    expect(await migrate('squash', '--name', 'all')).toMatchObject({ code: 0 })
    expect(await files()).toEqual(['0002_all.sql'])
  })

  test.each([
    [
      'grant select on books to public;',
      'the final tables do not show the effect of `grant select on books to public` in 0003_more',
    ],
    [
      'grant create on schema public to public;',
      'the final tables do not show the effect of `grant create on schema public to public` in 0003_more',
    ],
    [
      'do $$ begin perform 1; end $$;',
      'the final tables do not show the effect of `do $$ begin perform 1; end $$` in 0003_more',
    ],
    [
      'alter table books alter title set statistics 500;',
      'statistics target of column title of books is not recorded\n',
    ],
    ['alter table books cluster on books_pkey;', 'clustering by books_pkey of books is not recorded\n'],
    [
      'create access method mine type table handler heap_tableam_handler;\n\ncreate table notes (id integer) using mine;',
      'the final tables do not show the effect of `create access method mine type table handler heap_tableam_handler` in 0003_more',
    ],
    ['alter index books_pkey set (fillfactor = 50);', 'a single file would create different other objects'],
    ['alter table books alter id restart with 100;', 'a single file would create different other objects'],
    ['create statistics pairs on id, title from books;', 'statistics pairs of books is not recorded\n'],
    [
      'create materialized view titles as select title from books;',
      'titles is not recorded: it is a materialized view\n',
    ],
    [
      "create view titles as select title from books;\n\ncomment on view titles is 'by title';",
      'a single file would create different views, column order, other objects',
    ],
    [
      "comment on constraint books_pkey on books is 'the number';",
      'comment on constraint books_pkey of books is not recorded\n',
    ],
  ])('keeps `%s`, which the final tables do not say', async (statement, reason) => {
    await project.write('migrations/0003_more.sql', `-- up\n\n${statement}\n`)
    const outcome = await migrate('squash')
    expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining(`one by one, because ${reason}`) })
    expect(await read('0003_squashed.sql')).toContain(`\n${statement}\n`)
  })

  onServer('does not take grants and objects of the scratch database for those of the files', async () => {
    const scratch = await openTestDatabase()
    try {
      await runSql(scratch, 'alter default privileges grant select on tables to public; create publication everything')
      const outcome = await migrate('squash', '--scratch', scratch.url ?? '')
      expect(outcome).toMatchObject({ code: 0, stderr: expect.not.stringContaining('one by one') })
    } finally {
      await scratch.close()
    }
  })

  test('leaves out the checks that a plan makes before it converts values', async () => {
    const shorter = BOOKS.replace('max: 100', 'max: 40')
    await project.write('resources.yaml', shorter)
    expect(await migrate('plan', '--write', 'shorter')).toMatchObject({ code: 0 })
    expect(await read('0003_shorter.sql')).toContain('do $$')
    expect(await migrate('squash')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('one by one') })
    expect(await read('0003_squashed.sql')).not.toContain('do $$')
  })

  test('creates final tables that are unlogged or have storage parameters', async () => {
    const statements = 'create unlogged table cache (k text primary key);\nalter table books set (fillfactor = 70);'
    await project.write('migrations/0003_more.sql', `-- up\n\n${statements}\n`)
    expect(await migrate('squash')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('one by one') })
    const text = await read('0003_squashed.sql')
    expect(text).toContain('create unlogged table "cache" (')
    expect(text).toContain(") with (fillfactor = '70');")
    expect(text).not.toContain('alter table books')
  })

  test('creates views, which a plan still drops with their models', async () => {
    const tables = BOOKS.replace('    fields:\n', '    fields:\n      pages: { type: integer, nullable: true }\n')
    const views = `
  title:
    table: titles
    view: select upper(title) as title from books
    primary_key: [title]
    fields: { title: { type: text } }
  count:
    table: a_count
    view: select title, count(*) as n from titles group by title
    primary_key: [title]
    fields: { title: { type: text }, n: { type: bigint } }
resources:`
    await project.write('resources.yaml', tables.replace('\nresources:', views))
    expect(await migrate('plan', '--write', 'views')).toMatchObject({ code: 0 })
    await migrate('up')
    expect(await migrate('squash')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('one by one') })
    const text = await read('0003_squashed.sql')
    expect(text).toMatch(/create view "titles"[^]*create view "a_count"/)
    expect(text).toMatch(/-- owns: .*"a_count", "titles"\n$/)
    expect((await migrate('plan')).stdout).toContain('nothing to migrate')
    await project.write('resources.yaml', tables)
    expect((await migrate('plan')).stdout).toMatch(/- drop +a_count +view\n +- drop +titles +view/)
  })

  test('repeats statements that create a table in another schema', async () => {
    await project.write(
      'migrations/0003_catalog.sql',
      '-- up\n\ncreate table public.pg_class (id bigint);\n\n-- down\n\ndrop table public.pg_class;\n',
    )
    expect((await migrate('squash')).stderr).toContain(
      'it repeats their statements one by one, because the final tables do not show the schema public\n',
    )
    expect(await read('0003_squashed.sql')).toContain('create table public.pg_class (id bigint);')
  })

  test('keeps what the final tables do not say, and rejects what no SQL says', async () => {
    await project.write(
      'migrations/0003_touch.sql',
      `-- up

create function touch() returns trigger language plpgsql as $$ begin new.pages := 1; return new; end $$;
create trigger touch before insert on books for each row execute function touch();

-- down

drop trigger touch on books;
drop function touch();
`,
    )
    const outcome = await migrate('squash')
    expect(outcome).toMatchObject({ code: 0 })
    expect(outcome.stderr).toContain(
      'it repeats their statements one by one, because trigger touch of books is not recorded',
    )
    expect(await read('0003_squashed.sql')).toContain('alter table books add pages integer;')
    await migrate('up')
    await project.write(
      'migrations/0004_code.ts',
      `export async function up(connection) { await connection.query({ text: "insert into books (title) values ('a')", values: [] }) }\n`,
    )
    const rejected = await migrate('squash')
    expect(rejected).toMatchObject({ code: 2 })
    await migrate('up')
    expect(await migrate('squash')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/0004_code is TypeScript.*\n {2}= help: Squash fewer files/),
    })
    expect(await files()).toEqual(['0003_squashed.sql', '0004_code.ts'])
  })

  test('creates the tables of the service itself at once, too', async () => {
    const text = BOOKS.replace('version: 1', 'version: 1\nauth: { keys: true, roles: { names: [lib] } }').replace(
      'path: /books/',
      'path: /books/\n    idempotency: optional\n    access: [{ to: lib, may: all }]',
    )
    await project.write('resources.yaml', text)
    await migrate('plan', '--write', 'own_tables')
    const { code, stderr } = await migrate('squash')
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('one by one') })
    const [file = ''] = await files()
    expect(await read(file)).toMatch(/create table "snippetctl_answers".*create table "snippetctl_keys"/s)
  })
})
