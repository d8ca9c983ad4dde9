import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { openDatabase } from '../../src/internal.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, type Project, runInHost } from '../support/cli.js'

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
  (password) => `postgres://user:${password}@host/books?sslmode=${password}`,
  (password) => `postgres://user:${password}%4@host/books`,
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

describe.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'] as const)('a malformed %s is never shown', (name) => {
  test(`in ${BROKEN.length} of them`, async () => {
    expect(BROKEN.length).toBeGreaterThanOrEqual(50)
    const shown = await Promise.all(BROKEN.map(async (url) => ({ url, shown: await shownOf(url, name) })))
    expect(shown.filter(({ shown }) => shown.includes(SECRET))).toEqual([])
    const rejected = shown.filter(({ shown }) => shown.includes(`${name} is malformed: `))
    expect(rejected.length).toBeGreaterThan(BROKEN.length - PASSWORDS.length)
  })
})

const SSLMODES = 'sslmode must be one of disable, prefer, require, verify-ca, verify-full, no-verify'
const PERCENT = 'it contains a % that is not followed by two hexadecimal digits'

test.each([
  ['a percent sign in the password', `user:${SECRET}%@host/books`, PERCENT],
  ['an incomplete percent sequence in the password', `user:${SECRET}%4@host/books`, PERCENT],
  ['an invalid percent sequence', `user:%zz${SECRET}@host/books`, PERCENT],
  ['an invalid percent sequence after a valid one', `user:%40${SECRET}%4g@host/books`, PERCENT],
  ['bytes that are not UTF-8', `user:%ff${SECRET}@host/books`, 'it cannot be parsed as a URL'],
  ['an unknown sslmode', `user:${SECRET}@host/books?sslmode=${SECRET}`, SSLMODES],
  ['an empty sslmode', `user:${SECRET}@host/books?sslmode=`, SSLMODES],
  ['an sslmode in capitals', `user:${SECRET}@host/books?sslmode=REQUIRE`, SSLMODES],
  ['two sslmodes', `user:${SECRET}@host/books?sslmode=${SECRET}&sslmode=require`, SSLMODES],
  ['an encoded sslmode', `user:${SECRET}@host/books?sslmod%65=${SECRET}`, SSLMODES],
  ['an invalid ssl', `user:${SECRET}@host/books?ssl=false`, 'ssl must be one of true, 1, 0, no-verify'],
  ['an unknown parameter', `user:${SECRET}@host/books?${SECRET}=require`, 'it has an unknown parameter'],
])('a URL with %s is rejected', async (_what, rest, reason) => {
  const shown = await shownOf(`postgres://${rest}`, 'DATABASE_URL')
  expect(shown).toContain(`DATABASE_URL is malformed: ${reason}; its value is not shown`)
  expect(shown).not.toContain(SECRET)
})

test.each([
  ['ssl_mode', 'a parameter with a similar name exists: `sslmode`'],
  ['SSLMODE', 'a parameter with a similar name exists: `sslmode`'],
  ['sslroot_cert', 'a parameter with a similar name exists: `sslrootcert`'],
  ['pgbouncer', 'known: `sslmode`, `ssl`, '],
])('a parameter that the driver would ignore is rejected: %s', async (name, help) => {
  expect(await shownOf(`postgres://host/books?${name}=require`, 'DATABASE_URL')).toContain(help)
})

test.each([
  'postgres://host/books?sslmode=verify-full',
  'postgres://host/books?sslmode=no-verify',
  'postgres://host/books?sslmode=prefer',
  'postgres://host/books?ssl=0',
  'postgres://host/books?ssl=no-verify',
  'postgres://host/books?sslmode=require&channel_binding=require',
  'postgres://user:pass%40word@host/books',
  'postgres://user:p@ssword@host/books',
  'postgres://host/books?user=me@server&password=a@b',
  'postgres:///books?host=/run/postgresql',
])('the URL %s is valid', async (url) => {
  const warn = jest.spyOn(process, 'emitWarning')
  const database = await openDatabase({ url, directory: '' }, {})
  await database.close()
  expect(warn).not.toHaveBeenCalled()
  warn.mockRestore()
  expect(database.description).toMatch(/^PostgreSQL at (host:5432|\/run\/postgresql), database books$/)
})

describe('no command shows a malformed URL', () => {
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
  const rejected = BROKEN.slice(PASSWORDS.length)
  const cases = [
    ...inEnvironment.map((args, at) => [args, rejected[at * 8] ?? '', true] as const),
    ...asArgument.map((args, at) => [args, rejected[at * 29 + 1] ?? '', false] as const),
  ]

  test.each(cases)('%j', async (args, url, isEnvironment) => {
    const { stdout, stderr, code } = await (isEnvironment
      ? runInHost(args, { cwd: project.folder, env: { DATABASE_URL: url } })
      : runInHost([...args, url], { cwd: project.folder }))
    expect(stdout + stderr).not.toContain(SECRET)
    const expected = args[0] === 'doctor' ? 1 : args[1] === 'plan' && isEnvironment ? 0 : 2
    expect([args, code]).toEqual([args, expected])
  })
})
