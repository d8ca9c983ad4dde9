import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Json } from '../../../src/foundation/json.js'
import { type Plan, planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, makeFolder, specOf, tablesOf } from '../../support/migrations.js'

let scratch: TestDatabase

beforeAll(async () => {
  scratch = await openTestDatabase()
})

afterAll(() => scratch.close())

const ID = { type: 'bigint', primary_key: true }
const book = (
  fields: { readonly [name: string]: Json } = {},
  indexes: readonly Json[] = [],
  more: { readonly [key: string]: Json } = {},
): { readonly [name: string]: Json } => ({
  book: { table: 'books', fields: { id: ID, title: { type: 'string', max: 100 }, ...fields }, indexes, ...more },
})
const author = { author: { table: 'authors', fields: { id: ID, name: { type: 'text' } } } }

const plan = (models: { readonly [name: string]: Json }, folder: string): Promise<Plan> =>
  planMigration(specOf(models), folder, scratch)

/** A folder whose files make these models. */
async function folderOf(models: { readonly [name: string]: Json }) {
  const folder = await makeFolder()
  await writeMigration(await plan(models, folder.path), folder.path)
  return folder
}

/** What a change of models comes to, as `migrate plan` shows it. */
async function changes(from: { readonly [name: string]: Json }, to: { readonly [name: string]: Json }) {
  const { steps } = await plan(to, (await folderOf(from)).path)
  return steps.map(({ change, subject, detail, safety }) => `${safety} ${change} ${subject}: ${detail}`)
}

describe('a plan', () => {
  test('for an empty folder creates every table; the next plan is empty', async () => {
    const folder = await makeFolder()
    const models = { ...book({ author: { type: 'belongs_to', model: 'author' } }), ...author }
    const planned = await plan(models, folder.path)
    expect(planned).toMatchObject({ name: 'create_authors_books', rejections: [], notes: [] })
    expect(await folder.names()).toEqual([])
    expect(await tablesOf(scratch)).toEqual([])
    expect(await writeMigration(planned, folder.path)).toEqual([join(folder.path, '0001_create_authors_books.sql')])
    expect(await plan(models, folder.path)).toMatchObject({ steps: [], rejections: [], text: undefined })
    expect(await readFile(join(folder.path, '0001_create_authors_books.sql'), 'utf8')).toBe(`-- up

create table "authors" (
  "id" bigint generated always as identity,
  "name" text collate "C" not null,
  constraint "authors_pkey" primary key ("id")
);

create table "books" (
  "id" bigint generated always as identity,
  "title" varchar(100) collate "C" not null,
  "author_id" bigint not null,
  constraint "books_pkey" primary key ("id"),
  constraint "books_author_id_fkey" foreign key ("author_id") references "authors" ("id") on delete restrict
);

create index "books_author_id_idx" on "books" ("author_id");

-- down

drop table "books";

drop table "authors";

-- owns: "authors_pkey", "books_pkey", "books_author_id_fkey", "books_author_id_idx"
`)
  })

  test('writes values whose lines look like the marks of a file', async () => {
    const note = 'first\n-- up\n-- down\n-- owns: "by_hand"\n'
    const models = book({ note: { type: 'text', default: note } })
    const folder = await folderOf(models)
    expect(await plan(models, folder.path)).toMatchObject({ steps: [], rejections: [] })
    const database = await openTestDatabase()
    try {
      await migrateUp(database, folder.path)
      await database.query({ text: `insert into books (title) values ('a')`, values: [] })
      expect((await database.query({ text: 'select note from books', values: [] })).rows).toEqual([[note]])
      await migrateDown(database, folder.path, { allows: () => true })
      expect(await tablesOf(database)).toEqual([])
    } finally {
      await database.close()
    }
  })

  test('creates tables that refer to each other and to themselves', async () => {
    const models = {
      book: {
        table: 'books',
        fields: {
          id: ID,
          author: { type: 'belongs_to', model: 'author' },
          sequel: { type: 'belongs_to', model: 'book', nullable: true },
        },
      },
      author: { table: 'authors', fields: { id: ID, best: { type: 'belongs_to', model: 'book', nullable: true } } },
    }
    const folder = await folderOf(models)
    const database = await openTestDatabase()
    try {
      await migrateUp(database, folder.path)
      expect(await schemaDifferences(specOf(models), database)).toEqual([])
      await migrateDown(database, folder.path, { allows: () => true })
      expect(await tablesOf(database)).toEqual([])
    } finally {
      await database.close()
    }
  })

  test('shortens names that PostgreSQL would truncate, and rejects clashes', async () => {
    const long = 'a'.repeat(50)
    const folder = await folderOf({
      book: {
        table: 'books',
        fields: { id: ID, [long]: { type: 'string', min: 1 }, [`${long}_b`]: { type: 'string', min: 1 } },
      },
    })
    const text = await readFile(join(folder.path, '0001_create_books.sql'), 'utf8')
    const names = [...text.matchAll(/constraint "([^"]+)"/g)].map(([, name = '']) => name)
    expect(new Set(names).size).toBe(3)
    expect(names.filter((name) => name.length > 63)).toEqual([])
    const clash = { ...book(), other: { table: 'books_pkey', fields: { id: ID } } }
    expect(await failureOf(plan(clash, folder.path))).toBe(
      'the key (id) of table books and table books_pkey would both be called books_pkey: rename a table or a field',
    )
    const indexed = { ...book({}, [['title', 'id']]), other: { table: 'books_title_id_idx', fields: { id: ID } } }
    expect(await failureOf(plan(indexed, folder.path))).toBe(
      'the index (title, id) of table books and table books_title_id_idx would both be called books_title_id_idx: rename a table or a field',
    )
  })

  const INTEGER = { type: 'integer' }
  const PAIRS = { x: INTEGER, y: INTEGER, x_y: INTEGER }

  test.each<readonly [clash: string, fields: { readonly [name: string]: Json }, indexes: readonly Json[]]>([
    [
      'the key (x_y) of table books and the key (x, y) of table books would both be called books_x_y_key: rename a table or a field',
      { ...PAIRS, x_y: { ...INTEGER, unique: true } },
      [{ fields: ['x', 'y'], unique: true }],
    ],
    [
      'the index (x, y) of table books and the index (x_y) of table books would both be called books_x_y_idx: rename a table or a field',
      PAIRS,
      [['x', 'y'], ['x_y']],
    ],
    [
      `the index (x) of table books where "y" > '5' and the index (x) of table books where "y" > '-5' would both be called books_x_y_gt_5_key: create one of them by hand in a migration`,
      PAIRS,
      [5, -5].map((y) => ({ fields: ['x'], unique: true, where: { y__gt: y } })),
    ],
  ])('makes no part silently whose name another part has: %s', async (clash, fields, indexes) => {
    const { path } = await makeFolder()
    expect(await failureOf(plan(book(fields, indexes), path))).toBe(clash)
  })

  test('makes no foreign key silently whose name another one has', async () => {
    const { path } = await makeFolder()
    const place = {
      table: 'places',
      fields: { id: ID, x: INTEGER, y: INTEGER },
      indexes: [{ fields: ['x', 'y'], unique: true }],
    }
    const models = {
      place,
      visit: {
        table: 'visits',
        fields: { id: ID, x: INTEGER, y: INTEGER, near: { type: 'belongs_to', model: 'place', column: 'x_y' } },
        relations: { at: { model: 'place', fields: ['x', 'y'], references: ['x', 'y'] } },
      },
    }
    expect(await failureOf(plan(models, path))).toBe(
      'the index (x_y) of table visits and the index (x, y) of table visits would both be called visits_x_y_idx: rename a table or a field\n' +
        'the foreign key (x_y) of table visits and the foreign key (x, y) of table visits would both be called visits_x_y_fkey: rename a table or a field',
    )
  })

  test('allows a table with the name of a constraint that has no index', async () => {
    const { path } = await makeFolder()
    const models = {
      ...book({ size: { type: 'integer', minimum: 1 } }),
      other: { table: 'books_size_range', fields: { id: ID } },
    }
    expect(await plan(models, path)).toMatchObject({ rejections: [], proof: expect.anything() })
  })

  test.each<
    [
      what: string,
      from: { readonly [name: string]: Json },
      to: { readonly [name: string]: Json },
      shown: readonly string[],
    ]
  >([
    ['a table', book(), { ...book(), ...author }, ['safe add authors: table (id, name)']],
    [
      'a nullable column',
      book(),
      book({ note: { type: 'text', nullable: true } }),
      ['safe add books.note: text collate "C"'],
    ],
    [
      'a column with a default',
      book(),
      book({ pages: { type: 'integer', default: 7 } }),
      [`safe add books.pages: integer not null default '7'`],
    ],
    ['an index', book(), book({}, [['title', 'id']]), ['risky add books.books_title_id_idx: index (title, id)']],
    ['a dropped index', book({}, [['title']]), book(), ['safe drop books.books_title_idx: index (title)']],
    [
      'a unique column',
      book(),
      book({ title: { type: 'string', max: 100, unique: true } }),
      ['risky add books.books_title_key: unique ("title")'],
    ],
    [
      'a rule',
      book({ pages: { type: 'integer' } }),
      book({ pages: { type: 'integer', minimum: 1 } }),
      ['risky add books.books_pages_range: check ("pages" >= \'1\'::integer)'],
    ],
    [
      'a looser rule',
      book({ pages: { type: 'integer', minimum: 2 } }),
      book({ pages: { type: 'integer', minimum: 1 } }),
      ['risky change books.books_pages_range: CHECK ((pages >= 2)) -> check ("pages" >= \'1\'::integer)'],
    ],
    [
      'a dropped rule',
      book({ pages: { type: 'integer', minimum: 2 } }),
      book({ pages: { type: 'integer' } }),
      ['risky drop books.books_pages_range: CHECK ((pages >= 2))'],
    ],
    [
      'a column that becomes nullable',
      book(),
      book({ title: { type: 'string', max: 100, nullable: true } }),
      ['safe change books.title: not null -> null'],
    ],
    [
      'a column that becomes NOT NULL',
      book({ n: { type: 'date', nullable: true } }),
      book({ n: { type: 'date' } }),
      ['risky change books.n: null -> not null'],
    ],
    [
      'a changed default',
      book({ n: { type: 'integer', default: 1 } }),
      book({ n: { type: 'integer', default: 2 } }),
      ['safe change books.n: default 1 -> 2'],
    ],
    [
      'a column without a value for existing rows',
      book(),
      book({ pages: { type: 'integer' } }),
      ['risky add books.pages: integer not null'],
    ],
    [
      'a dropped column',
      book({ pages: { type: 'integer' } }),
      book(),
      ['destructive drop books.pages: integer not null'],
    ],
    [
      'a dropped column next to a new one',
      book({ size: { type: 'integer' } }),
      book({ pages: { type: 'integer', nullable: true } }, [], { dropped: ['size'] }),
      ['destructive drop books.size: integer not null', 'safe add books.pages: integer'],
    ],
    [
      'a dropped relation next to a new column',
      { ...author, ...book({ author: { type: 'belongs_to', model: 'author' } }) },
      { ...author, ...book({ pages: { type: 'integer', nullable: true } }, [], { dropped: ['author'] }) },
      [
        'safe drop books.books_author_id_fkey: FOREIGN KEY (author_id) REFERENCES authors(id) ON DELETE RESTRICT',
        'safe drop books.books_author_id_idx: index (author_id)',
        'destructive drop books.author_id: bigint not null',
        'safe add books.pages: integer',
      ],
    ],
    [
      'a field with the default null, and a relation to a table that is not managed',
      book(),
      {
        ...book({
          note: { type: 'text', nullable: true, default: null },
          author: { type: 'belongs_to', model: 'author', nullable: true },
        }),
        author: { ...author.author, managed: false },
      },
      [
        'safe add books.note: text collate "C"',
        'safe add books.author_id: bigint',
        'risky add books.books_author_id_idx: index (author_id)',
      ],
    ],
    [
      'a renamed column with every object named after it',
      book({ size: { type: 'integer', minimum: 1, unique: true } }, [['size', 'id']]),
      book({ pages: { type: 'integer', minimum: 1, unique: true, renamed_from: 'size' } }, [['pages', 'id']]),
      [
        'safe rename books.pages: was size',
        'safe rename books.books_pages_key: constraint, was books_size_key',
        'safe rename books.books_pages_range: constraint, was books_size_range',
        'safe rename books.books_pages_id_idx: index, was books_size_id_idx',
      ],
    ],
    [
      'a wider number',
      book({ pages: { type: 'integer' } }),
      book({ pages: { type: 'bigint' } }),
      ['risky change books.pages: integer -> bigint'],
    ],
    [
      'a longer text',
      book(),
      book({ title: { type: 'string', max: 200 } }),
      ['safe change books.title: character varying(100) collate "C" -> character varying(200) collate "C"'],
    ],
    [
      'a text without a limit',
      book(),
      book({ title: { type: 'text' } }),
      ['safe change books.title: character varying(100) collate "C" -> text collate "C"'],
    ],
    [
      'a shorter text',
      book(),
      book({ title: { type: 'string', max: 10 } }),
      ['risky change books.title: character varying(100) collate "C" -> character varying(10) collate "C"'],
    ],
    [
      'a relation',
      { ...book(), ...author },
      {
        ...book({ author: { type: 'belongs_to', model: 'author', nullable: true, on_delete: 'set_null' } }),
        ...author,
      },
      [
        'safe add books.author_id: bigint',
        'risky add books.books_author_id_fkey: foreign key ("author_id") references "authors" ("id") on delete set null',
        'risky add books.books_author_id_idx: index (author_id)',
      ],
    ],
  ])('shows %s', async (_what, from, to, shown) => {
    expect(await changes(from, to)).toEqual(shown)
  })

  test.each<
    [
      what: string,
      from: { readonly [name: string]: Json },
      to: { readonly [name: string]: Json },
      says: readonly RegExp[],
    ]
  >([
    [
      'an undeclared rename',
      book({ size: { type: 'integer' } }),
      book({ pages: { type: 'integer' } }),
      [/^column books\.size is not in .*\n +renamed_from: size .* `pages` .*\n +dropped: \[size\] .* `book`/],
    ],
    [
      'an undeclared rename, of which a new column of the same type is the likeliest',
      book({ size: { type: 'integer' } }),
      book({ note: { type: 'text' }, pages: { type: 'integer' } }),
      [/^column books\.size is not in .* and books\.pages is new: .*\n +renamed_from: size .* `pages` /],
    ],
    [
      'an undeclared rename, also if each new column has another type',
      book({ size: { type: 'integer' } }),
      book({ note: { type: 'text' } }),
      [/^column books\.size is not in .* and books\.note is new: .*\n +renamed_from: size .* `note` /],
    ],
    [
      'a rename of a column that never existed',
      book(),
      book({ pages: { type: 'integer', renamed_from: 'sizes' } }),
      [/^column books\.pages is new, and its `renamed_from` names no column of books, which has: id, title$/],
    ],
    [
      'an undeclared rename of a table',
      book({ size: { type: 'integer' } }),
      { volume: { fields: { id: ID, title: { type: 'string', max: 100 } } } },
      [/^table books is not in .*\n +renamed_from: books .* `volume`.*\n +dropped: \[books\] .* top of/],
    ],
    [
      'an undeclared rename of a table to one that has half of its new columns',
      book({ size: { type: 'integer' } }),
      { volume: { fields: { id: ID, title: { type: 'string', max: 100 }, pages: { type: 'integer' } } } },
      [/^table books is not in .*\n +renamed_from: books .* `volume`.*\n/],
    ],
    [
      'a rename of a table that never existed',
      book(),
      { ...book(), volume: { renamed_from: 'tomes', fields: { id: ID } } },
      [/^table volume is new, and its `renamed_from` names no table of the migrations, which have: books$/],
    ],
    [
      'another primary key',
      { book: { table: 'books', fields: { id: ID } } },
      { book: { table: 'books', fields: { id: { type: 'uuid', primary_key: true } } } },
      [/^column books\.id changes from bigint generated always as identity to uuid/],
    ],
  ])('rejects %s', async (_what, from, to, says) => {
    const folder = await folderOf(from)
    const planned = await plan(to, folder.path)
    expect(planned.rejections).toEqual(says.map((pattern) => expect.stringMatching(pattern)))
    expect(planned.text).toBeUndefined()
    expect(await failureOf(writeMigration(planned, folder.path))).toBe(planned.rejections.join('\n'))
    expect(await folder.names()).toHaveLength(1)
  })

  test.each<[shared: string, fields: { readonly [name: string]: Json }, dropped: readonly string[]]>([
    ['no column but the key', { name: { type: 'text' } }, []],
    ['all columns, of which it has none but the key', {}, []],
    ['less than half of its columns', { title: { type: 'text' }, a: { type: 'text' }, b: { type: 'text' } }, []],
    ['all columns with one that may be dropped', { title: { type: 'string', max: 100 } }, ['books']],
  ])('does not take a new table for a renamed one if it shares %s', async (_shared, fields, dropped) => {
    const folder = await folderOf(book())
    const { rejections } = await planMigration(
      specOf({ volume: { fields: { id: ID, ...fields } } }, dropped),
      folder.path,
      scratch,
    )
    expect(rejections).toEqual([])
  })

  test('does not touch hand-made objects', async () => {
    const folder = await folderOf(book())
    await folder.write(
      '0002_by_hand.sql',
      `-- up
create table audit (id int);
alter table books add constraint no_dots check (title not like '%.%'), add check (title <> ''), add upper text generated always as (upper(title)) stored;
create index books_lower on books (lower(title));
`,
    )
    expect(await plan(book(), folder.path)).toMatchObject({
      steps: [],
      rejections: [],
      notes: [
        'table audit is not in the configuration and is left alone; `dropped: [audit]` at its top drops it',
        'column books.upper is computed and is left alone',
        'constraint books_title_check of books is not in the configuration and is left alone; a migration of your own can drop it: alter table "books" drop constraint "books_title_check"',
        'constraint no_dots of books is not in the configuration and is left alone; a migration of your own can drop it: alter table "books" drop constraint "no_dots"',
        'index books_lower of books is not in the configuration and is left alone; a migration of your own can drop it: drop index "books_lower"',
      ],
    })
  })

  // PostgreSQL prints a list for a varchar in one way when it was written, and in another when it was read from what it printed.
  test.each<[goes: string, dropped: readonly string[], fields: { readonly [name: string]: Json }]>([
    ['a column', ['size'], {}],
    ['a table', [], {}],
  ])('restores %s with a hand-made check', async (goes, dropped, fields) => {
    const folder = await folderOf(book(fields))
    await folder.write(
      '0002_by_hand.sql',
      `-- up
       create table sizes (id int primary key, name varchar(9) check (name in ('s', 'm')) default 's');
       create index some_sizes on sizes (name) where name in ('s', 'm');
       alter table books add size varchar(9) check (size in ('s', 'm'));`,
    )
    const spec =
      goes === 'a table' ? specOf(book({ size: { type: 'text' } }), ['sizes']) : specOf(book({}, [], { dropped }))
    const planned = await planMigration(spec, folder.path, scratch)
    expect(planned.steps.filter(({ change }) => change === 'drop').length).toBeGreaterThan(0)
    expect(planned).toMatchObject({ rejections: [], proof: expect.anything() })
  })

  test('names the file that cannot be replayed', async () => {
    const folder = await makeFolder({ '0001_bad.sql': '-- up\nselect nothing;\n' })
    expect(await failureOf(plan(book(), folder.path), folder)).toBe('0001_bad.sql:2: column "nothing" does not exist')
  })

  test.each(['', 'Add Title', '../x', 'a-b'])('is not written under the name %j', async (name) => {
    const folder = await makeFolder()
    const failure = await failureOf(writeMigration(await plan(book(), folder.path), folder.path, name))
    expect(failure).toBe(
      `${JSON.stringify(name)} is not a valid name of a migration: use lower-case letters, digits and _`,
    )
    expect(await folder.names()).toEqual([])
  })

  test('is not written if the files have changed since', async () => {
    const folder = await makeFolder()
    const planned = await plan(book(), folder.path)
    await folder.write('0001_first.sql', '-- up\nselect 1;\n')
    expect(await failureOf(writeMigration(planned, folder.path))).toBe(
      'the migration files changed since the plan was made',
    )
    expect(await folder.names()).toEqual(['0001_first.sql'])
  })
})

const EXTRA: { readonly [name: string]: Json } = {
  subtitle: { type: 'string', min: 1, max: 20, nullable: true, unique: true },
  pages: { type: 'integer', minimum: 1, default: 1 },
  price: { type: 'decimal', precision: 8, scale: 2, default: '0.00' },
  state: { type: 'choice', choices: ["it's", 'a\\b?'], default: 'a\\b?' },
  author: { type: 'belongs_to', model: 'author', nullable: true },
  made_at: { type: 'timestamp', auto: 'on_create' },
  day: { type: 'date', nullable: true },
  token: { type: 'uuid', default: { function: 'uuid' } },
  extra: { type: 'json', default: ["'", 1] },
  rate: { type: 'float', nullable: true, maximum: 5 },
  open: { type: 'boolean', default: false },
  slug: { type: 'text', pattern: '^[a-z]+$', default: 'a' },
}

const names = Object.keys(EXTRA)

test('adding any fields and indexes yields the target schema, up and down', async () => {
  const pick = (chosen: readonly string[]) =>
    Object.fromEntries(names.filter((name) => chosen.includes(name)).map((name) => [name, EXTRA[name] ?? null]))
  const database = await openTestDatabase()
  const property = fc.asyncProperty(
    fc.subarray(names),
    fc.subarray(names),
    fc.uniqueArray(fc.subarray(names, { minLength: 1, maxLength: 3 }), { maxLength: 2, selector: String }),
    async (first, second, indexes) => {
      const both = [...first, ...second]
      const indexed = indexes.filter((columns) => columns.every((name) => both.includes(name) && name !== 'extra'))
      const to = { ...book(pick(both), indexed), ...author }
      const folder = await folderOf({ ...book(pick(first)), ...author })
      const planned = await plan(to, folder.path)
      expect(planned.rejections).toEqual([])
      if (planned.steps.length > 0) await writeMigration(planned, folder.path)
      expect(await plan(to, folder.path)).toMatchObject({ steps: [], rejections: [], notes: [] })
      await migrateUp(database, folder.path)
      expect(await schemaDifferences(specOf(to), database)).toEqual([])
      await migrateDown(database, folder.path, { steps: 2, allows: () => true })
      expect(await tablesOf(database)).toEqual([])
    },
  )
  try {
    await fc.assert(property, { numRuns: 5 })
  } finally {
    await database.close()
  }
})
