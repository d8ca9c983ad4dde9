import { afterEach, beforeEach, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runCli,
  startServe,
} from '../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../support/database.js'
import { onProjectDatabase } from '../support/existing.js'

let database: TestDatabase | undefined
let project: Project

const VIEW = 'create view titles as select title from books;'
const LOST =
  'the view titles has lost the grant of select to pg_monitor; to restore it: grant select on titles to pg_monitor'

beforeEach(async () => {
  database = await openOnlyOnServer()
  const file = `${BOOKS_MIGRATION.split('-- down')[0]}${VIEW}\n`
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: file })
  expect(await runCli(['migrate', 'up'], place())).toMatchObject({ code: 0 })
  await onProjectDatabase(project, database, (open) =>
    open.query({ text: 'grant select on titles to pg_monitor', values: [] }),
  )
  await project.write('migrations/0002_again.sql', `-- up\ndrop view titles;\n${VIEW}\n`)
})

afterEach(async () => {
  await project.remove()
  await database?.close()
})

const place = () => ({ cwd: project.folder, env: envOf(database) })

test('`migrate up` prints what only the database had of a recreated view', async () => {
  const { code, stderr } = await runCli(['migrate', 'up'], place())
  expect(code).toBe(0)
  expect(stderr).toContain(`  ! ${LOST}\n`)
})

test('`serve --migrate` logs a warning of its own for it', async () => {
  const serving = await startServe(['--migrate'], place())
  try {
    expect(await serving.logged('view_part_lost')).toMatchObject({
      level: 'warn',
      migration: '0002_again',
      view: 'titles',
      sql: 'grant select on titles to pg_monitor',
      msg: LOST,
    })
  } finally {
    await serving.stop('SIGKILL')
  }
})
