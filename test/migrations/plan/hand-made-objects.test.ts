import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import {
  introspect,
  migrateUp,
  type MigrationPlan,
  planMigration,
  writeIntrospected,
  writeMigration,
} from '../../../src/internal.js'
import { BOOKS, BOOKS_MIGRATION } from '../../support/cli.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { type Folder, makeFolder } from '../../support/migrations.js'

let scratch: TestDatabase
let folder: Folder

beforeEach(async () => {
  scratch = await openTestDatabase()
  folder = await makeFolder()
})

afterEach(() => scratch.close())

const plan = (text: string): Promise<MigrationPlan> => planMigration(specOf(text), folder.path, scratch)

/** The first migration, as the tool writes it. */
const begin = async (text = BOOKS) => writeMigration(await plan(text), folder.path)

const WITHOUT_MINIMUM = BOOKS.replace('min: 1, ', '')
const UNIQUE = BOOKS.replace('max: 100 }', 'max: 100, unique: true }')

/** Each has the name that the tool itself could give. */
const BY_HAND = `-- up
alter table books add constraint books_title_nonblank check (btrim(title) <> ''), add unique (title);
alter table books add constraint books_title_pattern check (title ~ '^[a-z]');
create index on books (title);
`

const NOTES = ['books_title_nonblank', 'books_title_key', 'books_title_pattern', 'books_title_idx']

test('storage parameters of an index stay, also when the index is renamed', async () => {
  const indexed = (field: string) => `version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      ${field}: { type: string, max: 100, renamed_from: title }
    indexes:
      - { fields: [${field}], where: { ${field}: "WITH (a='b') WHERE" } }
      - [${field}, id]
`
  const before = indexed('title').replace(', renamed_from: title', '')
  const names = [...((await plan(before)).text ?? '').matchAll(/create index "(\w+)"/g)].map(([, name]) => name)
  expect(names).toHaveLength(2)
  await begin(before)
  const set = names.map((name) => `alter index "${name}" set (fillfactor = 60, deduplicate_items = off);`)
  await folder.write('0002_filled.sql', `-- up\n${set.join('\n')}\n`)
  expect(await plan(before)).toMatchObject({ steps: [], rejections: [] })
  const { steps } = await plan(indexed('heading'))
  expect([...new Set(steps.map(({ change }) => change))]).toEqual(['rename'])
})

test('a unique index with storage parameters makes its field unique', async () => {
  await begin()
  await folder.write(
    '0002_unique.sql',
    '-- up\ncreate unique index one_title on books (title) with (fillfactor = 60);\n',
  )
  expect(await plan(UNIQUE)).toMatchObject({ steps: [], rejections: [] })
})

describe('hand-made constraints and indexes are not touched, whatever their names', () => {
  test('after a migration that states what it owns', async () => {
    await begin()
    await folder.write('0002_by_hand.sql', BY_HAND)
    const { steps, rejections, notes } = await plan(BOOKS)
    expect({ steps, rejections }).toEqual({ steps: [], rejections: [] })
    for (const name of NOTES)
      expect(notes.join('\n')).toContain(`${name} of books is not in the configuration and is left alone`)
  })

  test('after introspection', async () => {
    const database = await openTestDatabase(`
      create table books (
        id bigint generated always as identity primary key,
        title varchar(100) collate "C" not null constraint books_title_length check (char_length(title) >= 1),
        constraint books_title_nonblank check (btrim(title) <> ''),
        constraint books_title_pattern check (title ~ '^[a-z]'),
        constraint books_id_range check (id % 2 = 1)
      )`)
    try {
      const found = await introspect(database, {
        file: 'resources.yaml',
        directory: folder.path,
        scratch,
        manage: true,
        resources: 'none',
      })
      expect(found.remaining).toEqual([])
      await writeIntrospected(database, folder.path, found.migration ?? '')
      expect(await plan(found.text)).toMatchObject({ steps: [], rejections: [] })
      // What the models say is theirs to change.
      expect(found.text).toContain('min: 1')
      expect(await plan(found.text.replace('min: 1, ', ''))).toMatchObject({
        steps: [{ change: 'drop', subject: 'books.books_title_length', safety: 'risky' }],
      })
    } finally {
      await database.close()
    }
  })

  test('after a migration that dropped a part with the same name', async () => {
    await begin()
    await folder.write(
      '0002_drop.sql',
      '-- up\nalter table books drop constraint books_title_length;\n-- owns: nothing\n',
    )
    await folder.write(
      '0003_hand.sql',
      "-- up\nalter table books add constraint books_title_length check (title <> '');\n",
    )
    expect(await plan(WITHOUT_MINIMUM)).toMatchObject({ steps: [], rejections: [] })
  })

  test('unless one file drops and creates the part of resources.yaml', async () => {
    await begin()
    const check = 'check (char_length(title) >= 1)'
    const again = `alter table books drop constraint books_title_length;\nalter table books add constraint books_title_length ${check};`
    await folder.write('0002_again.sql', `-- up\n${again}\n`)
    expect(await plan(BOOKS)).toMatchObject({ steps: [], rejections: [] })
    expect((await plan(WITHOUT_MINIMUM)).steps).toMatchObject([{ change: 'drop', subject: 'books.books_title_length' }])
  })

  test('in files that do not state what they own, unless a rule has that name', async () => {
    await folder.write('0001_create_books.sql', BOOKS_MIGRATION)
    await folder.write(
      '0002_by_hand.sql',
      `-- up\nalter table books add constraint books_title_nonblank check (btrim(title) <> '');\n`,
    )
    expect(await plan(BOOKS)).toMatchObject({ steps: [], rejections: [] })
    expect((await plan(WITHOUT_MINIMUM)).steps).toMatchObject([{ change: 'drop', subject: 'books.books_title_length' }])
  })
})

describe('dropping an index that serves a foreign key made by hand', () => {
  const AUTHORS = `  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
resources:`
  const models = (indexes: string): string =>
    BOOKS.replace(
      'max: 100 }\n',
      `max: 100 }\n      writer: { type: bigint, nullable: true }\n    indexes: ${indexes}\n`,
    ).replace('resources:', AUTHORS)
  const FOREIGN_KEY = '-- up\nalter table books add constraint by_hand foreign key (writer) references authors (id);\n'

  test.each<[to: string, step: object]>([
    [
      '[]',
      {
        safety: 'risky',
        risk: 'serves the foreign key by_hand: without it, each delete in authors reads all rows of books',
      },
    ],
    ['[[writer, title]]', { safety: 'safe' }],
  ])('says so, unless another index serves it: %s', async (to, step) => {
    await begin(models('[[writer, id]]'))
    await folder.write('0002_by_hand.sql', FOREIGN_KEY)
    const { steps } = await plan(models(to))
    expect(steps[0]).toMatchObject({ change: 'drop', subject: 'books.books_writer_id_idx', ...step })
  })

  test('is safe without the foreign key', async () => {
    await begin(models('[[writer, id]]'))
    expect((await plan(models('[]'))).steps).toMatchObject([{ change: 'drop', safety: 'safe' }])
  })
})

describe('a constraint that was removed from resources.yaml', () => {
  test.each<[what: string, before: string, after: string, subject: string, risk: RegExp]>([
    [
      'a rule',
      BOOKS,
      WITHOUT_MINIMUM,
      'books.books_title_length',
      /^weakens the table: it then accepts values that violate the check/,
    ],
    ['a unique field', UNIQUE, BOOKS, 'books.books_title_key', /^weakens the table: it then accepts equal values/],
  ])('is dropped by a step that states what it weakens: %s', async (_what, before, after, subject, risk) => {
    await begin(before)
    const { steps } = await plan(after)
    expect(steps).toMatchObject([{ change: 'drop', subject, safety: 'risky', risk: expect.stringMatching(risk) }])
  })

  test('does not weaken anything if its column is dropped', async () => {
    await begin()
    const { steps } = await plan(BOOKS.replace(/ {6}title:.*\n/, '').replace('filterable: [title]', ''))
    expect(steps.map(({ subject, safety }) => [subject, safety])).toEqual([
      ['books.books_title_length', 'safe'],
      ['books.title', 'destructive'],
    ])
  })
})

test.each([
  ['another condition', 'char_length(title) >= 3', ''],
  ['the same condition that rows may violate', 'char_length(title) >= 1', ' not valid'],
])('a rule does not replace a foreign constraint of the same name with %s', async (_what, condition, valid) => {
  await begin(WITHOUT_MINIMUM)
  await folder.write(
    '0002_by_hand.sql',
    `-- up\nalter table books add constraint books_title_length check (${condition})${valid};\n`,
  )
  const { steps, rejections } = await plan(BOOKS)
  expect(steps).toEqual([])
  expect(rejections).toEqual([
    expect.stringMatching(
      /^constraint books_title_length of books was created by hand, as CHECK .*, and the configuration needs the name for a different one/,
    ),
  ])
})

test('a field does not replace a computed column of the same name', async () => {
  await begin()
  await folder.write(
    '0002_by_hand.sql',
    '-- up\nalter table books add capitals text collate "C" generated always as (upper(title)) stored;\n',
  )
  const { steps, rejections } = await plan(
    BOOKS.replace('max: 100 }\n', 'max: 100 }\n      capitals: { type: text }\n'),
  )
  expect(steps).toEqual([])
  expect(rejections).toEqual([
    expect.stringMatching(
      /^column books\.capitals changes from text collate "C" computed to text collate "C", which could fail or change values: write the migration by hand$/,
    ),
  ])
})

test('a migration states what it owns, also after a rename', async () => {
  await begin()
  const [first = ''] = await folder.names()
  expect(await readFile(`${folder.path}/${first}`, 'utf8')).toMatch(/-- owns: "books_pkey", "books_title_length"\n$/)
  const renamed = BOOKS.replace('title: {', 'heading: { renamed_from: title,').replace('[title]', '[heading]')
  await writeMigration(await plan(renamed), folder.path)
  expect((await plan(renamed.replace('min: 1, ', ''))).steps).toMatchObject([
    { change: 'drop', subject: 'books.books_heading_length' },
  ])
  const database = await openTestDatabase()
  try {
    expect(await migrateUp(database, folder.path)).toHaveLength(2)
  } finally {
    await database.close()
  }
})

test('a column of a primary key by hand cannot become nullable', async () => {
  const prices = (settings: string) => `version: 1
models:
  price:
    table: prices
    primary_key: none
    fields:
      amount: { type: decimal${settings} }
`
  await folder.write('0001_prices.sql', '-- up\ncreate table prices (amount numeric primary key);\n')
  expect(await plan(prices(''))).toMatchObject({ steps: [], rejections: [] })
  const { rejections } = await plan(prices(', nullable: true'))
  expect(rejections).toEqual([
    'column prices.amount cannot become nullable, because it is part of the primary key prices_pkey of the table: remove `nullable: true` from its field',
  ])
})
