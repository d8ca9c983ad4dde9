import { afterEach, beforeEach, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
} from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'
import { onProjectDatabase, runSql } from '../../support/existing.js'

let project: Project
let database: TestDatabase | undefined

const functionOf = (name: string, body: string) =>
  `create function ${name}() returns trigger language plpgsql as $$ begin ${body}; return new; end $$;`
const TRIGGER = `${functionOf('trim_title', 'new.Title = trim(new.title)')}
create trigger trim_title before insert on books for each row execute function trim_title();`
/** No migration creates these. */
const OTHERS = `${functionOf('log_titles', 'perform title from books')} ${functionOf('unrelated', 'perform title from films')}
  ${functionOf('longer_word', 'perform titles from books')} ${functionOf('quoted', `perform b."title" from "books" b`)}`

beforeEach(async () => {
  const migration = BOOKS_MIGRATION.replace(
    '-- down',
    () => `${TRIGGER}\n\n-- down\n\ndrop function trim_title cascade;`,
  )
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: migration })
  database = await openOnlyOnServer()
  expect(await migrate('up')).toMatchObject({ code: 0 })
  await onProjectDatabase(project, database, (connection) => runSql(connection, OTHERS))
})

afterEach(async () => {
  await database?.close()
  await project.remove()
})

const migrate = (...args: readonly string[]) =>
  runInHost(['migrate', ...args], { cwd: project.folder, env: envOf(database) })

test.each([
  {
    what: 'a renamed column',
    yaml: BOOKS.replace('title:', 'name:').replace('max: 100 }', 'max: 100, renamed_from: title }'),
    word: 'title',
    change: 'books.title becomes books.name',
    functions: ['trim_title', 'log_titles', 'quoted'],
  },
  {
    what: 'a dropped column',
    yaml: BOOKS.replace(/ {6}title:.*\n/, '').replace('    fields:', '    dropped: [title]\n    fields:'),
    word: 'title',
    change: 'books.title is dropped',
    functions: ['trim_title', 'log_titles', 'quoted'],
  },
  {
    what: 'a renamed table',
    yaml: BOOKS.replace('table: books', 'table: works\n    renamed_from: books'),
    word: 'books',
    change: 'books becomes works',
    functions: ['log_titles', 'longer_word', 'quoted'],
  },
])('a plan names the functions that have the former name of $what in their text', async ({ yaml, ...expected }) => {
  await project.write('resources.yaml', yaml.replace('    filterable: [title]\n', ''))
  const { code, stdout } = await migrate('plan', '--json')
  expect(code).toBe(0)
  const { notes } = JSON.parse(stdout) as { readonly notes: readonly string[] }
  const { word, change, functions } = expected
  const noteOf = (name: string) =>
    `the function ${name} contains the name ${word}, and ${change}: change the function in the same migration, or it may fail when it is called`
  expect(notes.toSorted()).toEqual(functions.map(noteOf).toSorted())
})

test('a plan names no function for a view that it drops and makes again', async () => {
  const withView = (max: number) =>
    BOOKS.replace('max: 100', `max: ${max}`).replace(
      '\nresources:',
      `
  title:
    table: titles
    view: select id, title from books
    fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: ${max} } }
resources:`,
    )
  await project.write('resources.yaml', withView(100))
  expect(await migrate('plan', '--write', 'titles')).toMatchObject({ code: 0 })
  expect(await migrate('up')).toMatchObject({ code: 0 })
  await project.write('resources.yaml', withView(200))
  const { code, stdout } = await migrate('plan', '--json')
  expect(code).toBe(0)
  const { steps, notes } = JSON.parse(stdout) as {
    readonly steps: readonly object[]
    readonly notes: readonly string[]
  }
  expect(steps).toContainEqual(expect.objectContaining({ change: 'drop', subject: 'titles' }))
  expect(notes).toEqual([])
})
