import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { dump, DUMP_FORMATS, type DumpFormatName, modelOf, seed } from '../../src/internal.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { SHELVES } from '../support/shelves.js'

const spec = specOf(SHELVES)
const book = modelOf(spec, 'book')

let database: TestDatabase
let folder: string

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(spec))
  folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
})

afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

const dumpAs = async (format: DumpFormatName) => {
  const parts: string[] = []
  await dump(database, { model: book, format, write: async (text) => void parts.push(text) })
  return parts.join('')
}

const load = async (name: string, text: string) => {
  const file = join(folder, name)
  await writeFile(file, text)
  return seed(database, { spec, file, dryRun: false, onProgress: () => {} })
}

const HOSTILE = [
  '',
  '"',
  '""',
  ',',
  '\r',
  '\n',
  '\r\n',
  ' a ',
  '\\',
  '\\N',
  'null',
  '{}',
  '=1+1',
  "'; drop table books; --",
  '\u0001',
  '\ufeff',
  '\u2028',
  '😀',
  'é',
  'e\u0301',
]
const text = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: 'binary', maxLength: 20 }).filter((each) => !each.includes('\0')),
  fc.array(fc.constantFrom(...HOSTILE), { maxLength: 6 }).map((parts) => parts.join('')),
)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const digits = (most: number) => fc.bigInt({ min: 0n, max: 10n ** BigInt(most) - 1n })
const source = (value: unknown) => JSON.stringify(value)

/** The JSON text of each member, because JavaScript's numbers would lose digits. */
const record = fc.record({
  title: text.map(source),
  price: optional(
    fc.tuple(digits(36), digits(2)).map(([whole, cents]) => source(`-${whole}.${String(cents).padStart(2, '0')}`)),
  ),
  weight: optional(
    fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => (Object.is(each, -0) ? '-0' : source(each))),
    ),
  ),
  copies: optional(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
  printed: optional(fc.constantFrom('"0001-01-01"', '"2024-02-29"', '"9999-12-31"')),
  lent: fc.boolean().map(source),
  state: fc.constantFrom('"draft"', '"published"'),
  extra: optional(
    fc.oneof(
      text.map(source),
      fc.constantFrom('9223372036854775809', '1.10', '{"a": {"b": [null, -0, 1e30]}}', '"null"', '[]', 'false'),
      fc
        .dictionary(
          text.filter((key) => !['__proto__', 'constructor', 'prototype'].includes(key)),
          text,
          { noNullPrototype: true, maxKeys: 3 },
        )
        .map(source),
    ),
  ),
  token: optional(fc.uuid().map(source)),
  remark: text.map(source),
  created_at: fc.constantFrom(
    '"0001-01-01T00:00:00.000001Z"',
    '"2026-11-21T10:00:00.123456Z"',
    '"9999-12-31T23:59:59.999999Z"',
  ),
})

const toLine = (fields: Readonly<Record<string, string | null>>, index: number): string => {
  const members = Object.entries(fields).map(([name, value]) => `"${name}":${value}`)
  return `{"id":${2n ** 53n + BigInt(index)},"shelf":"s${index}",${members.join(',')},"updated_at":"2026-01-01T00:00:00.5Z"}\n`
}

describe('a dump that is loaded again', () => {
  test('is the same, byte for byte, for all texts and numbers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 25 }), async (records) => {
        await database.query({ text: 'truncate books restart identity', values: [] })
        const first = await load('book.ndjson', records.map(toLine).join(''))
        expect(first.errors).toEqual([])
        const before = await Promise.all(DUMP_FORMATS.map(dumpAs))
        for (const [index, format] of DUMP_FORMATS.entries()) {
          await database.query({ text: 'truncate books restart identity', values: [] })
          const created = { created: records.length, updated: 0, unchanged: 0 }
          expect(await load(`book.${format}`, before[index] ?? '')).toEqual({
            resources: new Map([['book', created]]),
            errors: [],
            errorCount: 0,
          })
          expect(await Promise.all(DUMP_FORMATS.map(dumpAs))).toEqual(before)
        }
      }),
      { numRuns: 25 },
    )
  })

  test('is complete over many pages and batches', async () => {
    const records = Array.from(
      { length: 2_500 },
      (_, index) => `{"id":${index + 1},"title":"${'x'.repeat(index)}","shelf":"s"}\n`,
    )
    await database.query({ text: 'truncate books restart identity', values: [] })
    await load('book.ndjson', records.join(''))
    const before = await dumpAs('ndjson')
    expect(before.match(/\n/g)).toHaveLength(2_500)
    await database.query({ text: 'truncate books restart identity', values: [] })
    await load('book.ndjson', before)
    expect(await dumpAs('ndjson')).toBe(before)
  })

  test.each(DUMP_FORMATS)('changes no record that is still stored, even with a JSON null: %s', async (format) => {
    await database.query({ text: 'truncate books restart identity', values: [] })
    await load('book.ndjson', '{"id":1,"title":"a","shelf":"s","extra":1}\n')
    await database.query({ text: "update books set extra = 'null'", values: [] })
    const unchanged = { created: 0, updated: 0, unchanged: 1 }
    expect((await load(`book.${format}`, await dumpAs(format))).resources).toEqual(new Map([['book', unchanged]]))
    const { rows } = await database.query({ text: 'select jsonb_typeof(extra) from books', values: [] })
    expect(rows).toEqual([['null']])
  })
})
