import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { declaredIndexDifferences } from '../../../src/internal.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

const FIELDS = `
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      state: { type: choice, choices: [new, sold] }
      pages: { type: integer }
      serial: { type: bigint }
      open: { type: boolean }
      sold_at: { type: timestamp, nullable: true }
      tags: { type: array, items: { type: text, max: 20 }, max: 9, column: "bookTags" }`

const config = (index: string, managed: boolean) => `version: 1
database: { managed: ${managed} }
models:
  book:
    table: books
    fields:${FIELDS}
    indexes:
      - ${index}
resources: {}
`

let database: TestDatabase
beforeEach(async () => {
  database = await openTestDatabase()
})
afterEach(() => database.close())

const run = (text: string) => database.query({ text, values: [] })

async function differences(index: string, managed: boolean) {
  return declaredIndexDifferences(specOf(config(index, managed)), database)
}

/** Makes the table as migrations do, with the index or without. */
async function make(index: string | undefined): Promise<void> {
  const text = config(index ?? '[title]', true)
  for (const statement of ddlOf(specOf(text)).split(';')) await run(statement)
  if (index === undefined) await run('drop index books_title_idx')
}

describe.each([
  ['{ fields: [title], where: { sold_at: null } }', 'create index on books (title) where sold_at is not null'],
  ['{ fields: [title], where: { sold_at__isnull: false } }', 'create index on books (title) where sold_at is null'],
  ['{ fields: [title], where: { state: new } }', "create index on books (title) where state = 'sold'"],
  ['{ fields: [title], where: { pages: 5 } }', 'create index on books (title) where pages = 6'],
  ['{ fields: [title], where: { open: true, sold_at: null } }', 'create index on books (title) where open'],
  ['{ fields: [title], ignore_case: true }', 'create index on books (title)'],
  ['{ fields: [title], ignore_case: true, unique: true }', 'create index on books (lower(title))'],
  ['{ fields: [title], using: hash }', 'create index on books (title)'],
  ['{ fields: [tags], using: gin }', 'create index on books ("bookTags")'],
])('the declared index %s', (index, other) => {
  test.each([true, false])('is found where it is, and missed where another one is: managed %s', async (managed) => {
    await make(index)
    expect(await differences(index, managed)).toEqual([])
    await run('drop table books')
    await make(undefined)
    await run(other)
    expect(await differences(index, managed)).toMatchObject([
      {
        code: 'SC403',
        path: ['models', 'book', 'indexes', 0],
        message: expect.stringMatching(/^the database has no index `/),
      },
    ])
  })
})
