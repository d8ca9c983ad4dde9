import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { takeInventory } from '../../../src/migrations/consent/inventory.js'
import { observeStatements } from '../../../src/migrations/consent/stretches.js'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, makeFolder } from '../../support/migrations.js'

const MADE = `-- up
create table books (id int primary key, title text);
create table lines (book int references books on delete cascade);
create table parts (id int, place int) partition by range (place);
create table low partition of parts for values from (0) to (9);
create table high partition of parts for values from (9) to (99);
create table keyed (id int, place int, note text, primary key (id, place)) partition by range (place);
create table keyed_low partition of keyed for values from (0) to (9);
create table keyed_high partition of keyed for values from (9) to (99);
create function clear() returns void language plpgsql as 'begin truncate lines; end';
insert into books values (1, 'a'), (2, 'b');
insert into lines values (1), (2);
insert into parts values (1, 1), (2, 2), (3, 50);
insert into keyed values (1, 1), (2, 2), (3, 50);
`
const DELETE = `execute 'delet' || 'e from parts`
const UNDONE = `begin insert into parts values (9, 9), (10, 10), (11, 11); raise 'x'; exception when raise_exception then null; end`

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

/** Applies the files to a database with rows; returns the error, or the number of applied files. */
async function applyTo(files: readonly string[], allowed: readonly string[] = []): Promise<string | number> {
  const folder = await makeFolder({ '0001_made.sql': MADE })
  await migrateUp(database, folder.path)
  for (const [at, sql] of files.entries()) await folder.write(`000${at + 2}_more.sql`, `-- up\n${sql}\n`)
  const run = migrateUp(database, folder.path, { allows: (name) => allowed.includes(name) })
  return run.then(
    (applied) => applied.length,
    () => failureOf(run),
  )
}

async function countOf(table: string): Promise<string | null | undefined> {
  return (await database.query({ text: `select count(*)::text from ${table}`, values: [] })).rows[0]?.[0]
}

describe('deletions are found', () => {
  test.each<[name: string, sql: string, loss: string, allowed: string]>([
    [
      'next to insertions that an exception block has undone',
      `do $$ begin ${UNDONE}; ${DELETE}'; end $$;`,
      'parts: 3 rows may be lost',
      'parts',
    ],
    [
      'next to insertions of other rows',
      `do $$ begin insert into parts values (7, 7), (8, 8), (9, 9); ${DELETE} where id < 4'; end $$;`,
      'parts: 3 rows may be lost',
      'parts',
    ],
    [
      'next to insertions of other rows with a primary key',
      `do $$ begin insert into keyed values (7, 7); execute 'delet' || 'e from keyed where id = 1'; end $$;`,
      'keyed: 1 row may be lost',
      'keyed',
    ],
    [
      'by a trigger of an update that moves rows',
      `create function drop_one() returns trigger language plpgsql as $$ begin ${DELETE} where id = 3'; insert into parts values (9, 9); return null; end $$;
      create trigger t after update on parts for each statement execute function drop_one(); update parts set place = 60 where id = 1; drop trigger t on parts;`,
      'parts: 1 row may be lost',
      'parts',
    ],
    [
      'by a function that an update calls',
      `create function swap(place int) returns int language plpgsql as $$ begin ${DELETE} where id = 3'; insert into parts values (9, 9); return 60; end $$;
      update parts set place = swap(place) where id = 1;`,
      'parts: 1 row may be lost',
      'parts',
    ],
    ['by `truncate` in a function', 'select clear();', 'lines: 2 rows may be lost', 'lines'],
    [
      'by `truncate` that a block puts together',
      `do $$ begin execute 'trun' || 'cate lines'; end $$;`,
      'lines: 2 rows may be lost',
      'lines',
    ],
    [
      'by `truncate` of a table that is filled again',
      `do $$ begin execute 'trun' || 'cate lines'; insert into lines values (1), (1), (1); end $$;`,
      'lines: 2 rows may be lost',
      'lines',
    ],
    [
      'by `truncate` of a table that the file has rewritten',
      'alter table lines alter book type bigint; select clear();',
      'lines: 2 rows may be lost',
      'lines',
    ],
    [
      'by `truncate` of a partition that the file has made and moved a row to',
      'create table extra partition of parts for values from (100) to (200); update parts set place = 150 where id = 1; ' +
        "do $$ begin execute 'trun' || 'cate extra'; end $$;",
      'extra: 1 row may be lost',
      'parts',
    ],
    [
      'by `truncate` of a partition',
      `do $$ begin execute 'trun' || 'cate low'; end $$;`,
      'low: 2 rows may be lost',
      'parts',
    ],
    [
      'by `create table as` that calls a function',
      "create function cleared() returns int language plpgsql as 'begin truncate lines; return 1; end'; create table made as select cleared();",
      'lines: 2 rows may be lost',
      'lines',
    ],
    [
      'while `track_counts` is off',
      `set local track_counts = off; do $$ begin execute 'delet' || 'e from lines'; end $$;`,
      'lines: 2 rows may be lost',
      'lines',
    ],
    [
      'while `track_counts` is off for a moment',
      `set local track_counts = off; do $$ begin execute 'delet' || 'e from lines'; end $$; set local track_counts = on;`,
      'lines: 2 rows may be lost',
      'lines',
    ],
    [
      'in a new partition that is dropped after rows have moved to it',
      'create table extra partition of parts for values from (100) to (200); update parts set place = 150 where id = 1; drop table extra;',
      'parts: 1 row may be lost',
      'parts',
    ],
  ])('%s', async (_, sql, loss, allowed) => {
    const counts = async () => Promise.all(['books', 'lines', 'parts', 'keyed'].map(countOf))
    expect(await applyTo([sql])).toBe(`0002_more deletes from the table ${loss}`)
    expect(await counts()).toEqual(['2', '2', '3', '3'])
    expect(await migrateUpAgain(sql, [allowed])).toBe(1)
  })

  const migrateUpAgain = async (sql: string, allowed: readonly string[]) => {
    const folder = await makeFolder({ '0001_made.sql': MADE, '0002_more.sql': `-- up\n${sql}\n` })
    return (await migrateUp(database, folder.path, { allows: (name) => allowed.includes(name) })).length
  }

  test.each(['delete from extra;', 'drop table extra;', 'select clear_extra();'])(
    'of rows that an earlier file has moved to a new partition: %s',
    async (sql) => {
      const made =
        "create table extra partition of parts for values from (100) to (200); create function clear_extra() returns void language plpgsql as 'begin truncate extra; end';"
      expect(await applyTo([`${made} update parts set place = 150 where id = 1;`, sql])).toMatch(
        /^0003_more d(?:rops|eletes from) the table (?:extra|parts)(?:: 1 row may be lost)?$/,
      )
      expect(await countOf('parts')).toBe('3')
    },
  )
})

describe('no consent is necessary', () => {
  test.each<[name: string, ...files: string[]]>([
    ['if a block moves rows', 'do $$ begin update parts set place = 60 where id = 1; end $$;'],
    [
      'if rows move and change',
      "do $$ begin update keyed set place = 60, note = 'moved' where id = 1; insert into keyed values (7, 7); end $$;",
    ],
    ['if a block moves rows twice', 'do $$ begin update parts set place = 60; update parts set place = 1; end $$;'],
    [
      'if updates move rows and change them afterwards',
      "update keyed set place = 60; update keyed set note = 'x', id = id + 100;",
    ],
    [
      'if a block moves rows, and a partition is detached',
      'do $$ begin update parts set place = 60; end $$; alter table parts detach partition high;',
    ],
    ['if only new rows are deleted', `do $$ begin insert into parts values (4, 4); ${DELETE} where id = 4'; end $$;`],
    [
      'if an insertion is undone, and the row changed instead',
      'create unique index on keyed_low (id); do $$ begin begin insert into keyed values (1, 2); exception when unique_violation then update keyed set place = 60 where id = 1; end; end $$;',
    ],
    ['if a block rewrites a table', `do $$ begin alter table lines alter book type bigint; end $$;`],
    [
      'if a table is rewritten under another name',
      'alter table lines rename to rows; alter table rows alter book type bigint;',
    ],
    [
      'if a rewritten table changes',
      'alter table lines alter book type bigint; insert into lines select book from lines; update lines set book = 1;',
    ],
    ['if a partitioned table is rewritten', 'alter table parts alter id type bigint;'],
    [
      'if a truncated table was empty',
      'create table fresh (id int);',
      `do $$ begin execute 'trun' || 'cate fresh'; end $$;`,
    ],
    [
      'for rows that an earlier file has made in a new partition',
      'create table extra partition of parts for values from (100) to (200); insert into parts values (7, 150), (8, 151);',
      'delete from extra where id = 7;',
    ],
    [
      'if `truncate` is undone',
      `do $$ begin begin execute 'trun' || 'cate lines'; raise 'x'; exception when raise_exception then null; end; end $$;`,
    ],
    [
      'without counts, if rows are only changed',
      'set local track_counts = off; update books set id = id + 2 where false; insert into lines values (1);',
    ],
  ])('%s', async (_, ...files) => {
    expect(await applyTo(files)).toBe(files.length)
  })
})

test('columns are not read again where the kind of statement changes', async () => {
  const folder = await makeFolder({ '0001_made.sql': MADE })
  await migrateUp(database, folder.path)
  const start = await takeInventory(database)
  const observed = observeStatements(database, start)
  for (const text of ['update books set id = id', 'insert into parts values (4, 4)', 'update books set id = id'])
    await observed.query({ text, values: [] })
  const stretches = await observed.finish()
  expect(stretches.map(({ kind }) => kind)).toEqual(['update', 'other', 'update'])
  const seen = stretches.flatMap(({ after }) => [...after.objects.values()])
  expect(seen).toContain('books')
  expect(seen).not.toContain('books.id')
  expect([...start.objects.values()]).toContain('books.id')
})
