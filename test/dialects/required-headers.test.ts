import { expect, test } from '@jest/globals'
import { makeProject, runInHost } from '../support/cli.js'

const config = (book: string, more = '') => `version: 1
models:
  book: { table: books, fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 100 } } }
resources:
  book:
    model: book
    path: /books/
${book}${more}`

async function warningsOf(yaml: string): Promise<string> {
  const project = await makeProject({ 'resources.yaml': yaml })
  try {
    const { code, stdout, stderr } = await runInHost(['check'], { cwd: project.folder })
    expect(code).toBe(0)
    return stdout + stderr
  } finally {
    await project.remove()
  }
}

const MOUNTS = 'mounts:\n  - { path: /admin, dialect: json-server }\n  - { path: /plain }\n'

test('check warns of required headers that clients of a dialect do not send', async () => {
  const said = await warningsOf(
    config('    dialect: simple-rest\n    concurrency: required\n    idempotency: required\n', MOUNTS),
  )
  expect(said).toContain(
    'warning[SC417]: `concurrency: required` needs `If-Match`, which clients of the dialect `simple-rest` and `json-server` of the mount `/admin` and `simple-rest` of the mount `/plain` do not send: `book` responds to their update, partial_update, destroy with 428',
  )
  expect(said).toContain('do not send: `book` responds to their create with 400')
  expect(said).toContain(
    'set `idempotency: optional`, or declare a second resource of the same model for these clients, with another path, the same `dialect` and `idempotency: optional`',
  )
})

test('check warns of a mount with a dialect only', async () => {
  const said = await warningsOf(config('    concurrency: required\n', MOUNTS))
  expect(said).toContain('which clients of the dialect `json-server` of the mount `/admin` do not send')
})

test.each([
  ['without a dialect', '    concurrency: required\n    idempotency: required\n', ''],
  ['with optional headers', '    dialect: crud\n    concurrency: optional\n    idempotency: optional\n', MOUNTS],
  [
    'without these operations',
    '    dialect: crud\n    operations: [list, retrieve, create]\n    idempotency: optional\n',
    MOUNTS,
  ],
])('check does not warn %s', async (_title, book, more) => {
  expect(await warningsOf(config(book, more))).not.toContain('SC417')
})

const second = (dialect: string, settings: string) =>
  `  draft:\n    model: book\n    path: /drafts/\n${dialect}    concurrency: optional\n    idempotency: optional\n${settings}`

const BOTH = '    concurrency: required\n    idempotency: required\n'

test.each([
  ['of the resources', '    dialect: crud\n', ''],
  ['of a mount', '', MOUNTS],
  ['of the resources and of a mount', '    dialect: crud\n', MOUNTS],
])('check does not warn if clients of a dialect %s can use a second resource', async (_title, dialect, mounts) => {
  expect(await warningsOf(config(dialect + BOTH, second(dialect, '') + mounts))).not.toContain('SC417')
})

test('check warns if the second resource has another dialect, or lacks an operation', async () => {
  expect(await warningsOf(config(`    dialect: crud\n${BOTH}`, second('    dialect: page\n', '')))).toContain('SC417')
  const said = await warningsOf(config(BOTH, second('', '    operations: [list, update, create]\n') + MOUNTS))
  expect(said.match(/SC417.*/g)).toEqual([expect.stringContaining('`concurrency: required`')])
})
