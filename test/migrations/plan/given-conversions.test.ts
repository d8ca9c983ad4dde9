import { readFile } from 'node:fs/promises'
import { describe, expect, test } from '@jest/globals'
import type { Json } from '../../../src/foundation/json.js'
import { planMigration, type PlanOptions, writeMigration } from '../../../src/migrations/plan/generate.js'
import { countRows } from '../../../src/migrations/plan/prove/row-counts.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { describeSchema } from '../../support/schema-oracle.js'
import { failureOf, type Folder, makeFolder, openForEach, specOf } from '../../support/migrations.js'

const databases = openForEach()

const book = (value: Json, indexes: Json = []) =>
  specOf({
    author: { table: 'authors', fields: { id: { type: 'bigint', primary_key: true } } },
    book: { table: 'books', fields: { id: { type: 'bigint', primary_key: true }, value }, indexes },
  })
type Spec = ReturnType<typeof book>

const query = (text: string) => databases.database.query({ text, values: [] })
const values = async () => (await query('select value::text from books order by id')).rows.map(([value]) => value)

/** Plans, and counts the rows of the database. */
async function plan(spec: Spec, folder: Folder, options: PlanOptions = {}) {
  return countRows(await planMigration(spec, folder.path, databases.scratch, options), databases.database)
}

const given = (using: string, reverse?: string): PlanOptions => ({
  conversions: [{ table: 'books', column: 'value', using, reverse }],
})

/** A table with rows, whose migrations are applied. */
async function start(from: Json, rows: readonly string[], column = 'value'): Promise<Folder> {
  const folder = await makeFolder()
  await writeMigration(await plan(book(from), folder), folder.path)
  await migrateUp(databases.database, folder.path)
  for (const row of rows) await query(`insert into books (${column}) values (${row})`)
  return folder
}

interface Shape {
  readonly goes: string
  readonly from: Json
  readonly to: Json
  readonly rows: readonly string[]
  /** The rejection of the plan without a conversion. */
  readonly rejection: string
  /** The suggested option, or another one where the suggestion is open. */
  readonly using: string
  readonly reverse: string
  readonly then: readonly string[]
  /** The values after `down`. */
  readonly back: readonly string[]
}

const CORRECT = 'correct these rows, or say how to convert them, for example --using'

const SHAPES: readonly Shape[] = [
  {
    goes: 'text to json',
    from: { type: 'text' },
    to: { type: 'json' },
    rows: [`'a "note"'`, `'{"a":1}'`],
    rejection: `2 of 2 rows have no exact form as jsonb: "a \\"note\\"", "{\\"a\\":1}" (invalid input syntax for type json): ${CORRECT} 'books.value=to_jsonb("value")'`,
    using: 'to_jsonb("value")',
    reverse: `"value" #>> '{}'`,
    then: ['"a \\"note\\""', '"{\\"a\\":1}"'],
    back: ['a "note"', '{"a":1}'],
  },
  {
    goes: 'upper-case text to uuid',
    from: { type: 'text' },
    to: { type: 'uuid' },
    rows: [`'6F1B4C1E-9F0A-4A53-8D3C-0F5D3F3C2B11'`, `'6f1b4c1e-9f0a-4a53-8d3c-0f5d3f3c2b12'`],
    rejection: `1 of 2 rows have no exact form as uuid: "6F1B4C1E-9F0A-4A53-8D3C-0F5D3F3C2B11": ${CORRECT} 'books.value="value"::text::uuid'`,
    using: '"value"::text::uuid',
    reverse: 'upper("value"::text)',
    then: ['6f1b4c1e-9f0a-4a53-8d3c-0f5d3f3c2b11', '6f1b4c1e-9f0a-4a53-8d3c-0f5d3f3c2b12'],
    back: ['6F1B4C1E-9F0A-4A53-8D3C-0F5D3F3C2B11', '6F1B4C1E-9F0A-4A53-8D3C-0F5D3F3C2B12'],
  },
  {
    goes: 'digits to integer',
    from: { type: 'text' },
    to: { type: 'integer' },
    rows: [`'0001'`, `'7'`],
    rejection: `1 of 2 rows have no exact form as integer: "0001": ${CORRECT} 'books.value="value"::text::integer'`,
    using: '"value"::text::integer',
    reverse: `lpad("value"::text, 4, '0')`,
    then: ['1', '7'],
    back: ['0001', '0007'],
  },
  {
    goes: 'float to bigint',
    from: { type: 'float' },
    to: { type: 'bigint' },
    rows: ['1.5', '2'],
    rejection: `1 of 2 rows have no exact form as bigint: "1.5" (invalid input syntax for type bigint: "1.5"): ${CORRECT} 'books.value=round("value"::numeric)'`,
    using: 'round("value"::numeric)',
    reverse: '"value"',
    then: ['2', '2'],
    back: ['2', '2'],
  },
  {
    goes: 'negative zero to json',
    from: { type: 'float' },
    to: { type: 'json' },
    rows: [`'-0'`, '0', '2.5'],
    rejection: `1 of 3 rows have no exact form as jsonb: "-0": ${CORRECT} 'books.value=to_jsonb("value")'`,
    using: 'to_jsonb("value")',
    reverse: '"value"::double precision',
    then: ['0', '0', '2.5'],
    back: ['0', '0', '2.5'],
  },
  {
    goes: 'a decimal with more digits',
    from: { type: 'decimal', precision: 9, scale: 2 },
    to: { type: 'integer' },
    rows: ['1.50', '2'],
    rejection: `1 of 2 rows are not of the type integer: "1.50": ${CORRECT} 'books.value=round("value"::numeric)'`,
    using: '"value" * 100',
    reverse: '"value" / 100.0',
    then: ['150', '200'],
    back: ['1.50', '2.00'],
  },
  {
    goes: 'a text that is too long',
    from: { type: 'text' },
    to: { type: 'string', max: 3 },
    rows: [`'abcd'`],
    rejection: `1 of 1 rows are longer than 3: "abcd": ${CORRECT} 'books.value=left("value"::text, 3)'`,
    using: 'left("value"::text, 3)',
    reverse: '"value"',
    then: ['abc'],
    back: ['abc'],
  },
]

describe('a change of type that would change values', () => {
  test.each(SHAPES)(
    '$goes is rejected with a conversion, which then succeeds, and is reversed by `down`',
    async (shape) => {
      const folder = await start(shape.from, shape.rows)
      const schema = await describeSchema(databases.database)
      const rejected = await plan(book(shape.to), folder)
      expect(rejected.text).toBeUndefined()
      expect(rejected.rejections).toEqual([`books.value cannot change its type, because ${shape.rejection}`])
      const planned = await plan(book(shape.to), folder, given(shape.using, shape.reverse))
      expect(planned).toMatchObject({ rejections: [], proof: { losses: [] } })
      await writeMigration(planned, folder.path)
      await migrateUp(databases.database, folder.path)
      expect(await values()).toEqual(shape.then)
      expect(await plan(book(shape.to), folder)).toMatchObject({ steps: [], rejections: [] })
      await migrateDown(databases.database, folder.path)
      expect(await describeSchema(databases.database)).toBe(schema)
      expect(await values()).toEqual(shape.back)
    },
  )

  test('counts the rows that change, and those that `down` gives another value', async () => {
    const folder = await start({ type: 'text' }, [`'0001'`, `'0007'`, `'12345'`, `'8'`, 'null'].slice(0, 4))
    const { steps } = await plan(
      book({ type: 'integer' }),
      folder,
      given('"value"::integer', `lpad("value"::text, 4, '0')`),
    )
    expect(steps).toMatchObject([
      {
        safety: 'risky',
        risk: 'sets each value to "value"::integer',
        count: { rows: 2, says: '2 of 4 rows change, and `down` gives 2 of them another value than before' },
      },
    ])
  })

  test('shows the rows that a conversion rejects', async () => {
    const folder = await start({ type: 'text' }, [`'1'`, `'x'`, `'y'`, `'99999999999'`, `'z'`])
    const { rejections, text } = await plan(book({ type: 'integer' }), folder, given('"value"::integer'))
    expect(text).toBeUndefined()
    expect(rejections).toEqual([
      'books.value cannot change its type, because 4 of 5 rows cannot be converted: "x", "y", "99999999999" ' +
        '(invalid input syntax for type integer: "x"): correct these rows, or the expression after --using',
    ])
  })

  test('without a reverse expression, `down` is exact or fails, and the file names the loss', async () => {
    const folder = await start({ type: 'integer' }, ['5'])
    const planned = await plan(book({ type: 'text' }), folder, given(`'number ' || "value"`))
    expect(planned.proof?.losses).toEqual(['the former values of books.value'])
    const [file = ''] = await writeMigration(planned, folder.path)
    expect(await readFile(file, 'utf8')).toMatch(
      /^-- up\n\nalter [^]*-- down\n\n-- cannot bring back the former values of books\.value\n/,
    )
    await migrateUp(databases.database, folder.path)
    expect(await failureOf(migrateDown(databases.database, folder.path))).toMatch(
      /invalid input syntax for type integer/,
    )
    expect(await values()).toEqual(['number 5'])
  })
})

describe('a conversion is rejected if', () => {
  test.each<[string, to: Json, options: PlanOptions, message: string]>([
    [
      'the type of the column does not change',
      { type: 'text' },
      given('lower("value")'),
      '--using books.value: the type of books.value does not change (no column changes its type); ' +
        'to change values without changing the type, write a migration by hand',
    ],
    [
      'there is no such column',
      { type: 'integer' },
      { conversions: [{ table: 'books', column: 'size', using: '1', reverse: undefined }] },
      '--using books.size: there is no column books.size (these change their type: books.value)',
    ],
    [
      'it names a missing column',
      { type: 'integer' },
      given('price * 100'),
      '--using books.value=price * 100: column "price" does not exist',
    ],
    [
      'its type does not fit',
      { type: 'integer' },
      given('now()'),
      `--using books.value=now(): result of USING clause for column "value" cannot be cast automatically to type integer`,
    ],
    [
      'it is not one expression',
      { type: 'integer' },
      given('1); drop table books; select (2'),
      '--using books.value=1); drop table books; select (2: it is more than one expression',
    ],
    [
      'its reverse does not fit',
      { type: 'integer' },
      given('"value"::integer', 'pages'),
      '--reverse books.value=pages: column "pages" does not exist',
    ],
  ])('%s', async (_why, to, options, message) => {
    const folder = await start({ type: 'text' }, [])
    expect(await failureOf(plan(book(to), folder, options))).toBe(message)
  })
})

const YES_NO: Json = { type: 'choice', choices: ['yes', 'no'] }
const CONVERT = `correct these rows, or convert them to values that it accepts: --using 'books.value=…'`

describe('a change of type is rejected if the converted values violate', () => {
  test.each<[goes: string, from: Json, to: Json, rows: readonly string[], column: string, rejection: string]>([
    [
      'a check',
      { type: 'boolean' },
      YES_NO,
      ['true', 'false'],
      'value',
      '_type cannot be added, because 2 of 2 rows violate it',
    ],
    [
      'a unique constraint',
      { type: 'boolean' },
      { type: 'text', unique: true },
      ['true', 'false', 'false'],
      'value',
      '_key cannot be added, because 2 of 3 rows have the same value as another',
    ],
    [
      'a foreign key',
      { type: 'text', column: 'author_id' },
      { type: 'belongs_to', model: 'author', column: 'author_id', on_delete: 'restrict' },
      [`'7'`],
      'author_id',
      '_fkey cannot be added, because 1 of 1 rows refer to a missing row',
    ],
  ])('%s', async (_goes, from, to, rows, column, rejection) => {
    const folder = await start(from, rows, column)
    const { rejections, text } = await plan(book(to), folder)
    expect(text).toBeUndefined()
    const help = CONVERT.replace('value=', `${column}=`)
    expect(rejections).toEqual([`books.books_${column}${rejection}: ${help}`])
    const unknowing = await planMigration(book(to), folder.path, databases.scratch)
    await writeMigration(unknowing, folder.path)
    await expect(migrateUp(databases.database, folder.path)).rejects.toThrow()
  })

  test('a required field', async () => {
    const folder = await start({ type: 'text', nullable: true }, [`'7'`, `''`])
    const { rejections } = await plan(book({ type: 'integer' }), folder, given(`nullif("value", '')::integer`))
    expect(rejections).toEqual([
      expect.stringContaining('books.value cannot become required, because 1 of 2 rows have no value'),
    ])
  })
})

test('a boolean becomes a choice by a given conversion', async () => {
  const folder = await start({ type: 'boolean' }, ['true', 'false'])
  const conversion = given(`case when "value" then 'yes' else 'no' end`, `"value" = 'yes'`)
  const planned = await plan(book(YES_NO), folder, conversion)
  expect(planned.rejections).toEqual([])
  expect(planned.steps.map(({ count }) => count?.says)).toEqual(['2 of 2 rows change', '0 of 2 rows violate it'])
  await writeMigration(planned, folder.path)
  await migrateUp(databases.database, folder.path)
  expect(await values()).toEqual(['yes', 'no'])
  await migrateDown(databases.database, folder.path)
  expect(await values()).toEqual(['true', 'false'])
})

test('a conversion of a renamed field uses its new name, in the counts too', async () => {
  const folder = await start({ type: 'decimal', precision: 9, scale: 2, column: 'price' }, ['1.50'], 'price')
  const to = book({ type: 'integer', renamed_from: 'price' })
  const planned = await plan(to, folder, given('"value" * 100', '"value" / 100.0'))
  expect(planned.steps.map(({ change, count }) => [change, count?.says])).toEqual([
    ['rename', undefined],
    ['change', '1 of 1 rows change'],
  ])
  await writeMigration(planned, folder.path)
  await migrateUp(databases.database, folder.path)
  expect(await values()).toEqual(['150'])
  await migrateDown(databases.database, folder.path)
  expect((await query('select price::text from books')).rows).toEqual([['1.50']])
})
