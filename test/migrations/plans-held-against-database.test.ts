import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, type Project, runInHost } from '../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../support/database.js'
import { onProjectDatabase, runSql } from '../support/existing.js'

let project: Project
let database: TestDatabase | undefined

const withField = (field: string) => BOOKS.replace('max: 100 }\n', `max: 100 }\n      ${field}\n`)
const PAGES = '-- up\n\nalter table books add pages integer;\n\n-- down\n\nalter table books drop pages;\n'

beforeEach(async () => {
  project = await makeProject({
    'resources.yaml': withField('pages: { type: integer, nullable: true }'),
    [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION,
    'migrations/0002_add_pages.sql': PAGES,
  })
  database = await openOnlyOnServer()
  await migrate('up')
})

afterEach(async () => {
  await database?.close()
  await project.remove()
})

const migrate = (...args: readonly string[]) =>
  runInHost(['migrate', ...args], { cwd: project.folder, env: envOf(database) })

const sql = (text: string) => onProjectDatabase(project, database, (connection) => runSql(connection, text))

describe('a nullable field that becomes required', () => {
  beforeEach(() => sql(`insert into books (title, pages) values ('a', 1), ('b', null), ('c', null)`))

  test('is rejected while rows have no value, with both ways out', async () => {
    await project.write('resources.yaml', withField('pages: { type: integer }'))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      'books.pages cannot become required, because 2 of 3 rows have no value: give the field a `default`, which these rows get ' +
        'unless it must be unique, or fill them first: update "books" set "pages" = … where "pages" is null',
    )
    await sql('update "books" set "pages" = 0 where "pages" is null')
    expect(await migrate('plan', '--write', 'require_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('with a default is written with the update of these rows', async () => {
    await project.write('resources.yaml', withField('pages: { type: integer, default: 7 }'))
    const planned = await migrate('plan', '--write', 'require_pages')
    expect(planned).toMatchObject({ code: 0 })
    expect(planned.stdout).toContain('2 of 3 rows get 7')
    expect(await migrate('up')).toMatchObject({ code: 0 })
    const query = { text: 'select sum(pages)::text from books', values: [] }
    expect(await onProjectDatabase(project, database, async (open) => (await open.query(query)).rows)).toEqual([['15']])
  })

  test('with a default is rejected if the values must be unique', async () => {
    await project.write('resources.yaml', withField('pages: { type: integer, default: 7, unique: true }'))
    expect(await migrate('plan')).toMatchObject({
      stdout: expect.stringContaining('books.pages cannot become required, because 2 of 3 rows have no value'),
    })
  })
})

describe('a plan is rejected with a way out', () => {
  test('if a view of this database reads the column', async () => {
    await sql('create view long_books as select title from books where pages > 100')
    await project.write('resources.yaml', withField('pages: { type: bigint, nullable: true }'))
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      'books.pages cannot be changed, because the view long_books of this database reads it: drop the view',
    )
    await sql('drop view long_books')
    expect(await migrate('plan', '--write', 'long_pages')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })

  test('if the name of a column or table is taken', async () => {
    await sql('alter table books add note text; create table members (id integer)')
    await project.write(
      'resources.yaml',
      withField('pages: { type: integer, nullable: true }\n      note: { type: text, nullable: true }').replace(
        'resources:',
        '  member:\n    table: members\n    fields:\n      id: { type: bigint, primary_key: true }\nresources:',
      ),
    )
    const rejected = await migrate('plan', '--write')
    expect(rejected).toMatchObject({ code: 1 })
    expect(rejected.stdout).toContain(
      'books.note exists in this database, and no migration made it: keep it: snippetctl migrate adopt books.note',
    )
    expect(rejected.stdout).toContain(
      'members exists in this database, and no migration made it: give the model another `table`',
    )
    await sql('drop table members; alter table books drop note')
    expect(await migrate('plan', '--write', 'members')).toMatchObject({ code: 0 })
    expect(await migrate('up')).toMatchObject({ code: 0 })
  })
})
