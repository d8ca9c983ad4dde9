import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Json } from '../../../src/foundation/json.js'
import { planMigration, type PlanOptions, writeMigration } from '../../../src/migrations/plan/generate.js'
import type { Swap } from '../../../src/migrations/plan/steps/swaps.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { makeProject, runInHost } from '../../support/cli.js'
import { failureOf, type Folder, makeFolder, openForEach, specOf } from '../../support/migrations.js'
import { describeSchema } from '../../support/schema-oracle.js'
import { type Fields, type Schema, schemaPairs } from '../../support/schema-pairs.js'

const databases = openForEach()

type Models = { readonly [name: string]: Json }

const id = { type: 'bigint', primary_key: true }
const text = { type: 'string', min: 1, max: 50 }

const planned = (models: Models, folder: Folder, options: PlanOptions = {}) =>
  planMigration(specOf(models), folder.path, databases.scratch, options)

/** Plans, writes and applies. */
async function migrateTo(models: Models, folder: Folder, options?: PlanOptions) {
  const plan = await planned(models, folder, options)
  expect(plan.rejections).toEqual([])
  if (plan.steps.length > 0) await writeMigration(plan, folder.path)
  await migrateUp(databases.database, folder.path)
  return plan
}

const query = async (sql: string) => (await databases.database.query({ text: sql, values: [] })).rows

/** A model of two fields with all that has their names. */
const bookOf = (one: string, other: string): Models => ({
  book: {
    table: 'books',
    fields: { id, [one]: { ...text, unique: true }, [other]: text },
    indexes: [[one, other], { fields: [other], where: { [other]: 'x' } }],
  },
})

const TITLES: Swap = { table: 'books', one: 'title', other: 'label' }

describe('two fields swap their names', () => {
  test('by renames alone, of their constraints and indexes too, and swap them back by `down`', async () => {
    const folder = await makeFolder()
    await migrateTo(bookOf('title', 'label'), folder)
    await query(`insert into books (title, label) values ('a title', 'a label')`)
    const before = await describeSchema(databases.database)
    const { steps, proof } = await migrateTo(bookOf('label', 'title'), folder, { swaps: [TITLES] })
    expect(steps.map(({ change, safety }) => `${change} ${safety}`)).toEqual(steps.map(() => 'rename safe'))
    expect(steps.map(({ subject, detail }) => `${subject} ${detail}`)).toEqual(
      expect.arrayContaining([
        'books.label was title',
        'books.title was label',
        'books.books_title_length constraint, was books_label_length',
        'books.books_label_length constraint, was books_title_length',
      ]),
    )
    // The values of every column were followed through the swap.
    expect(proof).toMatchObject({ rows: 3, columns: 3, losses: [] })
    expect(await query('select title, label from books')).toEqual([['a label', 'a title']])
    expect(await planned(bookOf('label', 'title'), folder)).toMatchObject({ steps: [], rejections: [], notes: [] })
    await migrateDown(databases.database, folder.path)
    expect(await query('select title, label from books')).toEqual([['a title', 'a label']])
    expect(await describeSchema(databases.database)).toBe(before)
  })

  test('of which one changes its type', async () => {
    const folder = await makeFolder()
    const fields = (title: Json, label: Json): Models => ({ book: { table: 'books', fields: { id, title, label } } })
    await migrateTo(fields({ type: 'text' }, { type: 'integer' }), folder)
    await query(`insert into books (title, label) values ('a', 7)`)
    const { steps } = await migrateTo(fields({ type: 'bigint' }, { type: 'text' }), folder, { swaps: [TITLES] })
    expect(steps.map(({ change, subject }) => `${change} ${subject}`)).toEqual([
      'rename books.label',
      'rename books.title',
      'change books.title',
    ])
    expect(await query('select title::text, label from books')).toEqual([['7', 'a']])
  })

  test('in a table that is renamed', async () => {
    const folder = await makeFolder()
    await migrateTo(bookOf('title', 'label'), folder)
    const { book } = bookOf('label', 'title') as { readonly book: { readonly [key: string]: Json } }
    const volumes = { volume: { ...book, table: 'volumes', renamed_from: 'books' } }
    const { steps } = await migrateTo(volumes, folder, { swaps: [{ ...TITLES, table: 'volumes' }] })
    expect(new Set(steps.map(({ change }) => change))).toEqual(new Set(['rename']))
    expect(await planned(volumes, folder)).toMatchObject({ steps: [], rejections: [], notes: [] })
  })
})

/** A table and another that refers to it; the fields say which is which. */
const shopOf = (order: string, invoice: string): Models => ({
  [order]: { table: `${order}s`, fields: { id, ordered: { ...text, unique: true } }, indexes: [['ordered', 'id']] },
  [invoice]: {
    table: `${invoice}s`,
    fields: { id, paid: { ...text, unique: true }, of: { type: 'belongs_to', model: order, on_delete: 'restrict' } },
    indexes: [['of', 'id']],
  },
})

test('two tables swap their names, with their keys, sequences and foreign keys', async () => {
  const folder = await makeFolder()
  await migrateTo(shopOf('order', 'invoice'), folder)
  await query(`insert into orders (ordered) values ('o')`)
  await query(`insert into invoices (paid, of_id) values ('p', 1)`)
  const before = await describeSchema(databases.database)
  const swaps = [{ table: undefined, one: 'orders', other: 'invoices' }]
  const { steps, proof } = await migrateTo(shopOf('invoice', 'order'), folder, { swaps })
  expect(new Set(steps.map(({ change }) => change))).toEqual(new Set(['rename']))
  expect(proof?.columns).toBe(5)
  expect(await query('select paid from orders join invoices on invoices.id = of_id')).toEqual([['p']])
  expect(await query(`insert into orders (paid, of_id) values ('q', 1) returning id::text`)).toEqual([['2']])
  expect(await planned(shopOf('invoice', 'order'), folder)).toMatchObject({ steps: [], rejections: [], notes: [] })
  await migrateDown(databases.database, folder.path)
  expect(await describeSchema(databases.database)).toBe(before)
})

describe('a swap is rejected if', () => {
  test.each<[string, Swap, string]>([
    [
      'a column does not exist before',
      { table: 'books', one: 'title', other: 'pages' },
      '--swap books.title:pages: the column pages is missing in the migrations (id, label, title)\n' +
        '--swap books.title:pages: the column pages is missing in the configuration (id, title, label)',
    ],
    [
      'there is no such table',
      { table: undefined, one: 'books', other: 'authors' },
      '--swap books:authors: the table authors is missing in the migrations (books)\n' +
        '--swap books:authors: the table authors is missing in the configuration (books)',
    ],
    [
      'its table does not exist',
      { table: 'authors', one: 'a', other: 'b' },
      '--swap authors.a:b: the configuration has no table authors',
    ],
    [
      'the names are equal',
      { table: 'books', one: 'title', other: 'title' },
      '--swap books.title:title: the two names are equal',
    ],
  ])('%s', async (_why, swap, message) => {
    const folder = await makeFolder()
    await migrateTo(bookOf('title', 'label'), folder)
    expect(await failureOf(planned(bookOf('title', 'label'), folder, { swaps: [swap] }))).toBe(message)
  })
})

/** A random schema, and the same with the names of two fields of a model swapped. */
const swappedPairs = schemaPairs
  .filter(([{ models }]) => swappable(models).length > 0)
  .chain(([schema]) => fc.tuple(fc.constant(schema), fc.constantFrom(...swappable(schema.models))))

/** The pairs of fields of a model that can have each other's names. */
function swappable(models: Models): readonly (readonly [model: string, one: string, other: string])[] {
  return Object.entries(models).flatMap(([model, value]) => {
    const { fields } = value as { readonly fields: Fields }
    const names = Object.entries(fields)
      .filter(([name, field]) => /^[a-f]/.test(name) && (field as { readonly type: string }).type !== 'belongs_to')
      .map(([name]) => name)
    return names.flatMap((one, at) => names.slice(at + 1).map((other) => [model, one, other] as const))
  })
}

function swapIn({ models }: Schema, [model, one, other]: readonly [string, string, string]): Models {
  const names: { readonly [name: string]: string } = { [one]: other, [other]: one }
  const { fields, indexes, ...rest } = models[model] as {
    readonly table: string
    readonly fields: Fields
    readonly indexes: readonly { readonly fields: readonly string[]; readonly unique: boolean }[]
  }
  const named = (name: string) => names[name] ?? name
  return {
    ...models,
    [model]: {
      ...rest,
      fields: Object.fromEntries(Object.entries(fields).map(([name, field]) => [named(name), field])),
      indexes: indexes.map((index) => ({ ...index, fields: index.fields.map(named) })),
    },
  }
}

/** `npm run test:pairs` says 1000. */
const PAIRS = Math.ceil(Number(process.env['SNIPPETCTL_PAIRS'] ?? 6) / 2)

test('any two fields swap their names by renames alone', async () => {
  const property = fc.asyncProperty(swappedPairs, async ([schema, [model, one, other]]) => {
    await query('drop schema public cascade; create schema public')
    const folder = await makeFolder()
    await migrateTo(schema.models, folder)
    const before = await describeSchema(databases.database)
    const to = swapIn(schema, [model, one, other])
    const { steps } = await migrateTo(to, folder, { swaps: [{ table: `${model}s`, one, other }] })
    expect(steps.filter(({ change }) => change !== 'rename')).toEqual([])
    expect(await planned(to, folder)).toMatchObject({ steps: [], rejections: [], notes: [] })
    await migrateDown(databases.database, folder.path)
    expect(await describeSchema(databases.database)).toBe(before)
  })
  await fc.assert(property, { numRuns: PAIRS })
}, 4_000_000)

test('the command line reads swaps, and `check` leads to them', async () => {
  const yaml = (one: string, other: string, former = '') => `version: 1
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      ${one}: { type: string, max: 50${former && `, renamed_from: ${other}`} }
      ${other}: { type: string, max: 60${former && `, renamed_from: ${one}`} }
`
  const project = await makeProject({ 'resources.yaml': yaml('title', 'label') })
  const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder })
  try {
    await run('migrate', 'plan', '--write')
    await project.write('resources.yaml', yaml('label', 'title', 'declared'))
    expect((await run('check')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'if names are swapped, remove `renamed_from`, and run: snippetctl migrate plan --swap ONE:OTHER',
    )
    await project.write('resources.yaml', yaml('label', 'title'))
    const { code, stdout } = await run('migrate', 'plan', '--write', 'swap', '--swap', 'book.title:label')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/rename +book\.title +was label/) })
    for (const [args, message] of [
      [['book.title'], 'It must be table.one:other for two columns, or one:other for two tables.'],
      [['book.title:label', '--swap', 'book.label:id'], 'A name can be swapped once.'],
    ] as const)
      expect(await run('migrate', 'plan', '--swap', ...args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(message),
      })
  } finally {
    await project.remove()
  }
})
