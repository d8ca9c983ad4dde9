import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openDatabase } from '../src/index.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, type Project, runCli } from './support/cli.js'

const SECRET = 'S3cretMark'

/** Passwords that are not percent-encoded, so that a URL with one of them is cut in the middle of it. */
const PASSWORDS = [
  SECRET,
  `${SECRET}/x`,
  `1/${SECRET}`,
  `1#${SECRET}`,
  `${SECRET}#1`,
  `1?${SECRET}`,
  `%zz${SECRET}`,
  `${SECRET} x`,
  `x\\${SECRET}`,
  `x@${SECRET}/y`,
  `x@${SECRET}?y`,
  `x@${SECRET}#y`,
  `[${SECRET}`,
]
const FORMS: readonly ((password: string) => string)[] = [
  (password) => `postgres://user:${password}@host/books`,
  (password) => `postgres:/user:${password}@host/books`,
  (password) => `user:${password}@host/books`,
  (password) => `mysql://user:${password}@host/books`,
  (password) => `postgres://user:${password}@host:port/books`,
  (password) => `postgres://user:${password}@host:99999/books`,
  (password) => `"postgres://user:${password}@host/books"`,
  (password) => `host=host password=${password} dbname=books`,
  (password) => `postgres://user:${password}@host/books?sslmode=require&sslrootcert=/nowhere/${password}`,
]
const BROKEN = FORMS.flatMap((form) => PASSWORDS.map(form))

/** What becomes visible of a URL: the description of the database, or all of the error. */
async function shownOf(url: string, name: 'DATABASE_URL' | 'DATABASE_REPLICA_URL'): Promise<string> {
  const given = name === 'DATABASE_URL' ? url : 'postgres://host/books'
  try {
    const database = await openDatabase({ url: given, directory: '' }, { [name]: url })
    await database.close()
    return database.description
  } catch (error) {
    return inspect(error, { depth: 10, showHidden: true })
  }
}

describe.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'] as const)('no part of a broken %s is shown', (name) => {
  test(`in ${BROKEN.length} of them`, async () => {
    expect(BROKEN.length).toBeGreaterThanOrEqual(50)
    const shown = await Promise.all(BROKEN.map(async (url) => ({ url, shown: await shownOf(url, name) })))
    expect(shown.filter(({ shown }) => shown.includes(SECRET))).toEqual([])
    const refused = shown.filter(({ shown }) => shown.includes(`${name} is malformed: `))
    expect(refused.length).toBeGreaterThan(BROKEN.length - PASSWORDS.length)
  })
})

test.each([
  'postgres://user:pass%40word@host/books',
  'postgres://user:p@ssword@host/books',
  'postgres://host/books?user=me@server&password=a@b',
  'postgres:///books?host=/run/postgresql',
])('the URL %s is not broken', async (url) => {
  const database = await openDatabase({ url, directory: '' }, {})
  await database.close()
  expect(database.description).toMatch(/^PostgreSQL at (host:5432|\/run\/postgresql), database books$/)
})

describe('no command shows a broken URL that it is given', () => {
  let project: Project
  beforeAll(async () => {
    project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  })
  afterAll(() => project.remove())

  const inEnvironment = [
    ['serve', '--port', '0'],
    ['serve', '--port', '0', '--workers', '2'],
    ['doctor'],
    ['migrate', 'status'],
    ['migrate', 'up'],
    ['migrate', 'down'],
    ['migrate', 'plan'],
    ['introspect'],
    ['dump', 'book'],
    ['seed', 'records.ndjson'],
    ['check', '--database'],
    ['db', 'backup'],
  ]
  const asArgument = [
    ['db', 'copy', '--to'],
    ['migrate', 'plan', '--measure', '--on'],
    ['migrate', 'plan', '--scratch'],
  ]
  // The first form is right with some passwords, so that a server would be waited for.
  const refused = BROKEN.slice(PASSWORDS.length)
  const cases = [
    ...inEnvironment.map((args, at) => [args, refused[at * 8] ?? '', true] as const),
    ...asArgument.map((args, at) => [args, refused[at * 29 + 1] ?? '', false] as const),
  ]

  test.each(cases)('%j', async (args, url, isEnvironment) => {
    const { stdout, stderr, code } = await (isEnvironment
      ? runCli(args, { cwd: project.folder, env: { DATABASE_URL: url } })
      : runCli([...args, url], { cwd: project.folder }))
    expect(stdout + stderr).not.toContain(SECRET)
    const expected = args[0] === 'doctor' ? 1 : args[1] === 'plan' && isEnvironment ? 0 : 2
    expect([args, code]).toEqual([args, expected])
  })
})
