import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  adoptDrift,
  migrateDown,
  migrateUp,
  migrationStatus,
  planMigration,
  readDrift,
  schemaDifferences,
} from '../../../src/internal.js'
import { BOOKS, BOOKS_MIGRATION } from '../../support/cli.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, type Folder, makeFolder } from '../../support/migrations.js'

interface Case {
  readonly what: string
  /** Made by hand, one statement after the other. */
  readonly made: string
  readonly object: string
  /** Why a migration cannot make it; undefined where one can. */
  readonly known: RegExp | undefined
  /** Another object, which must be adopted before. */
  readonly first?: string
}

const FUNCTION = `create function twice(text) returns text immutable language sql as 'select $1 || $1';`

const CASES: readonly Case[] = [
  {
    what: 'a trigram index',
    made: 'create extension pg_trgm; create index title_search on books using gin (title gin_trgm_ops)',
    object: 'books.title_search',
    known: /gin_trgm_ops/,
  },
  {
    what: 'a column of a domain',
    made: 'create domain isbn as text check (length(value) = 13); alter table books add isbn isbn',
    object: 'books.isbn',
    known: /isbn/,
  },
  {
    what: 'a domain as the type of an existing column',
    made: 'create domain heading as varchar(100) collate "C"; alter table books alter title type heading',
    object: 'books.title',
    known: /heading/,
  },
  {
    what: 'an exclusion constraint',
    made: 'alter table books add during tstzrange, add constraint no_overlap exclude using gist (during with &&)',
    object: 'books.no_overlap',
    known: undefined,
    first: 'books.during',
  },
  {
    what: 'a column with its own collation',
    made: `create collation own (locale = 'C'); alter table books add place text collate own`,
    object: 'books.place',
    known: /own/,
  },
  {
    what: 'a generated column',
    made: `${FUNCTION} alter table books add doubled text generated always as (twice(title)) stored`,
    object: 'books.doubled',
    known: /twice/,
  },
  {
    what: 'a partial index on an expression',
    made: `create index by_title on books (lower(title)) where title <> ''`,
    object: 'books.by_title',
    known: undefined,
  },
  {
    what: 'an index on a user-defined function',
    made: `${FUNCTION} create index by_title on books (twice(title))`,
    object: 'books.by_title',
    known: /twice/,
  },
  {
    what: 'a foreign key to another schema',
    made: `create schema other; create table other.people (id bigint primary key);
      alter table books add constraint owned foreign key (id) references other.people (id)`,
    object: 'books.owned',
    known: /other/,
  },
]

let database: TestDatabase
let folder: Folder
let scratch: TestDatabase
const spec = specOf(BOOKS)

beforeAll(async () => {
  scratch = await openTestDatabase()
})

afterAll(() => scratch.close())

beforeEach(async () => {
  database = await openTestDatabase()
  folder = await makeFolder({ '0001_create_books.sql': BOOKS_MIGRATION })
  await migrateUp(database, folder.path)
})

afterEach(() => database.close())

const run = (text: string) => database.query({ text, values: [] })

async function make(statements: string): Promise<void> {
  await database.loadExtensions?.(['pg_trgm'])
  for (const text of statements.split(';')) await run(text)
}

const adopt = (object: string) => adoptDrift(database, folder.path, { spec, object, scratch })

describe('an adopted object blocks no later command', () => {
  test.each(CASES)('$what', async ({ made, object, known, first }) => {
    await make(made)
    if (first !== undefined) expect((await adopt(first)).known).toBeUndefined()
    const adopted = await adopt(object)
    if (known === undefined) expect(adopted.known).toBeUndefined()
    else expect(adopted).toMatchObject({ known: expect.stringMatching(known), column: undefined })
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
    expect(await planMigration(spec, folder.path, scratch)).toMatchObject({ steps: [], rejections: [] })
    expect(await schemaDifferences(spec, database)).toEqual([])
    expect(await migrateUp(database, folder.path)).toEqual([])
  })

  test.each(CASES)('reverting an adoption drops the object only if it is named: $what', async (tried) => {
    const { made, object, known, first } = tried
    await make(made)
    if (first !== undefined) await adopt(first)
    const drift = (await readDrift(database, folder.path, scratch)).find((each) => each.object === object)
    const { file } = await adopt(object)
    if (known === undefined) {
      expect(await failureOf(migrateDown(database, folder.path))).toBe(
        `${file.replace(/.*\/|\.sql$/g, '')} drops objects that others created: ${object}`,
      )
      const states = (await migrationStatus(database, folder.path)).map(({ state }) => state)
      expect(new Set(states)).toEqual(new Set(['applied']))
      await migrateDown(database, folder.path, { allows: (name) => name === object })
      return
    }
    await migrateDown(database, folder.path)
    await folder.remove(file)
    expect((await readDrift(database, folder.path, scratch)).find((each) => each.object === object)).toEqual(drift)
  })

  test.each([{ later: 'Volumes' }, { later: 'all.volumes' }])(
    'a known object stays known when its table becomes $later and its column is renamed',
    async ({ later }) => {
      await make(
        'create domain heading as text; alter table books alter column title type heading; alter table books add isbn heading',
      )
      for (const object of ['books.title', 'books.isbn']) expect((await adopt(object)).known).toBeDefined()
      await folder.write(
        '0004_rename.sql',
        `-- up\nalter table books rename to "${later}";\nalter table "${later}" rename title to name;\n-- down\n`,
      )
      await migrateUp(database, folder.path)
      const renamed = specOf(
        BOOKS.replace('table: books', `table: '"${later}"'`).replace('title:', 'name:').replaceAll('[title]', '[name]'),
      )
      expect(await readDrift(database, folder.path, scratch)).toEqual([])
      const { rejections } = await planMigration(renamed, folder.path, scratch)
      expect(rejections).toEqual([])
    },
  )

  test('a generated column is adopted with its expression, and gets no field', async () => {
    await run('alter table books add loud text generated always as (upper(title)) stored')
    const { file, column, known } = await adopt('books.loud')
    expect({ column, known }).toEqual({ column: undefined, known: undefined })
    expect(await readFile(file, 'utf8')).toContain('generated always as (upper((title)::text)) stored')
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
    expect(await planMigration(spec, folder.path, scratch)).toMatchObject({ steps: [], rejections: [] })
  })

  test('after `drop expression`, an adoption records a plain column and adds a field', async () => {
    await run('alter table books add size integer generated always as (length(title)) stored')
    await adopt('books.size')
    await run('alter table books alter size drop expression')
    const { file, column, known } = await adopt('books.size')
    expect({ column, known }).toMatchObject({ column: { name: 'size', type: 'integer' }, known: undefined })
    expect(await readFile(file, 'utf8')).toContain('alter column "size" drop expression;')
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
  })

  test('a column that is computed now is adopted once no field describes it', async () => {
    await run('alter table books drop title, add title text generated always as (id::text) stored')
    expect(await failureOf(adopt('books.title'))).toBe(
      'the configuration does not describe books.title as the database has it, so the next plan would undo it: change books.title: computed -> character varying(100)',
    )
    const withoutField = specOf(BOOKS.replace(/ +title: .*\n/, '').replace(/ +filterable: .*\n/, ''))
    const { file, known } = await adoptDrift(database, folder.path, {
      spec: withoutField,
      object: 'books.title',
      scratch,
    })
    expect(known).toBeUndefined()
    expect(await readFile(file, 'utf8')).toContain('generated always as ((id)::text) stored')
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
  })

  test('a trigger is not adopted, and blocks nothing', async () => {
    await run(`create function touch() returns trigger language plpgsql as 'begin return new; end'`)
    await run('create trigger touch before insert on books for each row execute function touch()')
    expect(await failureOf(adopt('books.touch'))).toBe('books.touch does not exist only in the database')
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
    expect(await planMigration(spec, folder.path, scratch)).toMatchObject({ steps: [], rejections: [] })
  })
})

describe('an adoption that was killed is completed by the next one', () => {
  const forget = () => run(`delete from snippetctl_migrations where name like '0002%'`)

  test.each([
    { what: 'a column', made: 'alter table books add extra integer', object: 'books.extra' },
    { what: 'an index', made: 'create index by_title on books (lower(title))', object: 'books.by_title' },
    {
      what: 'an object that a migration cannot create',
      made: 'create domain isbn as text; alter table books add isbn isbn',
      object: 'books.isbn',
    },
  ])('before $what is recorded as applied', async ({ made, object }) => {
    await make(made)
    const first = await adopt(object)
    const files = await folder.names()
    await forget()
    expect(await adopt(object)).toEqual({ ...first, resumed: true })
    expect(await folder.names()).toEqual(files)
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
    expect(await migrateUp(database, folder.path)).toEqual([])
  })

  test('before a column gets its field', async () => {
    await make('alter table books add extra integer')
    const first = await adopt('books.extra')
    expect(first.column).toMatchObject({ table: 'books', name: 'extra' })
    expect(await adopt('books.extra')).toEqual({ ...first, resumed: true })
    const declared = specOf(
      BOOKS.replace('max: 100 }\n', 'max: 100 }\n      extra: { type: integer, nullable: true }\n'),
    )
    const again = adoptDrift(database, folder.path, { spec: declared, object: 'books.extra', scratch })
    expect(await failureOf(again)).toBe('books.extra does not exist only in the database')
  })

  test('but a pending file with another text is not recorded', async () => {
    await make('alter table books add extra integer')
    const { file } = await adopt('books.extra')
    await forget()
    await folder.write(file.replace(/.*\//, ''), (await readFile(file, 'utf8')).replace('integer', 'bigint'))
    expect(await failureOf(adopt('books.extra'))).toBe('0002_adopt_books_extra must be applied first')
  })
})

describe('an object that resources.yaml would drop is adopted only once the file declares it', () => {
  const PAGES = (settings: string) => BOOKS.replace('max: 100 }\n', `max: 100 }\n      pages: { ${settings} }\n`)
  const COLUMN = 'alter table books add pages'

  interface Change {
    readonly what: string
    readonly column: string
    readonly before: string
    readonly made: string
    readonly help: string
    readonly after: string
  }

  test.each<Change>([
    {
      what: 'a different default',
      column: 'integer not null default 1',
      before: 'type: integer, default: 1',
      made: 'alter pages set default -5',
      help: 'write `default: -5`',
      after: 'type: integer, default: -5',
    },
    {
      what: 'no default',
      column: 'integer not null default 1',
      before: 'type: integer, default: 1',
      made: 'alter pages drop default',
      help: 'remove `default`',
      after: 'type: integer',
    },
    {
      what: 'a default for a text column',
      column: 'text collate "C"',
      before: 'type: text, nullable: true',
      made: `alter pages set default 'it''s "so"'`,
      help: 'write `default: "it\'s \\"so\\""`',
      after: 'type: text, nullable: true, default: "it\'s \\"so\\""',
    },
    {
      what: 'a default with backslashes',
      column: 'text collate "C"',
      before: 'type: text, nullable: true',
      made: String.raw`alter pages set default E'it''s a\\b\\'`,
      help: String.raw`write ${'`'}default: "it's a\\b\\"${'`'}`,
      after: String.raw`type: text, nullable: true, default: "it's a\\b\\"`,
    },
    {
      what: 'NOT NULL removed',
      column: 'integer not null',
      before: 'type: integer',
      made: 'alter pages drop not null',
      help: 'write `nullable: true`',
      after: 'type: integer, nullable: true',
    },
    {
      what: 'NOT NULL added',
      column: 'integer',
      before: 'type: integer, nullable: true',
      made: 'alter pages set not null',
      help: 'remove `nullable`',
      after: 'type: integer',
    },
    {
      what: 'a different length',
      column: 'varchar(10) collate "C" not null',
      before: 'type: string, max: 10',
      made: 'alter pages type varchar(20) collate "C"',
      help: 'write `max: 20`',
      after: 'type: string, max: 20',
    },
    {
      what: 'a different type',
      column: 'integer not null',
      before: 'type: integer',
      made: 'alter pages type bigint',
      help: 'write `type: bigint`',
      after: 'type: bigint',
    },
  ])('$what', async ({ column, before, made, help, after }) => {
    await folder.write('0002_add_pages.sql', `-- up\n${COLUMN} ${column};\n-- down\nalter table books drop pages;\n`)
    await migrateUp(database, folder.path)
    await run(`alter table books ${made}`)
    const files = await folder.names()
    const adoptAs = (settings: string) =>
      adoptDrift(database, folder.path, { spec: specOf(PAGES(settings)), object: 'books.pages', scratch })
    const error = await adoptAs(before).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      errors: [expect.stringMatching(/^the configuration does not describe books\.pages as the database has it, /)],
      help: [
        `In models.book.fields.pages, ${help}; then adopt it again`,
        expect.stringMatching(/^Or put it back as the files have it: .*alter table "books" alter column "pages" /s),
      ],
    })
    expect(await folder.names()).toEqual(files)
    await adoptAs(after)
    expect(await planMigration(specOf(PAGES(after)), folder.path, scratch)).toMatchObject({ steps: [], rejections: [] })
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
  })

  test.each([
    [
      'an index that resources.yaml declares',
      'create index books_pages_idx on books (pages)',
      'drop index books_pages_idx; create index books_pages_idx on books (pages) where pages > 1',
      'type: integer',
      '    indexes: [[pages]]\n',
      'books.books_pages_idx',
    ],
    [
      'a constraint that resources.yaml declares',
      'alter table books add constraint books_pages_range check (pages >= 1)',
      'alter table books drop constraint books_pages_range, add constraint books_pages_range check (pages >= 2)',
      'type: integer, minimum: 1',
      '',
      'books.books_pages_range',
    ],
  ])('%s', async (_what, declared, made, settings, indexes, object) => {
    await folder.write(
      '0002_add_pages.sql',
      `-- up\n${COLUMN} integer not null;\n${declared};\n-- down\nalter table books drop pages;\n`,
    )
    await migrateUp(database, folder.path)
    const wanted = specOf(PAGES(settings).replace('resources:\n', `${indexes}resources:\n`))
    expect((await planMigration(wanted, folder.path, scratch)).steps).toEqual([])
    await make(made)
    const adopted = adoptDrift(database, folder.path, { spec: wanted, object, scratch })
    await expect(adopted).rejects.toThrow(`the configuration does not describe ${object} as the database has it`)
  })

  describe('even if the next plan changes the object anyway', () => {
    /** Applies a column of one definition, changes it by hand, and adopts an object while resources.yaml wants other settings. */
    const adoptWhile = async (definition: string, made: string, settings: string, object = 'books.pages') => {
      const up = `${COLUMN} ${definition}`
      await folder.write('0002_add_pages.sql', `-- up\n${up};\n-- down\nalter table books drop pages;\n`)
      await migrateUp(database, folder.path)
      await make(made)
      return adoptDrift(database, folder.path, { spec: specOf(PAGES(settings)), object, scratch })
    }

    test('rejects a default that differs from the pending one', async () => {
      const adopted = adoptWhile(
        'integer not null',
        'alter table books alter pages set default 5',
        'type: integer, default: 7',
      )
      await expect(adopted).rejects.toMatchObject({
        errors: [expect.stringMatching(/would undo it: change books\.pages: default 5 -> 7$/)],
        help: ['In models.book.fields.pages, write `default: 5`; then adopt it again', expect.anything()],
      })
    })

    test('rejects a constraint that differs from the pending one', async () => {
      const adopted = adoptWhile(
        'integer not null constraint books_pages_range check (pages >= 1)',
        'alter table books drop constraint books_pages_range, add constraint books_pages_range check (pages >= 2)',
        'type: integer, minimum: 3',
        'books.books_pages_range',
      )
      await expect(adopted).rejects.toThrow('does not describe books.books_pages_range as the database has it')
    })

    test('accepts a default in resources.yaml, whatever type is planned', async () => {
      const settings = 'type: bigint, default: -5'
      await adoptWhile('integer not null', 'alter table books alter pages set default -5', settings)
      const { steps } = await planMigration(specOf(PAGES(settings)), folder.path, scratch)
      expect(steps.map(({ detail }) => detail)).toEqual(['integer -> bigint'])
    })
  })
})

test('the name of a known object is rejected for a new one', async () => {
  await make('create domain isbn as text; alter table books add isbn isbn')
  await adopt('books.isbn')
  const wanted = specOf(
    BOOKS.replace('max: 100 }\n', 'max: 100 }\n      isbn: { type: string, max: 13, nullable: true }\n'),
  )
  expect((await planMigration(wanted, folder.path, scratch)).rejections).toEqual([
    'books.isbn already exists in the database: another program created it, and a migration lists it as known; give the new one another name',
  ])
})

test('an index adopted by an earlier version is dropped only if it is named', async () => {
  await run('create index by_title on books (lower(title))')
  await folder.write(
    '0002_adopt_books_by_title.sql',
    '-- up\n\ncreate index if not exists by_title on books (lower(title));\n\n-- down\n\ndrop index "by_title";\n',
  )
  await migrateUp(database, folder.path)
  expect(await failureOf(migrateDown(database, folder.path))).toBe(
    '0002_adopt_books_by_title drops objects that others created: by_title',
  )
})
