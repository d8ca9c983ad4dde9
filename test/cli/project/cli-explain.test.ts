import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
} from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'

let project: Project
let database: TestDatabase | undefined

async function openBooks(migration: string): Promise<void> {
  project = await makeProject({
    'resources.yaml': `${BOOKS.replace('[title]', '{ title: [exact, contains] }')}  drop: { model: book, path: /drop/, operations: [create] }
  some: { model: book, path: /some/, sparse_fields: true }
plugins: [./plugin.js]
`,
    'package.json': '{"type":"module"}',
    'plugin.js': "export default (app) => app.route('GET', '/own/', 'own', () => ({ status: 204 }))\n",
    [BOOKS_MIGRATION_FILE]: migration,
  })
  database = await openOnlyOnServer()
}

async function closeBooks(): Promise<void> {
  await database?.close()
  await project.remove()
}

/** On a server when the tests have one, else on the embedded database of the project. */
const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder, env: envOf(database) })

describe('explain, for a table of 5000 rows', () => {
  beforeAll(async () => {
    const rows = "insert into books (title) select 'x' || n from generate_series(1, 5000) n;\nanalyze books;"
    await openBooks(BOOKS_MIGRATION.replace('\n-- down', `\n${rows}\n\n-- down`))
    await run('migrate', 'up')
  })
  afterAll(closeBooks)

  test.each([
    ['title=x7', /\n {2}= help: add under `models\.book`: `indexes: \[\[title, id\]\]`\n\nSQL\n/],
    ['title__contains=nothing', /\n {2}= help: no index that the file can declare serves `title__contains`\n\nSQL\n/],
    ['page_size=2', /pages? read\n\nSQL\n/],
  ])('advises for %s', async (query, expected) => {
    const { stdout } = await run('explain', 'book-list', query)
    expect(stdout).toMatch(expected)
  })
})

describe('explain', () => {
  beforeAll(async () => {
    await openBooks(BOOKS_MIGRATION)
    await run('migrate', 'up')
  })
  afterAll(closeBooks)

  test('prints the SQL of a list, its plan, the rows read, and the line that would help', async () => {
    const { code, stdout, stderr } = await run('explain', 'book-list', '?title=It%27s&page=2')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.split('\n')
    expect(lines[0]).toBe('GET /api/books/?title=It%27s&page=2')
    expect(stdout).toMatch(
      /\nSQL\n {2}select \(select count\(\*\) .* from "books" where "title" = \$1 .* offset \$3\) .*\n/,
    )
    expect(stdout).toContain('\n  $1 = "It\'s"\n  $2 = "10"\n  $3 = "10"\n')
    expect(stdout).toMatch(/\nPlan\n {2}\S.* \(\d+ estimated, \d actual\)\n/)
    expect(stdout).toMatch(/\nrows {3}\d+ estimated, 0 actual\ntime {3}[\d.]+ ms, \d+ pages? read\n/)
  })

  test('prints the plan of one record, and its index', async () => {
    const { code, stdout } = await run('explain', 'book-detail', 'id=5')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^GET \/api\/books\/5\/\n/)
    expect(stdout).toContain('\n  $1 = "5"\n')
    expect(stdout).toMatch(/\nindex {2}books_pkey\nrows {3}1 estimated, 0 actual\n/)
  })

  test('accepts `fields` and `expand` of a record', async () => {
    const { code, stdout } = await run('explain', 'some-detail', 'id=5', 'fields=title')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^GET \/api\/some\/5\/\?fields=title\n/)
    expect(stdout).toMatch(/\nSQL\n(?!.*"id" as).*"title" as "title".*\n/)
  })

  test('prints one JSON document with --json', async () => {
    const { code, stdout } = await run('explain', 'book-detail', 'id=5', '--json')
    expect({ code, json: JSON.parse(stdout) }).toEqual({
      code: 0,
      json: {
        schemaVersion: 1,
        name: 'book-detail',
        method: 'GET',
        path: '/api/books/5/',
        sql: expect.stringMatching(/^select .* from "books" where "id" = \$1$/),
        values: ['5'],
        ran: true,
        rows: { estimated: 1, actual: 0 },
        milliseconds: expect.any(Number),
        pages: expect.any(Number),
        accesses: [{ table: 'books', index: 'books_pkey', rows: 0, removed: 0, counts: false }],
        help: [],
        plan: expect.objectContaining({ 'Node Type': 'Index Scan' }),
      },
    })
  })

  test('reports pending migrations', async () => {
    await project.write('migrations/0002_more.sql', '-- up\nselect 1;\n')
    const { code, stdout, stderr } = await run('explain', 'book-list')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: 1 migration is pending: 0002_more\n {2}= help: apply them first/)
  })
})

describe('explain without a database', () => {
  beforeAll(() => openBooks(BOOKS_MIGRATION))
  afterAll(closeBooks)

  test.each([
    [1, ['book-lits'], 'no route is named `book-lits`', '`book-list`'],
    [2, ['own'], '`own` belongs to the plugin ./plugin.js', 'book-list, book-detail'],
    [2, ['drop-list'], '`drop-list` only supports POST', ''],
    [2, ['book-list', 'pages=4'], 'this list has no parameter `pages`; allowed are page, page_size, ', ''],
    [2, ['book-list', 'page=0'], 'the parameter `page` must be a whole number from 1', ''],
    [
      2,
      ['book-list', 'page=1', 'title=x'],
      'a list takes one query string; `title=x` is a second one',
      "'page=1&title=x'",
    ],
    [2, ['book-detail'], '`book-detail` needs a value for `id`', 'snippetctl explain book-detail id=<bigint>'],
    [2, ['book-detail', 'id=05'], '`05` is not a valid bigint', 'snippetctl explain book-detail id=<bigint>'],
    [2, ['book-detail', 'id=5', 'title=x'], '`book-detail` has no parameter `title`', ''],
    [2, ['some-detail', 'id=5', 'fields=titel'], 'the parameter `fields` names `titel`; known are id, title', ''],
    [2, ['book-list'], 'the project has no database yet', 'snippetctl migrate up'],
  ])('exits with %i for %j, and creates no database', async (expected, args, message, help) => {
    const { code, stdout, stderr } = await runInHost(['explain', ...args], { cwd: project.folder })
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    expect(stderr).toMatch(/^error: /)
    expect(stderr.split('\n')[0]).toContain(message)
    expect(stderr.split('\n').slice(1).join('\n')).toContain(help)
    expect(existsSync(join(project.folder, '.snippetctl', 'pg'))).toBe(false)
  })
})

describe('explain of a word that is not a route,', () => {
  const explain = (...args: readonly string[]) => runInHost(['explain', ...args])

  test.each([
    ['SC301', 'SC301: No primary key\n\nA model declares what identifies its records'],
    ['resources.path', 'The path of the resource, below the prefix.\n\npath: /books/\n'],
    ['models.book.fields.title.max', 'The maximum number of characters.\n\ntype '],
    ['models.fields.char', 'length        required  The number of characters of the column.'],
    ['resources', ' The fields that lists can be filtered by'],
    ['models.feilds', '`feilds` was taken for a name; there is a key `fields`'],
  ])('explains %s', async (word, text) => {
    const { code, stdout, stderr } = await explain(word)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(text)
  })

  test.each([
    ['SC999', 'no diagnostic has the code `SC999`', 'the nearest codes are: SC4'],
    ['SC300', 'no diagnostic has the code `SC300`', 'the nearest codes are: SC301, SC302, SC303\n'],
    ['api.prefx', '`api` has no key `prefx`', '`prefix`'],
    ['resources.path.depth', '`resources.path` has no key `depth`', 'snippetctl explain resources.path'],
  ])('exits with 1 for %s', async (word, message, help) => {
    const { code, stdout, stderr } = await explain(word)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(help)
  })

  test('prints JSON on request', async () => {
    expect(JSON.parse((await explain('SC301', '--json')).stdout)).toMatchObject({ schemaVersion: 1, code: 'SC301' })
    expect(JSON.parse((await explain('resources.pagination', '--json')).stdout)).toMatchObject({
      path: 'resources.pagination',
      keys: expect.arrayContaining([{ key: 'page_size', description: expect.any(String) }]),
    })
  })
})
