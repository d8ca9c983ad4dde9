import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, makeProject, type Project, runCli } from './support/cli.js'
import { envOf, openTestDatabase, type TestDatabase } from './support/database.js'
import { onProjectDatabase } from './support/existing.js'
import { tablesOf } from './support/migrations.js'
import { type AtTerminal, TERMINALS } from './support/terminal.js'

let project: Project
let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
  project = await makeProject({
    'resources.yaml': BOOKS,
    'migrations/0001_create_books.sql': BOOKS_MIGRATION,
    'migrations/0002_more.sql': '-- up\ncreate table shelves (id int);\n',
  })
  expect(await runCli(['migrate', 'up'], { cwd: project.folder, env: envOf(database) })).toMatchObject({ code: 0 })
  await onProjectDatabase(project, database, (given) =>
    given.query({ text: "insert into books (title) values ('a')", values: [] }),
  )
  await project.write('migrations/0003_less.sql', '-- up\ndrop table books;\ndrop table shelves;\n')
})

afterEach(async () => {
  await database.close()
  await project.remove()
})

const tables = () => onProjectDatabase(project, database, tablesOf)

const [ENTER, CTRL_C, CTRL_D] = ['\r', '\u0003', '\u0004']

/** Answers the questions in their order. */
async function answer(command: AtTerminal, ...answers: readonly string[]): Promise<void> {
  for (const [index, typed] of answers.entries()) {
    await command.shows(`type ${['books', 'shelves'][index]} to continue, Ctrl-C to stop: `)
    command.type(typed)
  }
}

describe.each(TERMINALS)('at a terminal of $name', ({ available, start }) => {
  const testThere = available ? test : test.skip
  const migrate = (...args: readonly string[]) =>
    start(['migrate', 'up', ...args], { cwd: project.folder, env: envOf(database) })

  testThere('what would be lost is shown, and goes once the name of each thing has been typed', async () => {
    const command = migrate()
    await answer(command, `books${ENTER}`, ` shelves ${ENTER}`)
    const { code, shown } = await command.ended
    expect({ code, shown }).toEqual({
      code: 0,
      shown: expect.stringMatching(/drops the table books: 1 row is lost with it[^]*drops the table shelves/),
    })
    expect(await tables()).toEqual([])
  })

  testThere('only what no option names is asked for', async () => {
    const command = migrate('--allow-destructive', 'books')
    await command.shows('type shelves to continue')
    command.type(`shelves${ENTER}`)
    const { code, shown } = await command.ended
    expect({ code, shown }).toEqual({ code: 0, shown: expect.not.stringContaining('type books') })
    expect(await tables()).toEqual([])
  })

  testThere.each([
    ['another name', [`book${ENTER}`], /nothing was done: the answer was not `books`/],
    ['nothing', [ENTER], /nothing was done: the answer was not `books`/],
    ['yes', [`yes${ENTER}`], /nothing was done: the answer was not `books`/],
    [
      'only the first of two names',
      [`books${ENTER}`, `books${ENTER}`],
      /nothing was done: the answer was not `shelves`/,
    ],
    ['Ctrl-C', [CTRL_C], /^error: nothing was done: the answer was not `books`/m],
    ['Ctrl-D', [CTRL_D], /^error: nothing was done: the answer was not `books`/m],
  ])('%s destroys nothing', async (_what, answers, says) => {
    const command = migrate()
    await answer(command, ...answers)
    const { code, shown } = await command.ended
    expect({ code, shown }).toEqual({ code: 3, shown: expect.stringMatching(says) })
    expect(await tables()).toEqual(['books', 'shelves'])
  })
})

test('is no consent when it comes through a pipe', async () => {
  const piped = { cwd: project.folder, env: envOf(database), stdin: 'books\nshelves\n' }
  expect(await runCli(['migrate', 'up'], piped)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('there is no terminal to ask'),
  })
  expect(await tables()).toEqual(['books', 'shelves'])
})
