import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder } from '../../support/migrations.js'

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

test.each([
  ['another type', 'alter table books alter column title type varchar(80);'],
  ['the loss of a column', 'alter table books drop column title;'],
])('a migration for %s that a view prevents says how to go on', async (_what, change) => {
  const folder = await makeFolder({ '0001_books.sql': '-- up\ncreate table books (id int, title text);\n' })
  await migrateUp(database, folder.path)
  await database.query({ text: 'create view titles as select title from books', values: [] })
  await folder.write('0002_change.sql', `-- up\n${change}\n`)
  await expect(migrateUp(database, folder.path, { allows: () => true })).rejects.toMatchObject({
    errors: [expect.stringMatching(/0002_change\.sql:2: .*view titles depends on/s)],
    help: [
      'If the dependent object is a view, a policy, a trigger or a constraint that no migration has created: save its definition, drop it, apply the migration, and create it again if it still applies. ' +
        'Do not drop a dependent table or column, because its data would be lost: change it first, so that it no longer depends on the object',
    ],
  })
  expect((await database.query({ text: 'select count(*) from titles', values: [] })).rows).toEqual([['0']])
})
