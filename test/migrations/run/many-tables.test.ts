import { expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runInHost } from '../../support/cli.js'
import { envOf, openOnlyOnServer } from '../../support/database.js'
import { onProjectDatabase, runSql } from '../../support/existing.js'

test('a table that comes after 205 others by its name is compared with the migration files', async () => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  const database = await openOnlyOnServer()
  const migrate = (command: string) =>
    runInHost(['migrate', command], { cwd: project.folder, env: envOf(database), keep: true })
  try {
    await migrate('up')
    const others = Array.from({ length: 205 }, (_, at) => `create table a${at} ();`).join('\n')
    await onProjectDatabase(project, database, (open) => runSql(open, others))
    expect(await migrate('status')).toMatchObject({ code: 0 })
    await onProjectDatabase(project, database, (open) =>
      runSql(open, 'alter table books alter column title drop not null;'),
    )
    const { code, stdout } = await migrate('status')
    expect([code, stdout]).toEqual([1, expect.stringContaining('books.title')])
  } finally {
    await database?.close()
    await project.remove()
  }
})
