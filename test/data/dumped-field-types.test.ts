import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { dump, DUMP_FORMATS, type DumpFormatName, FIELD_TYPES, modelOf, seed } from '../../src/internal.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'

/** Items of every type that lists can have: its examples, and null. */
const LISTS = (FIELD_TYPES.find(({ itemTypes }) => itemTypes)?.itemTypes ?? []).flatMap((type) =>
  type.examples.map(({ json, source = JSON.stringify(json), options = {} }) => ({
    type: 'array',
    options: { items: { type: type.name, ...options, nullable: true } },
    source: `[${source}, null]`,
  })),
)
const VALUES = FIELD_TYPES.flatMap((type) =>
  type.examples.map(({ json, source = JSON.stringify(json), options = {} }) => ({ type: type.name, options, source })),
)
const EXAMPLES = [...VALUES, ...LISTS, { type: 'array', options: { items: { type: 'integer' } }, source: '[]' }]

const spec = specOf(
  JSON.stringify({
    version: 1,
    models: {
      sample: {
        table: 'samples',
        fields: {
          id: { type: 'bigint', primary_key: true },
          ...Object.fromEntries(
            EXAMPLES.map(({ type, options }, index) => [`f${index}`, { type, ...options, nullable: true }]),
          ),
        },
      },
    },
  }).replaceAll('\ufeff', '\\ufeff'),
)
const sample = modelOf(spec, 'sample')

let database: TestDatabase
let folder: string

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(spec))
  folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  const members = EXAMPLES.map(({ source }, index) => `"f${index}":${source}`)
  expect(await load('sample.ndjson', `{"id":1,${members.join(',')}}\n{"id":2}\n`)).toEqual(CREATED)
})

afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

const resultOf = (counts: object) => ({ resources: new Map([['sample', counts]]), errors: [], errorCount: 0 })
const CREATED = resultOf({ created: 2, updated: 0, unchanged: 0 })
const UNCHANGED = resultOf({ created: 0, updated: 0, unchanged: 2 })

const load = async (name: string, text: string) => {
  const file = join(folder, name)
  await writeFile(file, text)
  return seed(database, { spec, file, dryRun: false, onProgress: () => {} })
}

const dumpAs = async (format: DumpFormatName) => {
  const parts: string[] = []
  await dump(database, { model: sample, format, write: async (text) => void parts.push(text) })
  return parts.join('')
}

describe('the examples of every field type', () => {
  test.each(DUMP_FORMATS)('are the same after a dump as %s is loaded again', async (format) => {
    const before = await Promise.all(DUMP_FORMATS.map(dumpAs))
    const dumped = await dumpAs(format)
    expect(await load(`sample.${format}`, dumped)).toEqual(UNCHANGED)
    await database.query({ text: 'truncate samples restart identity', values: [] })
    expect(await load(`sample.${format}`, dumped)).toEqual(CREATED)
    expect(await Promise.all(DUMP_FORMATS.map(dumpAs))).toEqual(before)
  })

  test("are read from CSV whose lists are in PostgreSQL's spelling", async () => {
    const lists = sample.fields.filter(({ type }) => type.items)
    const texts = lists.map(({ column, type, options }) => `(${type.select?.(column, options) ?? column})::text`)
    const cells = texts.map((text) => `'"' || replace(${text}, '"', '""') || '"'`)
    const { rows } = await database.query({
      text: `select concat_ws(',', id, ${cells.join(', ')}) from samples where id = 1`,
      values: [],
    })
    const before = await dumpAs('ndjson')
    const header = ['id', ...lists.map(({ name }) => name)].join(',')
    expect(await load('sample.csv', `${header}\n${rows[0]?.[0]}\n`)).toEqual(
      resultOf({ created: 0, updated: 0, unchanged: 1 }),
    )
    expect(await dumpAs('ndjson')).toBe(before)
  })

  test('are JSON in CSV if they are lists', async () => {
    expect(await dumpAs('csv')).toMatch(/,"\[9007199254740993,null\]".*,\[\]\r\n/)
  })
})
