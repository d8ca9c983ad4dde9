import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, makeProject, type Project, runCli, runInHost } from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'
import { onProjectDatabase } from '../../support/existing.js'
import { tablesOf } from '../../support/migrations.js'
import { type AtTerminal, type Terminal, TERMINALS } from '../../support/terminal.js'

let project: Project
let database: TestDatabase | undefined

async function openLibrary(): Promise<void> {
  database = await openOnlyOnServer()
  project = await makeProject({
    'resources.yaml': BOOKS,
    'migrations/0001_create_books.sql': BOOKS_MIGRATION,
    'migrations/0002_more.sql': "-- up\ncreate table shelves (id int);\ninsert into books (title) values ('a');\n",
  })
  expect(await runInHost(['migrate', 'up'], { cwd: project.folder, env: envOf(database) })).toMatchObject({ code: 0 })
  await project.write('migrations/0003_less.sql', '-- up\ndrop table books;\ndrop table shelves;\n')
}

async function closeLibrary(): Promise<void> {
  await database?.close()
  await project.remove()
}

const tables = () => onProjectDatabase(project, database, tablesOf)

const [ENTER, CTRL_C, CTRL_D] = ['\r', '\u0003', '\u0004']

/** Answers the questions in their order. */
async function answer(command: AtTerminal, ...answers: readonly string[]): Promise<void> {
  for (const [index, typed] of answers.entries()) {
    await command.shows(`type ${['books', 'shelves'][index]} to continue, Ctrl-C to stop: `)
    command.type(typed)
  }
}

const migrateAt = (start: Terminal['start'], ...args: readonly string[]) =>
  start(['migrate', 'up', ...args], { cwd: project.folder, env: envOf(database) })

describe.each(TERMINALS)('consent at a terminal ($name)', ({ available, start }) => {
  const testThere = available ? test : test.skip
  beforeEach(openLibrary)
  afterEach(closeLibrary)

  testThere('shows each loss, and applies once every name has been typed', async () => {
    const command = migrateAt(start)
    await answer(command, `books${ENTER}`, ` shelves ${ENTER}`)
    const { code, shown } = await command.ended
    expect({ code, shown }).toEqual({
      code: 0,
      shown: expect.stringMatching(/drops the table books: 1 row is lost with it[^]*drops the table shelves/),
    })
    expect(await tables()).toEqual([])
  })

  testThere('is not requested for losses that an option names', async () => {
    const command = migrateAt(start, '--allow-destructive', 'books')
    await command.shows('type shelves to continue')
    command.type(`shelves${ENTER}`)
    const { code, shown } = await command.ended
    expect({ code, shown }).toEqual({ code: 0, shown: expect.not.stringContaining('type books') })
    expect(await tables()).toEqual([])
  })
})

describe('without consent', () => {
  beforeAll(openLibrary)
  afterAll(closeLibrary)
  afterEach(async () => expect(await tables()).toEqual(['books', 'shelves']))

  describe.each(TERMINALS)('at a terminal ($name)', ({ available, start }) => {
    const testThere = available ? test : test.skip

    testThere.each([
      ['another name', [`book${ENTER}`], /stopped, because the answer was not `books`/],
      ['nothing', [ENTER], /stopped, because the answer was not `books`/],
      ['yes', [`yes${ENTER}`], /stopped, because the answer was not `books`/],
      [
        'only the first of two names',
        [`books${ENTER}`, `books${ENTER}`],
        /stopped, because the answer was not `shelves`/,
      ],
      ['Ctrl-C', [CTRL_C], /^error: stopped, because the answer was not `books`/m],
      ['Ctrl-D', [CTRL_D], /^error: stopped, because the answer was not `books`/m],
    ])('%s destroys nothing', async (_what, answers, says) => {
      const command = migrateAt(start)
      await answer(command, ...answers)
      const { code, shown } = await command.ended
      expect({ code, shown }).toEqual({ code: 3, shown: expect.stringMatching(says) })
    })
  })

  test('input from a pipe destroys nothing', async () => {
    const piped = { cwd: project.folder, env: envOf(database), stdin: 'books\nshelves\n' }
    expect(await runCli(['migrate', 'up'], piped)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('confirmation needs a terminal'),
    })
  })
})
