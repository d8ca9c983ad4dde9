import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { destroyedBy, formatNamed } from '../../../src/migrations/consent/destruction.js'
import { migrateDown, migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { splitStatements } from '../../../src/migrations/files/statements.js'
import { BOOKS, makeProject, type Outcome, type Project, runInHost } from '../../support/cli.js'
import { envOf, openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, makeFolder, tablesOf } from '../../support/migrations.js'

const MADE =
  "-- up\ncreate table books (id int primary key, title text, size int);\ninsert into books values (1, 'a', 3), (2, 'b', null);\n-- down\ndrop table books;\n"
const SAFE = '-- up\ncreate table more (id int);\n-- down\ndrop table more;\n'

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

describe('data loss in a migration', () => {
  test.each<[sql: string, object: string, says: RegExp]>([
    [
      'alter table books drop column size;',
      'books.size',
      /^0003_less drops the column books\.size: 1 value is lost with it$/,
    ],
    ['alter table "books" drop "size";', 'books.size', /drops the column books\.size/],
    [
      'ALTER TABLE IF EXISTS public.books ADD x int, DROP IF EXISTS size;',
      'books.size',
      /drops the column books\.size/,
    ],
    ['drop table books;', 'books', /^0003_less drops the table books: 2 rows are lost with it$/],
    ['/* ; */ truncate books;', 'books', /^0003_less deletes from the table books: 2 rows are in it$/],
    ['delete from books where id = 1;', 'books', /deletes from the table books/],
    [
      'create table if not exists books (id int primary key); delete from books;',
      'books',
      /deletes from the table books: 2/,
    ],
    [
      'create table kept (id int); with moved as (delete from books returning id) insert into kept select * from moved;',
      'books',
      /deletes from the table books: 2/,
    ],
    ['do $$ begin delete from books; end $$;', 'books', /deletes from the table books: 2/],
    [
      "create function within(at date, begin date) returns boolean language sql as 'select at > begin'; delete from books;",
      'books',
      /deletes from the table books: 2/,
    ],
    ["do $$ begin -- it's time\n delete from books where id = '1'; end $$;", 'books', /deletes from the table books/],
    ['alter table books rename size to pages; alter table books drop pages;', 'books.pages', /drops .* books\.pages/],
    [
      'create table new (id int); drop table new; alter table books rename to new; delete from new;',
      'new',
      /deletes from the table new: 2/,
    ],
    ["do $$ begin execute 'alter table books drop si' || 'ze'; end $$;", 'books.size', /drops the column books\.size$/],
    ['create schema s; alter table books set schema s; drop schema s cascade;', 'books', /drops the table books$/],
    [
      'create table notes (id int); create rule r as on insert to notes do also delete from books; insert into notes values (1);',
      'books',
      /^0003_less deletes from the table books: 2 rows may be lost$/,
    ],
    [
      'create view sized as select * from books where size > 0; delete from sized;',
      'books',
      /deletes from the table books: 1 row may be lost$/,
    ],
    [
      "create function clear() returns void language sql as 'delete from books'; select clear();",
      'books',
      /deletes from the table books: 2 rows may be lost$/,
    ],
    [
      "do $$ begin execute 'delete fr' || 'om books'; end $$; alter table books rename to old;",
      'books',
      /deletes from the table books: 2 rows may be lost$/,
    ],
    [
      "do $$ begin insert into books values (3); execute 'delete fr' || 'om books where id = 3'; end $$;",
      'books',
      /deletes from the table books: 1 row may be lost$/,
    ],
    [
      "do $$ begin execute 'delete fr' || 'om books'; raise 'undo'; exception when raise_exception then null; end $$;",
      'books',
      /deletes from the table books: 2 rows may be lost$/,
    ],
  ])('must be named: %s', async (sql, object, says) => {
    const folder = await makeFolder({ '0001_books.sql': MADE })
    await migrateUp(database, folder.path)
    await folder.write('0002_more.sql', SAFE)
    await folder.write('0003_less.sql', `-- up\n${sql}\n`)
    const look = async () => (await database.query({ text: 'select * from books order by id', values: [] })).rows
    const before = await look()
    expect(await failureOf(migrateUp(database, folder.path))).toMatch(says)
    expect(await failureOf(migrateUp(database, folder.path, { allows: (name) => name === 'others' }))).toMatch(says)
    expect(await look()).toEqual(before)
    const allows = (name: string) => name === object
    expect((await migrateUp(database, folder.path, { allows })).at(-1)).toMatchObject({ name: '0003_less' })
  })

  describe('by a dropped attribute of a composite type', () => {
    const TYPED =
      'create type size as (width int, height int); create table boxes (size size); insert into boxes values ((1, 2));'

    test.each<[sql: string, object: string]>([
      ['alter type size drop attribute height cascade;', 'size.height'],
      ['alter type public.size add attribute depth int cascade, drop attribute if exists height;', 'size.height'],
      ['alter type size rename attribute height to h; alter type size drop attribute h;', 'size.h'],
      ['alter type size rename to extent; alter type extent drop attribute height;', 'extent.height'],
      ["do $$ begin execute 'alter type size drop attri' || 'bute height'; end $$;", 'size.height'],
    ])('must be named: %s', async (sql, object) => {
      const folder = await makeFolder({ '0001_boxes.sql': `-- up\n${TYPED}\n` })
      await migrateUp(database, folder.path)
      await folder.write('0002_less.sql', `-- up\n${sql}\n`)
      const look = async () => (await database.query({ text: 'select size::text from boxes', values: [] })).rows
      expect(await failureOf(migrateUp(database, folder.path))).toBe(`0002_less drops the attribute ${object}`)
      expect(await look()).toEqual([['(1,2)']])
      const allows = (name: string) => name === object
      expect((await migrateUp(database, folder.path, { allows })).at(-1)).toMatchObject({ name: '0002_less' })
    })

    test.each([
      ['drop table boxes; drop type size;', 'boxes'],
      ['drop type size cascade;', 'boxes.size'],
      ['alter table boxes alter size type text using size::text; drop type size;', undefined],
      ['create type pair as (a int, b int); alter type pair drop attribute b;', undefined],
    ])('need not be named with the type or its columns: %s', async (sql, object) => {
      const folder = await makeFolder({ '0001_boxes.sql': `-- up\n${TYPED}\n` })
      await migrateUp(database, folder.path)
      await folder.write('0002_less.sql', `-- up\n${sql}\n`)
      const allows = (name: string) => name === object
      expect(await migrateUp(database, folder.path, { allows })).toHaveLength(1)
    })
  })

  test.each([
    ['truncate books cascade;', ['books', 'lines', 'reviews']],
    ['delete from books;', ['books', 'lines']],
  ])('by `%s` must be named for the tables that lose rows by foreign keys', async (sql, objects) => {
    const referring =
      'create table reviews (book int references books); create table lines (book int references books on delete cascade); insert into lines values (1);'
    const folder = await makeFolder({ '0001_books.sql': MADE, '0002_referring.sql': `-- up\n${referring}\n` })
    await migrateUp(database, folder.path)
    await folder.write('0003_less.sql', `-- up\n${sql}\n`)
    const failure = await failureOf(migrateUp(database, folder.path, { allows: (name) => name === 'books' }))
    for (const object of objects.slice(1)) expect(failure).toContain(`0003_less deletes from the table ${object}: `)
    expect(failure.split('deletes from')).toHaveLength(objects.length)
    const allows = (name: string) => objects.includes(name)
    expect((await migrateUp(database, folder.path, { allows })).at(-1)).toMatchObject({ name: '0003_less' })
  })

  test.each<[sql: string, object: string, says: string]>([
    ['delete from app.books;', 'app.books', 'deletes from the table app.books: 1 row is in it'],
    ['drop table "app"."books";', 'app.books', 'drops the table app.books: 1 row is lost with it'],
    ['drop table app."b.c";', 'app."b.c"', 'drops the table app."b.c": 0 rows are lost with it'],
    ['alter table app.books drop size;', 'app.books.size', 'drops the column app.books.size: 1 value is lost with it'],
    [
      'alter table app.books rename to old; delete from app.old;',
      'app.old',
      'deletes from the table app.old: 1 row is in it',
    ],
    [
      'alter table app.notes set schema public; delete from notes;',
      'notes',
      'deletes from the table notes: 1 row is in it',
    ],
    [
      'set local search_path = app; delete from notes;',
      'app.notes',
      'deletes from the table app.notes: 1 row is in it',
    ],
    [
      'delete from app.books; create table books_2 (id int); delete from books_2;',
      'app.books',
      'app.books: 1 row is in it',
    ],
    ['do $$ begin delete from app.books; end $$;', 'app.books', 'app.books: 1 row is in it'],
  ])('in another schema must be named with it: %s', async (sql, object, says) => {
    const others =
      'create schema app; create table app.books (size int); create table app.notes (id int); create table app."b.c" (id int); ' +
      'insert into app.books values (3); insert into app.notes values (1);'
    const folder = await makeFolder({ '0001_books.sql': MADE, '0002_others.sql': `-- up\n${others}\n` })
    await migrateUp(database, folder.path)
    await folder.write('0003_less.sql', `-- up\n${sql}\n`)
    expect(await failureOf(migrateUp(database, folder.path, { allows: (name) => name === 'books' }))).toContain(says)
    const allows = (name: string) => name === object
    expect((await migrateUp(database, folder.path, { allows })).at(-1)).toMatchObject({ name: '0003_less' })
  })

  test.each([
    'create rule r as on update to books do also delete from books;',
    "create table notes (id int); insert into notes values (1); create function clear() returns void language sql as 'delete from notes'; select clear();",
  ])('need not be named if no existing row is deleted: %s', async (sql) => {
    const folder = await makeFolder({ '0001_books.sql': MADE })
    await migrateUp(database, folder.path)
    await folder.write('0002_more.sql', `-- up\n${sql}\n`)
    expect(await migrateUp(database, folder.path)).toHaveLength(1)
  })

  describe('in partitions', () => {
    const PARTS =
      'create table parts (id int, place int) partition by range (place); create table low partition of parts for values from (0) to (9); ' +
      'create table high partition of parts for values from (9) to (99) partition by range (place); ' +
      'create table highest partition of high for values from (50) to (99);'
    const ROWS = 'insert into parts values (1, 1), (2, 2), (3, 50);'
    const DELETE = `execute 'delete fr' || 'om parts`

    const makeParts = async (sql: string): Promise<string> => {
      const folder = await makeFolder({ '0001_parts.sql': `-- up\n${PARTS} ${ROWS}\n` })
      await migrateUp(database, folder.path)
      await folder.write('0002_more.sql', `-- up\n${sql}\n-- down\ntruncate parts; ${ROWS}\n`)
      return folder.path
    }

    test.each([
      'update parts set place = 60 where place < 9;',
      'create table middle partition of high for values from (9) to (50); update parts set place = 10;',
      'update parts set place = 60; alter table parts detach partition low;',
      `do $$ begin insert into parts values (4, 4); ${DELETE} where id = 4'; end $$;`,
    ])('need not be named if rows only move, or if no existing row is deleted: %s', async (sql) => {
      expect(await migrateUp(database, await makeParts(sql))).toHaveLength(1)
    })

    test.each<[sql: string, count: string, sources: readonly string[]]>([
      [`do $$ begin ${DELETE}'; end $$;`, '3 rows', ['low', 'high']],
      [`update parts set place = 60 where id = 1; do $$ begin ${DELETE} where id = 2'; end $$;`, '1 row', ['low']],
      [
        `update parts set place = 60 where id = 1; do $$ begin ${DELETE} where id > 1'; end $$;`,
        '2 rows',
        ['low', 'highest'],
      ],
    ])('must be named by the partitioned table, or by each partition: %s', async (sql, count, sources) => {
      const folder = await makeParts(sql)
      const message = `0002_more deletes from the table parts: ${count} may be lost`
      expect(await failureOf(migrateUp(database, folder))).toBe(message)
      const allowsSome = (name: string) => sources.slice(1).includes(name)
      expect(await failureOf(migrateUp(database, folder, { allows: allowsSome }))).toBe(message)
      for (const names of [['parts'], sources]) {
        expect(await migrateUp(database, folder, { allows: (name) => names.includes(name) })).toHaveLength(1)
        await migrateDown(database, folder, { allows: () => true })
      }
    })

    test('may be named by the partition that the text names', async () => {
      const folder = await makeParts('delete from low;')
      expect(await failureOf(migrateUp(database, folder))).toBe(
        '0002_more deletes from the table low: 2 rows are in it',
      )
      expect(await migrateUp(database, folder, { allows: (name) => name === 'low' })).toHaveLength(1)
    })

    test('must be named by a table that becomes a partition of a new one', async () => {
      const folder = await makeFolder({ '0001_books.sql': MADE })
      await migrateUp(database, folder.path)
      await folder.write(
        '0002_more.sql',
        "-- up\ncreate table parts (like books) partition by range (id); do $$ begin execute 'delete fr' || 'om books'; end $$; " +
          'alter table parts attach partition books default;\n',
      )
      expect(await failureOf(migrateUp(database, folder.path))).toBe(
        '0002_more deletes from the table books: 2 rows may be lost',
      )
    })

    test('must be named with the other tables that lose rows by it', async () => {
      const parts =
        'create table parts (id int primary key) partition by range (id); create table first partition of parts for values from (0) to (9); ' +
        'create table lines (part int references parts on delete cascade); insert into parts values (1); insert into lines values (1), (1);'
      const folder = await makeFolder({ '0001_parts.sql': `-- up\n${parts}\n` })
      await migrateUp(database, folder.path)
      await folder.write('0002_less.sql', `-- up\ndo $$ begin ${DELETE}'; end $$;\n`)
      expect(await failureOf(migrateUp(database, folder.path))).toBe(
        '0002_less deletes from the table parts: 1 row may be lost\n0002_less deletes from the table lines: 2 rows may be lost',
      )
      const allows = (name: string) => ['parts', 'lines'].includes(name)
      expect(await migrateUp(database, folder.path, { allows })).toHaveLength(1)
    })
  })

  test('names tables of other schemas that lose rows by foreign keys', async () => {
    const referring = 'create schema app; create table app.lines (book int references books on delete cascade);'
    const folder = await makeFolder({ '0001_books.sql': MADE, '0002_referring.sql': `-- up\n${referring}\n` })
    await migrateUp(database, folder.path)
    await folder.write('0003_less.sql', '-- up\ndelete from books;\n')
    expect(await failureOf(migrateUp(database, folder.path, { allows: (name) => name === 'books' }))).toBe(
      '0003_less deletes from the table app.lines: 0 rows are in it',
    )
  })

  test('is rejected before anything is applied, even the safe part', async () => {
    const folder = await makeFolder({ '0001_books.sql': MADE })
    await migrateUp(database, folder.path)
    await folder.write('0002_more.sql', SAFE)
    await folder.write('0003_less.sql', '-- up\ncreate table other (id int);\nalter table books drop size;\n')
    await failureOf(migrateUp(database, folder.path))
    expect(await tablesOf(database)).toEqual(['books'])
    expect((await migrationStatus(database, folder.path)).map(({ state }) => state)).toEqual([
      'applied',
      'pending',
      'pending',
    ])
  })

  test('does not occur in a database created from all files', async () => {
    const files = {
      '0001_books.sql': MADE,
      '0002_less.sql': '-- up\nalter table books drop size;\ndrop table books;\n',
    }
    expect(await migrateUp(database, (await makeFolder(files)).path)).toHaveLength(2)
  })

  test('must be named for down, too', async () => {
    const folder = await makeFolder({ '0001_books.sql': MADE, '0002_more.sql': SAFE })
    await migrateUp(database, folder.path)
    expect(await failureOf(migrateDown(database, folder.path, { steps: 2, allows: (name) => name === 'more' }))).toBe(
      '0001_books drops the table books: 2 rows are lost with it',
    )
    expect(await tablesOf(database)).toEqual(['books', 'more'])
  })
})

test.each<[sql: string, objects: readonly string[]]>([
  ['alter table a drop constraint b, alter c drop not null, alter column d drop default', []],
  ['create table a (b int); alter table a drop b; drop table a', []],
  ['alter table a add b int, add constraint x check (b > 1); alter table a drop b', []],
  ['alter table a rename to b; drop table b', ['b']],
  ['drop table if exists a, "B b", public.c cascade', ['a', 'B b', 'c']],
  ['merge into a using b on true when matched then delete', ['a']],
  ["with x as (select 'delete from a') merge into b using x on true when matched then do nothing", []],
  [`with x as (select "it's" from b) delete from a where c = 'd'`, ['a']],
  [String.raw`with x as (select E'\'' from b) delete /* now */ from a where c = 'd'`, ['a']],
  ['create table kept as with gone as (delete from a returning *) select * from gone', ['a']],
  ['(with gone as (delete from a returning *) select count(*) from gone)', ['a']],
  ['insert into b with gone as (delete from a returning *) select * from gone', ['a']],
  [String.raw`with x as (select E'\'--'), y as (delete from a returning *) select 1`, ['a']],
  [String.raw`alter table a alter b set default E'\',', drop c`, ['a.c']],
  ['do $$ begin delete from a; end $$', ['a']],
  ["do language plpgsql 'begin delete from a; end'", ['a']],
  ['insert into b values ($$delete from a$$, $x$truncate a$x$)', []],
  ['create or replace function f() returns int language sql begin atomic delete from a; select 1; end', []],
  ['create rule r as on insert to a do also delete from b; grant truncate on a to public', []],
  ['alter table a add if not exists b int; alter table a drop b', ['a.b']],
  ['alter type t add attribute b int; alter type t drop attribute b, drop attribute c cascade', ['t.c']],
  ['create type t as (b int); alter type t drop attribute b', []],
  ["alter type t add value 'drop attribute b'; alter type t alter attribute c type text", []],
  ['create table app (b int); delete from app.b', ['app.b']],
  ['create table s.a (b int); delete from s.a; delete from a', ['a']],
  ["comment on table a is 'drop table a'; drop index a; drop view a", []],
])('`%s` destroys %j', (sql, objects) => {
  expect(destroyedBy(splitStatements(sql), 'public').map(({ object }) => formatNamed(object))).toEqual(objects)
})

describe('the command', () => {
  let project: Project

  beforeEach(async () => {
    project = await makeProject({ 'resources.yaml': BOOKS, 'migrations/0001_books.sql': MADE })
  })

  afterEach(() => project.remove())

  const migrate = (...args: readonly string[]): Promise<Outcome> =>
    runInHost(['migrate', ...args], {
      cwd: project.folder,
      env: envOf(database),
    })

  test('exits with 3 without a terminal, and names the flag that allows it (promise 11)', async () => {
    await migrate('up')
    await project.write('migrations/0002_less.sql', '-- up\nalter table books drop column size;\n')
    expect(await migrate('up')).toEqual({
      code: 3,
      stdout: '',
      stderr:
        'error: data would be lost, and confirmation needs a terminal: 0002_less drops the column books.size: 1 value is lost with it\n' +
        '  = help: allow exactly this: --allow-destructive=books.size\n',
    })
    expect(await migrate('up', '--allow-destructive=books.title')).toMatchObject({ code: 3 })
    expect(await migrate('up', '--allow-destructive=*')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no wildcard'),
    })
    expect(await migrate('up', '--allow-destructive=books.size')).toMatchObject({ code: 0 })
  })
})
