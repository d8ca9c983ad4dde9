import { beforeEach, describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, runInHost } from '../../support/cli.js'
import { testDatabaseKind } from '../../support/database.js'
import { projectPerTest } from '../../support/project-per-test.js'
import { CREATE_ROLE, DROP_ROLE, ROLE } from '../../support/roles.js'

const withField = (field: string) => BOOKS.replace('max: 100 }\n', `max: 100 }\n      ${field}\n`)
const PAGES = '-- up\n\nalter table books add pages integer;\n\n-- down\n\nalter table books drop pages;\n'

const project = projectPerTest({
  'resources.yaml': withField('pages: { type: integer, nullable: true }'),
  [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
  'migrations/0002_add_pages.sql': PAGES,
})
const { sql } = project
const migrate = (...args: readonly string[]) => project.run('migrate', ...args)

beforeEach(() => migrate('up'))

describe('a nullable field that becomes required', () => {
  beforeEach(() => sql(`insert into books (title, pages) values ('a', 1), ('b', null), ('c', null)`))

  test('is rejected while rows have no value, with both ways out', async () => {
    await project.write('resources.yaml', withField('pages: { type: integer }'))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      'books.pages cannot become required, because 2 of 3 rows have no value: give the field a `default`, which these rows get ' +
        'unless it must be unique, or fill them first: update "books" set "pages" = … where "pages" is null',
    )
    await sql('update "books" set "pages" = 0 where "pages" is null')
    expect(await migrate('plan', '--write', 'require_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('with a default is written with the update of these rows', async () => {
    await project.write('resources.yaml', withField('pages: { type: integer, default: 7 }'))
    const planned = await migrate('plan', '--write', 'require_pages')
    expect(planned).toMatchObject({ code: 0 })
    expect(planned.stdout).toContain('2 of 3 rows get 7')
    expect(await migrate('up')).toMatchObject({ code: 0 })
    const query = { text: 'select sum(pages)::text from books', values: [] }
    expect(await project.onDatabase(async (open) => (await open.query(query)).rows)).toEqual([['15']])
  })

  const FILL_FIRST =
    'because 2 of 3 rows have no value: fill them first: update "books" set "pages" = … where "pages" is null\n'

  test('with a default is rejected if it is a relation, without the advice to give it a default', async () => {
    const relation = (more: string) => withField(`pages: { type: belongs_to, model: book, column: pages${more} }`)
    await project.write('migrations/0003_bigint.sql', '-- up\nalter table books alter pages type bigint;\n')
    await project.write('resources.yaml', relation(', nullable: true'))
    expect(await migrate('plan', '--write', 'sequels')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
    await project.write('resources.yaml', relation(', default: 1'))
    expect(await migrate('plan')).toMatchObject({
      stdout: expect.stringContaining(`books.pages cannot become required, ${FILL_FIRST}`),
    })
  })

  test('with a default is rejected if the values must be unique', async () => {
    await project.write('resources.yaml', withField('pages: { type: integer, default: 7, unique: true }'))
    expect(await migrate('plan')).toMatchObject({
      stdout: expect.stringContaining(`books.pages cannot become required, ${FILL_FIRST}`),
    })
  })
})

describe('a change that existing rows violate is rejected until they are changed:', () => {
  const FIRST = 'change these rows first, by a migration of its own if other databases have some, too'

  test('a rule', async () => {
    await sql(`insert into books (title, pages) values ('a', 1), ('b', 70), ('c', null)`)
    await project.write('resources.yaml', withField('pages: { type: integer, maximum: 50, nullable: true }'))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      `books.books_pages_range cannot be added, because 1 of 3 rows violate it: ${FIRST}\n`,
    )
    await sql('update books set pages = 50 where pages > 50')
    expect(await migrate('plan', '--write', 'fewer_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('a relation, without counting rows of tables that inherit from its table', async () => {
    await project.write('migrations/0003_bigint.sql', '-- up\nalter table books alter pages type bigint;\n')
    expect(await migrate('up')).toMatchObject({ code: 0 })
    await sql(`insert into books (title, pages) values ('a', 7), ('b', null);
      create table old_books () inherits (books); insert into old_books values (8, 'c', 9)`)
    const relation = 'sequel: { type: belongs_to, model: book, column: pages, nullable: true }'
    await project.write('resources.yaml', withField(relation))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      `books.books_pages_fkey cannot be added, because 1 of 2 rows refer to a missing row: ${FIRST}\n`,
    )
    await sql('update only books set pages = id where pages > 1')
    expect(await migrate('plan', '--write', 'sequels')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })
})

test('a plan notes that a change of type resets the storage of a column', async () => {
  await sql('alter table books alter title set storage external, alter title set compression pglz')
  await project.write('resources.yaml', withField('pages: { type: integer, nullable: true }').replace('100', '200'))
  const { code, stdout } = await migrate('plan', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    notes: [
      'books.title has storage external and compression pglz, which the change of its type resets: to keep it, add this to the migration: ' +
        'alter table "books" alter column "title" set storage external, alter column "title" set compression pglz',
    ],
  })
})

test('a plan notes no storage that the new type cannot have', async () => {
  await sql('alter table books alter title set storage external')
  const number = withField('pages: { type: integer, nullable: true }').replace(
    'type: string, min: 1, max: 100',
    'type: integer',
  )
  await project.write('resources.yaml', number)
  const { code, stdout } = await migrate('plan', '--json', '--using', 'books.title=title::integer')
  expect(code).toBe(0)
  expect(stdout).toContain('books.title')
  expect(stdout).not.toContain('set storage')
})

/** A policy, a trigger and a rule of another table with the same name. */
const OTHERS = `
  create schema other;
  create table other.books (pages integer);
  create policy few on other.books;
  create trigger few before update on other.books for each row execute function suppress_redundant_updates_trigger();
  create rule few as on delete to other.books do instead nothing`

describe('a plan is rejected with a way out', () => {
  test('if a view of this database reads the column', async () => {
    await sql('create view long_books as select title from books where pages > 100')
    await project.write('resources.yaml', withField('pages: { type: bigint, nullable: true }'))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      'books.pages cannot be changed, because the view long_books of this database reads it: ' +
        `keep its definition (select pg_get_viewdef('long_books'::regclass)), drop the view, apply the migration, and create the view again`,
    )
    await sql('drop view long_books')
    expect(await migrate('plan', '--write', 'long_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('if a view that other views read reads the column', async () => {
    await sql('create view long_books as select title, pages from books where pages > 100')
    await sql('create materialized view "Titles" as select title from long_books')
    await sql('create view counts as select count(*) from long_books, "Titles"')
    await project.write('resources.yaml', withField('pages: { type: bigint, nullable: true }'))
    const { stdout } = await migrate('plan', '--write')
    const [, others, dropped] =
      /definition \(select pg_get_viewdef\('long_books'::regclass\)\) and those of the views that read it \((.*)\), drop (.*), apply the migration, and create all of them again/.exec(
        stdout,
      ) ?? []
    expect([others, dropped]).toEqual(['counts, "Titles"', 'counts, "Titles", long_books'])
    await sql('drop view counts; drop materialized view "Titles"; drop view long_books')
    expect(await migrate('plan', '--write', 'long_pages')).toMatchObject({ code: 0 })
  })

  // The embedded database has one user, who may use every schema.
  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

  onServer('if a view in a schema that the user may not use reads the column', async () => {
    await sql(`create schema reports; create view reports.long_books as select title from books where pages > 100;
      create view reports.titles as select title from reports.long_books`)
    await sql(`${CREATE_ROLE} grant select on all tables in schema public to ${ROLE}`)
    await project.write('resources.yaml', withField('pages: { type: bigint, nullable: true }'))
    const { env } = await project.release()
    const url = new URL(String(env?.['DATABASE_URL']))
    url.username = url.password = ROLE
    try {
      const planned = await runInHost(['migrate', 'plan', '--write'], {
        cwd: project.folder,
        env: { DATABASE_URL: url.href },
      })
      expect(planned).toMatchObject({ code: 1 })
      expect(planned.stdout).toContain('drop reports.titles, reports.long_books, apply the migration')
    } finally {
      await sql(DROP_ROLE)
    }
  })

  test('if a view of this database reads a column that is dropped', async () => {
    await sql('create view long_books as select title from books where pages > 100')
    await project.write('resources.yaml', BOOKS.replace('table: books', 'table: books\n    dropped: [pages]'))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain('apply the migration, and create the view again without books.pages')
  })

  test.each([
    {
      what: 'a policy',
      kind: 'policy',
      sql: 'create policy few on books using (pages < 9)',
      drop: 'drop policy few on books',
    },
    {
      what: 'a policy of another table',
      kind: 'policy',
      sql: 'create table logs (); create policy few on logs using (exists (select from books where pages < 9))',
      drop: 'drop table logs',
    },
    {
      what: 'a trigger',
      kind: 'trigger',
      sql: 'create trigger few before update of pages on books for each row execute function suppress_redundant_updates_trigger()',
      drop: 'drop trigger few on books',
    },
    {
      what: 'a rule',
      kind: 'rule',
      sql: 'create rule few as on delete to books where old.pages < 9 do instead nothing',
      drop: 'drop rule few on books',
    },
    {
      what: 'a rule of another table',
      kind: 'rule',
      sql: 'create table logs (n integer); create rule few as on delete to logs do also select pages from books',
      drop: 'drop table logs',
    },
  ])('if $what of this database reads the column', async ({ kind, sql: create, drop }) => {
    await sql(create)
    await project.write('resources.yaml', withField('pages: { type: bigint, nullable: true }'))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    const [, definition, advice] =
      /books\.pages cannot be changed, because the (?:\w+) few of this database reads it: keep its definition \((select .*)\), (.*)/.exec(
        rejected.stdout,
      ) ?? []
    expect(advice).toBe(`drop the ${kind}, apply the migration, and create the ${kind} again`)
    await sql(OTHERS)
    const kept = { text: definition ?? '', values: [] }
    expect(await project.onDatabase(async (open) => (await open.query(kept)).rows)).toHaveLength(1)
    await sql(drop)
    expect(await migrate('plan', '--write', 'long_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('but not if its table is dropped, too', async () => {
    await sql('create policy few on books using (pages < 9)')
    await project.write('resources.yaml', 'version: 1\ndropped: [books]\n')
    const planned = await migrate('plan')
    expect(planned.stdout).not.toContain('cannot be dropped')
    expect(planned).toMatchObject({ code: 0 })
  })

  test('but not if the view is one of the configuration, whatever its name', async () => {
    const withView = (pages: string) =>
      withField(`pages: { type: ${pages}, nullable: true }`).replace(
        'resources:',
        '  long_book:\n    table: Long Books\n    view: select id, title from books where pages > 100\n    fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 100 } }\nresources:',
      )
    await project.write('resources.yaml', withView('integer'))
    expect(await migrate('plan', '--write', 'long_books')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
    await project.write('resources.yaml', withView('bigint'))
    expect(await migrate('plan', '--write', 'long_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('also if the plan renames the table and the column', async () => {
    await sql('create view long_books as select title from books where pages > 100; alter table books add note text')
    const fields =
      'leaves: { type: bigint, nullable: true, renamed_from: pages }\n      note: { type: text, nullable: true }'
    const renamed = withField(fields).replace('table: books', 'table: volumes\n    renamed_from: books')
    await project.write('resources.yaml', renamed)
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain('volumes.leaves cannot be changed, because the view long_books of this database')
    expect(rejected.stdout).toContain('books.note exists in this database, and no migration created it')
    await sql('drop view long_books; alter table books drop note')
    expect(await migrate('plan', '--write', 'volumes')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('if the name of a column or table is taken', async () => {
    await sql('alter table books add note text; create table members (id integer)')
    await project.write(
      'resources.yaml',
      withField('pages: { type: integer, nullable: true }\n      note: { type: text, nullable: true }').replace(
        'resources:',
        '  member:\n    table: members\n    fields:\n      id: { type: bigint, primary_key: true }\nresources:',
      ),
    )
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      'books.note exists in this database, and no migration created it: keep it: snippetctl migrate adopt books.note',
    )
    expect(rejected.stdout).toContain(
      'members exists in this database, and no migration created it: give the model another `table`',
    )
    await sql('drop table members; alter table books drop note')
    expect(await migrate('plan', '--write', 'members')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })
})

test('a plan is rejected if a table with a dot in its name exists', async () => {
  await sql('create table "all.members" (id integer)')
  const members = `  member:\n    table: '"all.members"'\n    fields: { id: { type: bigint, primary_key: true } }\nresources:`
  const pages = 'pages: { type: integer, nullable: true }'
  await project.write('resources.yaml', withField(pages).replace('resources:', members))
  const rejected = await migrate('plan', '--write')
  expect(rejected).toMatchObject({ code: 1 })
  expect(rejected.stdout).toContain(
    '"all.members" exists in this database, and no migration created it: give the model another `table`',
  )
  await sql('drop table "all.members"')
  expect(await migrate('plan', '--write')).toMatchObject({ code: 0 })
  expect(await migrate('up')).toMatchObject({ code: 0 })
})

describe('a conversion is given on the command line', () => {
  beforeEach(async () => {
    await sql(`insert into books (title, pages) values ('a', 1), ('b', 2)`)
    await project.write('resources.yaml', withField('pages: { type: choice, choices: [short, long] }'))
    await sql('alter table books alter pages set not null')
  })

  test('by the option that the rejection names', async () => {
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      'books.books_pages_type cannot be added, because 2 of 2 rows violate it: ' +
        `correct these rows, or convert them to values that it accepts: --using 'books.pages=…'`,
    )
    const using = `books.pages=case when pages > 1 then 'long' else 'short' end`
    const reverse = `books.pages=case pages when 'long' then 2 else 1 end`
    expect(await migrate('plan', '--write', 'name_pages', '--using', using, '--reverse', reverse)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        `sets each value to case when pages > 1 then 'long' else 'short' end: 2 of 2 rows change; `,
      ),
    })
    expect(await migrate('up')).toMatchObject({ code: 0 })
    expect(await migrate('plan', '--using', using)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the type of books.pages does not change'),
    })
    expect(await migrate('down')).toMatchObject({ code: 0 })
    const query = { text: 'select title, pages::text from books order by id', values: [] }
    expect(await project.onDatabase(async (open) => (await open.query(query)).rows)).toEqual([
      ['a', '1'],
      ['b', '2'],
    ])
  })

  test.each<[args: readonly string[], message: string]>([
    [['--using', 'pages=1'], 'It must be table.column=expression, such as books.price=price * 100.'],
    [['--using', 'books.pages= '], 'It must be table.column=expression'],
    [['--using', 'books.pages=1', '--using', 'books.pages=2'], 'books.pages has an expression already.'],
    [['--reverse', 'books.pages=1'], '--reverse books.pages: there is no --using for this column'],
  ])('and rejected: %j', async (args, message) => {
    expect(await migrate('plan', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })
})
