import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { planMigration } from '../../../src/internal.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder, specOf } from '../../support/migrations.js'

const FILES = {
  '0001_books.sql': `-- up
create table "books" ("id" bigint generated always as identity, "title" text collate "C" not null, "place" text collate "C",
  constraint "books_pkey" primary key ("id"));
`,
  '0002_rows.sql': `-- up
insert into books (title, place) values ('Emma', 'shelf'), ('Ulysses', null);
`,
}

const models = (fields: Record<string, { type: string; nullable?: boolean }>) => ({
  book: { table: 'books', fields: { id: { type: 'bigint', primary_key: true }, ...fields } },
})

let scratch: TestDatabase

beforeEach(async () => {
  scratch = await openTestDatabase()
})

afterEach(() => scratch.close())

test('a required column is dropped, though migrations created rows', async () => {
  const folder = await makeFolder(FILES)
  const spec = specOf(models({ place: { type: 'text', nullable: true } }))
  const { steps, rejections, text } = await planMigration(spec, folder.path, scratch)
  expect(rejections).toEqual([])
  expect(steps).toMatchObject([{ change: 'drop', subject: 'books.title', safety: 'destructive' }])
  expect(text).toContain('drop column "title"')
})

test('a change that rows of migrations violate is rejected, with advice', async () => {
  const folder = await makeFolder(FILES)
  const spec = specOf(models({ title: { type: 'text' }, place: { type: 'text' } }))
  const planned = await planMigration(spec, folder.path, scratch)
  expect(planned.rejections).toEqual([
    expect.stringMatching(
      /^the rows that the migrations insert prevent it: column "place" .* contains null values: write a migration/,
    ),
  ])
  expect(planned.steps).toMatchObject([{ change: 'change', subject: 'books.place' }])
  await folder.write('0003_fill.sql', `-- up\nupdate books set place = 'nowhere' where place is null;\n`)
  expect(await planMigration(spec, folder.path, scratch)).toMatchObject({ rejections: [], text: expect.any(String) })
})
