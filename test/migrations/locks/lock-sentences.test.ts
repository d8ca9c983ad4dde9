import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { sumOf } from '../../../src/migrations/locks/locks.js'
import { effectsOf } from '../../../src/migrations/locks/effects.js'
import { strength } from '../../../src/migrations/locks/modes.js'
import type { Json } from '../../../src/foundation/json.js'
import { type Plan, planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { type Measured, measureMigration } from '../../../src/migrations/run/measure.js'
import { migrateUp } from '../../../src/migrations/run/run.js'
import type { Step } from '../../../src/migrations/files/steps.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder, specOf } from '../../support/migrations.js'

let database: TestDatabase
let scratch: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
  scratch = await openTestDatabase()
})

afterEach(async () => {
  await database.close()
  await scratch.close()
})

type Fields = Readonly<Record<string, Json>>
interface Model {
  readonly fields: Fields
  readonly [key: string]: Json
}
type Models = Readonly<Record<string, Model>>

const id = { type: 'bigint', primary_key: true }
const author: Model = { table: 'authors', fields: { id, name: { type: 'string', max: 40 } } }
const fields: Fields = {
  id,
  title: { type: 'string', min: 1, max: 100 },
  code: { type: 'string', max: 20 },
  pages: { type: 'integer', nullable: true },
}
const book: Model = { table: 'books', fields }
const books = (more: Fields, rest: Readonly<Record<string, Json>> = {}): Models => ({
  author,
  book: { ...book, ...rest, fields: { ...fields, ...more } },
})
const BASE = books({})
const without = (...names: readonly string[]): Models => ({
  author,
  book: {
    ...book,
    dropped: [...names],
    fields: Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name))),
  },
})
const { code: _code, ...others } = fields
const reader: Fields = { author: { type: 'belongs_to', model: 'author', nullable: true } }
const view = (columns: string): Models => ({
  ...BASE,
  title: {
    view: `select ${columns} from books`,
    primary_key: ['id'],
    fields: { id: { type: 'bigint' }, title: { type: 'string' } },
  },
})

const READ = 'reads and writes wait while the rows are read'
const BUILT = 'reads and writes wait while the index is built'
const REWRITTEN = 'reads and writes wait while the table is rewritten'

/** Changes with the steps that make requests wait, and for what. */
const CHANGES: readonly (readonly [what: string, from: Models, to: Models, waits: readonly (string | undefined)[]])[] =
  [
    ['a nullable column', BASE, books({ stars: { type: 'integer', nullable: true } }), [undefined]],
    ['a column with a constant', BASE, books({ stars: { type: 'integer', default: 3 } }), [undefined]],
    ['a column with the time', BASE, books({ made_at: { type: 'timestamp', auto: 'on_create' } }), [undefined]],
    [
      'a column with a rule',
      BASE,
      books({ stars: { type: 'integer', minimum: 1, nullable: true } }),
      [undefined, READ],
    ],
    [
      'a column with random values',
      BASE,
      books({ token: { type: 'uuid', default: { function: 'uuid' } } }),
      [REWRITTEN],
    ],
    ['a new rule', BASE, books({ pages: { type: 'integer', nullable: true, minimum: 1 } }), [READ]],
    ['another rule', BASE, books({ title: { type: 'string', min: 2, max: 100 } }), [READ]],
    ['a rule less', BASE, books({ title: { type: 'string', max: 100 } }), [undefined]],
    ['a unique field', BASE, books({ code: { type: 'string', max: 20, unique: true } }), [BUILT]],
    ['a field that is not unique', books({ code: { type: 'string', max: 20, unique: true } }), BASE, [undefined]],
    ['a unique index', BASE, books({}, { indexes: [{ fields: ['title', 'code'], unique: true }] }), [BUILT]],
    [
      'a unique index with a condition',
      BASE,
      books({}, { indexes: [{ fields: ['code'], unique: true, ignore_case: true }] }),
      ['writes wait while the index is built'],
    ],
    ['an index', BASE, books({}, { indexes: [['title']] }), ['writes wait while the index is built']],
    ['an index less', books({}, { indexes: [['title']] }), BASE, [undefined]],
    [
      'a relation',
      BASE,
      books(reader),
      [
        undefined,
        'reads and writes of books wait, writes of authors wait while the rows are read',
        'reads and writes of books wait, writes of authors wait while the index is built',
      ],
    ],
    [
      'a relation by an existing column',
      books({ author_id: { type: 'bigint', nullable: true } }),
      books({ author: { type: 'belongs_to', model: 'author', nullable: true } }),
      [
        'writes of authors and books wait while the rows are read',
        'writes of authors and books wait while the index is built',
      ],
    ],
    [
      'a relation with another action',
      books(reader),
      books({ author: { type: 'belongs_to', model: 'author', nullable: true, on_delete: 'cascade' } }),
      ['reads and writes of authors and books wait while the rows are read'],
    ],
    [
      'a relation that becomes a number',
      books(reader),
      books({ author_id: { type: 'bigint', nullable: true } }),
      [undefined, undefined],
    ],
    ['a required field', BASE, books({ pages: { type: 'integer' } }), [READ]],
    ['an optional field', BASE, books({ code: { type: 'string', max: 20, nullable: true } }), [undefined]],
    ['another default', BASE, books({ code: { type: 'string', max: 20, default: 'x' } }), [undefined]],
    ['a longer text', BASE, books({ code: { type: 'string', max: 50 } }), [undefined]],
    ['a longer text with a rule', BASE, books({ title: { type: 'string', min: 1, max: 150 } }), [READ]],
    [
      'a longer text with indexes',
      books({ code: { type: 'string', max: 20, unique: true } }, { indexes: [['code', 'pages']] }),
      books({ code: { type: 'string', max: 30, unique: true } }, { indexes: [['code', 'pages']] }),
      [undefined],
    ],
    [
      'a longer text with an index of an expression',
      books({}, { indexes: [{ fields: ['code'], ignore_case: true }] }),
      books({ code: { type: 'string', max: 30 } }, { indexes: [{ fields: ['code'], ignore_case: true }] }),
      [BUILT],
    ],
    ['a shorter text', BASE, books({ code: { type: 'string', max: 10 } }), [REWRITTEN]],
    [
      'a text with a limit',
      books({ note: { type: 'text', nullable: true } }),
      books({ note: { type: 'string', max: 30, nullable: true } }),
      [REWRITTEN],
    ],
    ['a larger integer', BASE, books({ pages: { type: 'bigint', nullable: true } }), [REWRITTEN]],
    [
      'an integer that becomes a text',
      BASE,
      books({ pages: { type: 'string', max: 20, nullable: true } }),
      [REWRITTEN],
    ],
    ['a column less', BASE, without('pages'), [undefined]],
    ['a column with a rule less', BASE, without('title'), [undefined, undefined]],
    [
      'a renamed column',
      BASE,
      { author, book: { ...book, fields: { ...others, heading: { type: 'string', max: 20, renamed_from: 'code' } } } },
      [undefined],
    ],
    [
      'a renamed table',
      BASE,
      { author, book: { ...book, table: 'volumes', renamed_from: 'books' } },
      [undefined, undefined, undefined, undefined],
    ],
    ['a new table', BASE, { ...BASE, note: { table: 'notes', fields: { id, text: { type: 'text' } } } }, [undefined]],
    [
      'a new table that refers to another',
      BASE,
      { ...BASE, note: { table: 'notes', fields: { id, book: { type: 'belongs_to', model: 'book' } } } },
      [undefined],
    ],
    [
      'a renamed column, a rule and an index in one transaction',
      BASE,
      books({ pages: { type: 'integer', nullable: true, minimum: 1 } }, { indexes: [['pages']] }),
      [READ, BUILT],
    ],
    ['a view', BASE, view('id, title'), [undefined]],
    ['another query of a view', view('id, title'), view("id, title || '' as title"), [undefined, undefined]],
    ['a view less', view('id, title'), BASE, [undefined]],
  ]

/** The plans of first migrations. Most changes start from the same tables. */
const plans = new Map<Models, Promise<Plan>>()

async function writeFirst(models: Models, folder: string): Promise<void> {
  const plan = plans.get(models) ?? planMigration(specOf(models), folder, scratch)
  plans.set(models, plan)
  await writeMigration(await plan, folder, 'first')
}

async function measure(from: Models, to: Models, dropped: readonly string[] = []) {
  const folder = await makeFolder()
  await writeFirst(from, folder.path)
  await migrateUp(database, folder.path)
  // Enough rows that PostgreSQL has more than one page of each table to read.
  await database.query({
    text: `insert into authors (name) select 'n' || n from generate_series(1, 300) n`,
    values: [],
  })
  await database.query({
    text: `insert into books (title, code, pages) select 't' || n, 'c' || n, n from generate_series(1, 300) n`,
    values: [],
  })
  const planned = await planMigration(specOf(to, dropped), folder.path, scratch)
  expect(planned.rejections).toEqual([])
  return { planned, measured: await measureMigration(database, folder.path, planned) }
}

/** The locks that make any other migration or request wait. */
const strong = (locks: readonly { readonly table: string; readonly mode: string }[]) =>
  locks
    .filter(({ mode }) => strength(mode) >= strength('ShareUpdateExclusiveLock'))
    .map(({ table, mode }) => `${table} ${mode}`)
    .sort()

function derived({ locks: found, up }: Step) {
  const { locks = [], works = [] } = found ?? {}
  const [refers] = up.flatMap((text) => /foreign key .* references "(\w+)"/.exec(text)?.[1] ?? [])
  const of = (kinds: readonly string[]) =>
    [...new Set(works.filter(({ work }) => kinds.includes(work)).map(({ table }) => table))].sort()
  return {
    locks: strong(locks),
    scanned: of(['scan', 'index', 'rewrite']),
    indexed: of(['index']),
    rewritten: of(['rewrite']),
    refers,
  }
}

const seen = ({ locks, scanned, indexed, rewritten }: Measured, refers: string | undefined) => ({
  locks: strong(locks),
  // The rows that a foreign key refers to are found by their index, or read as well.
  scanned: scanned.filter((table) => table !== refers).sort(),
  indexed,
  rewritten,
})

describe('the locks, scans and rewrites of each step are those that PostgreSQL needs:', () => {
  test.each(CHANGES)('%s', async (_what, from, to, waits) => {
    const { planned, measured } = await measure(from, to)
    expect(measured.map(({ subject, failure }) => [subject, failure])).toEqual(
      planned.steps.map(({ subject }) => [subject, undefined]),
    )
    expect(planned.steps.map((step) => step.waits)).toEqual(waits)
    expect(planned.steps.flatMap(({ up }) => up).filter((text) => effectsOf(text, []) === undefined)).toEqual([])
    for (const [at, step] of planned.steps.entries()) {
      const { refers, ...expected } = derived(step)
      const found = measured[at]
      expect([step.subject, found && seen(found, refers)]).toEqual([step.subject, expected])
    }
  })
})

test('a table that is dropped with its foreign key locks the other table as well', async () => {
  const { planned, measured } = await measure(books(reader), { author }, ['books'])
  expect(planned.steps.map(({ locks }) => strong(locks?.locks ?? []))).toEqual([
    ['authors AccessExclusiveLock', 'books AccessExclusiveLock'],
    ['authors AccessExclusiveLock', 'books AccessExclusiveLock'],
  ])
  expect(measured.map(({ locks }) => strong(locks))).toEqual(
    planned.steps.map(({ locks }) => strong(locks?.locks ?? [])),
  )
})

test('the work of all steps under the locks of one transaction is added up', async () => {
  const folder = await makeFolder()
  const plan = (models: Models) => planMigration(specOf(models), folder.path, scratch)
  await writeFirst(BASE, folder.path)
  const rules: Fields = {
    pages: { type: 'integer', nullable: true, minimum: 1 },
    title: { type: 'string', min: 5, max: 100 },
  }
  const { steps } = await plan(books({ ...rules, ...reader }))
  expect(sumOf(steps)).toBe(
    'reads and writes of books, writes of authors wait until the migration commits: it reads the rows of books 3 times, builds an index of books',
  )
  expect(sumOf((await plan(books({ pages: { type: 'integer' } }))).steps)).toBeUndefined()
})

test('a step for which requests wait is risky, and a step for which they wait only a moment can be safe', async () => {
  const folder = await makeFolder()
  const plan = (models: Models) => planMigration(specOf(models), folder.path, scratch)
  await writeFirst(BASE, folder.path)
  const { steps } = await plan(
    books({ title: { type: 'string', min: 1, max: 150 }, code: { type: 'string', max: 50 } }),
  )
  expect(steps.map(({ subject, safety }) => [subject, safety])).toEqual([
    ['books.code', 'safe'],
    ['books.title', 'risky'],
  ])
})
