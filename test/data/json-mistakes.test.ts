import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { seed } from '../../src/internal.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { SHELVES } from '../support/shelves.js'

const spec = specOf(SHELVES)

let database: TestDatabase
let file: string

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(spec))
  file = join(await mkdtemp(join(tmpdir(), 'snippetctl-')), 'data.json')
})

afterAll(async () => {
  await database.close()
  await rm(join(file, '..'), { recursive: true })
})

const seedText = async (text: string) => {
  await writeFile(file, text)
  await seed(database, { spec, file, dryRun: true, onProgress: () => {} })
}

const MANY = Array.from({ length: 20_000 }, (_, index) => `{"id":${index},"id":${index}}`).join(',\n')

describe('a JSON file with a mistake', () => {
  test.each([
    ['a word other than true, false and null', '{"author": [\n{"name":"a"},\n{"name":x}\n]\n\n\n}\n', 3],
    ['single quotes', "{\n'author': []\n\n}\n", 2],
    ['a comment', '{\n"author": [\n// nobody\n]}\n', 3],
    ['NaN', '{"author": [\n{"id":\nNaN}\n]}\n', 3],
    ['an infinity', '{"author": [\n{"id":\n-Infinity}\n]}\n', 3],
    ['a number that starts with 0', '{"author": [\n{"id":\n01}\n]}\n', 3],
    ['a number without a fraction', '{"author": [\n{"id": 1.}\n]}\n', 2],
    ['a missing value', '{"author": [\n{"id":\n\n}\n]}\n', 4],
    ['a missing comma between members', '{"author": [\n{"id": 1\n"name": "a"}\n]}\n', 3],
    ['a missing comma between records', '{"author": [\n{"id": 1}\n{"id": 2}\n]}\n', 3],
    ['a missing colon', '{"author": [\n{"id" 1}\n]}\n', 2],
    ['a comma before a bracket', '{"author": [\n{"id": 1},\n]}\n', 3],
    ['a comma before a brace', '{"author": [\n{"id": 1,\n\n}]}\n', 4],
    ['a comma without values', '{"author": [\n,{"id": 1}]\n}\n', 2],
    ['a key without quotes', '{"author": [\n{id: 1}\n]}\n', 2],
    ['the wrong bracket', '{"author": [\n{"id": 1]\n}\n\n', 2],
    ['an invalid escape', '{"author": [\n{"name": "\\x"}\n]}\n', 2],
    ['an incomplete escape', '{"author": [\n{"name": "\\u12"}\n]}\n', 2],
    ['a string that ends with its line', '{"author": [\n{"name": "a},\n{"name": "b"}\n]}\n', 2],
    ['a tab in a string', '{"author": [\n{"name": "\t"}\n]}\n', 2],
    ['text after the document', '{"author": []\n}\n{\n}\n', 3],
    ['an early end', '{"author": [\n{"id": 1},\n{"id": 2}', 3],
    ['nothing', '', 1],
    ['a mistake after many records with a key twice', `{"author": [\n${MANY},\nx]}\n`, 20_002],
    ['a mistake below many levels', `${'[\n'.repeat(100_000)}x`, 100_001],
  ])('is rejected with the line of the mistake: %s', async (_what, text, line) => {
    await expect(seedText(text)).rejects.toMatchObject({ line, message: 'the file is not valid JSON from here on' })
  })
})
