import { describe, expect, test } from '@jest/globals'
import { readMigrations } from '../../../src/migrations/files/files.js'
import { splitStatements, unquoted } from '../../../src/migrations/files/statements.js'
import { failureOf, makeFolder } from '../../support/migrations.js'

const UP = '-- up\nselect 1;\n'

describe('a folder of migrations', () => {
  test('is read in order, with the parts and lines of each file', async () => {
    const folder = await makeFolder({
      'README.md': 'not a migration',
      '0002_more.sql': UP,
      '0001_books.sql':
        '-- why\n-- up\n\ncreate table books (id int);\n-- note\nselect 1;\n\n-- down\ndrop table books;\n',
    })
    const [books, more, ...others] = await readMigrations(folder.path)
    expect(books).toMatchObject({
      name: '0001_books',
      up: [
        { text: 'create table books (id int)', line: 4 },
        { text: 'select 1', line: 6 },
      ],
      down: [{ text: 'drop table books', line: 9 }],
    })
    expect(more).toMatchObject({ name: '0002_more', down: undefined })
    expect(others).toEqual([])
  })

  test('has the marks of a file only where a comment begins a line', async () => {
    const inside = [
      'insert into notes values (\'\n-- down\n-- owns: "a"\n\');',
      'do $$ begin\n-- up\n-- owns: "b"\nend $$;',
      '/*\n-- down\n/* */\n-- owns: "c"\n*/',
      'create table "x\n-- down\n" (id int);',
    ].join('\n')
    const folder = await makeFolder({
      '0001_notes.sql': `/*\n-- up\n-- transaction: none\n-- known: a.b\n*/\n-- it's known\n-- up\n${inside}\n-- down\nselect '\n-- down\n';\n-- owns: "d"\n`,
    })
    expect(await readMigrations(folder.path)).toMatchObject([
      {
        up: [{ line: 8 }, { line: 12 }, { line: 21 }],
        down: [{ text: "select '\n-- down\n'", line: 25 }],
        owns: ['d'],
        known: [],
      },
    ])
  })

  test('may not exist', async () => {
    const folder = await makeFolder()
    expect(await readMigrations(`${folder.path}/none`)).toEqual([])
  })

  test.each<[what: string, files: Readonly<Record<string, string>>, says: string]>([
    [
      'a gap',
      { '0001_a.sql': UP, '0003_b.sql': UP, '0004_c.sql': UP },
      '0003_b.sql comes where number 0002 is missing: numbers start at 0001 and have no gaps',
    ],
    [
      'a first number other than 0001',
      { '0002_a.sql': UP },
      '0002_a.sql comes where number 0001 is missing: numbers start at 0001 and have no gaps',
    ],
    [
      'a duplicate number',
      { '0001_a.sql': UP, '0001_b.sql': UP },
      '0001_a.sql and 0001_b.sql have the same number: the later one needs the next number',
    ],
    [
      'an invalid name',
      { 'Books.sql': UP },
      'Books.sql is not a valid name of a migration: use four digits and lower case, as in 0001_create_books.sql',
    ],
    [
      'a missing up part',
      { '0001_a.sql': 'select 1;\n' },
      '0001_a.sql needs one line `-- up`, and after it at most one line `-- down`; it has: neither',
    ],
    [
      'parts in the wrong order',
      { '0001_a.sql': '-- down\n-- up\n' },
      '0001_a.sql needs one line `-- up`, and after it at most one line `-- down`; it has: down up',
    ],
    [
      'a statement before the parts',
      { '0001_a.sql': `select 1;\n${UP}` },
      '0001_a.sql:1: this statement comes before the line `-- up`',
    ],
    [
      'a COMMIT',
      { '0001_a.sql': '-- up\nselect 1;\nCommit;\n' },
      '0001_a.sql:3: `Commit` is not allowed here: the migrator begins and ends transactions',
    ],
  ])('is rejected for %s', async (_what, files, says) => {
    const folder = await makeFolder(files)
    expect(await failureOf(readMigrations(folder.path), folder)).toBe(says)
  })
})

test('a long text with apostrophes is read in linear time', async () => {
  const update = `update books set title = '${"it''s ".repeat(2000)}' where title is null`
  const folder = await makeFolder({ '0001_fill.sql': `-- transaction: none\n-- up\n${update};\n` })
  expect(await readMigrations(folder.path)).toMatchObject([{ up: [{ repeatable: { fills: 'books' } }] }])
  await folder.write('0001_fill.sql', `-- transaction: none\n-- up\n${update} and id > 0;\n`)
  expect(await failureOf(readMigrations(folder.path), folder)).toMatch(/a statement must be able to run again/)
})

describe('without a transaction, a column is filled', () => {
  const errorsOf = async (update: string) => {
    const folder = await makeFolder({ '0001_fill.sql': `-- transaction: none\n-- up\n${update};\n` })
    return readMigrations(folder.path).then(
      ([file]) => file?.up.map(({ repeatable }) => repeatable?.fills),
      (error: unknown) => (error as Error).message,
    )
  }

  test.each([
    `update books set title = coalesce(nullif(trim(name), ''), 'it''s (') where title is null`,
    `UPDATE "books" SET title = split_part(name, ' ', 1) -- where, (\n WHERE Title IS NULL`,
    `update books set tags = array['a', 'b'] where tags is null`,
    `update books set title = names.name from names where title is null`,
    `update books set is_new = year is distinct from (select max(year) from books) where is_new is null`,
    `update books set title = case when (a, b) = ('x', 'y') then 'z' else name end where "title" is null`,
  ])('by %s', async (update) => {
    expect(await errorsOf(update)).toEqual([expect.stringMatching(/^"?books"?$/)])
  })

  test.each([
    `update books set title = 'a', name = 'b' where title is null`,
    `update books set title = coalesce(name, '') where name is null`,
    `update books set title = 'a' where title is null or name is null`,
    `update books set title = 'a' where (title is null)`,
    `update books set "Title" = 'a' where "title" is null`,
  ])('not by %s', async (update) => {
    expect(await errorsOf(update)).toMatch(/a statement must be able to run again/)
  })
})

describe('SQL is split', () => {
  test.each<[what: string, sql: string, texts: readonly string[]]>([
    ['at semicolons', 'a;b ; ; c', ['a', 'b', 'c']],
    ['outside strings', `select ';', E'\\';', "a;b", 'it''s;'; b`, [`select ';', E'\\';', "a;b", 'it''s;'`, 'b']],
    ['outside comments', 'a -- ;\n, b; /* ; /* ; */ ; */ c', ['a -- ;\n, b', 'c']],
    ['without comments behind them', 'a -- one\n; b /* two */; c -- three', ['a', 'b', 'c']],
    ['outside dollar quotes', 'do $a$ ; $$ ; $a$; b', ['do $a$ ; $$ ; $a$', 'b']],
    ['outside parentheses', 'create rule r as do (a; b); c', ['create rule r as do (a; b)', 'c']],
    [
      'outside function bodies',
      'create or replace function f() returns int begin atomic select case when true then 1 end; end; b',
      ['create or replace function f() returns int begin atomic select case when true then 1 end; end', 'b'],
    ],
    [
      'outside function bodies with columns called case and end',
      'create function f() returns int begin atomic select 1 as end; select t.case from t; end; b',
      ['create function f() returns int begin atomic select 1 as end; select t.case from t; end', 'b'],
    ],
    [
      'despite a parameter called begin of a type called atomic',
      'create function f(begin atomic, finish date) returns date language sql as $$ select begin $$; b; c',
      ['create function f(begin atomic, finish date) returns date language sql as $$ select begin $$', 'b', 'c'],
    ],
    ['despite an unclosed quote', "a; select 'b; c", ['a', "select 'b; c"]],
    ['despite a dollar sign in a name', 'select a$b; c', ['select a$b', 'c']],
  ])('%s', (_what, sql, texts) => {
    expect(splitStatements(sql).map(({ text }) => text)).toEqual(texts)
  })
})

test('a name without quotes has small letters where PostgreSQL lowers them', () => {
  expect(['Über', 'ÜBER', '"ÜBER"'].map(unquoted)).toEqual(['Über', 'Über', 'ÜBER'])
})
