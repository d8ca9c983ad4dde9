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
    'warning[SC417]: `concurrency: required` keeps clients of the dialect `simple-rest` and `json-server` of the mount `/admin` and `simple-rest` of the mount `/plain` from `book`: they do not send `If-Match`, so the response to update, partial_update, destroy is 428',
  )
  expect(said).toContain('they do not send `Idempotency-Key`, so the response to create is 400')
  expect(said).toContain('set `idempotency: optional`, or serve such clients by a resource of their own')
})

test('check warns of a mount with a dialect only', async () => {
  const said = await warningsOf(config('    concurrency: required\n', MOUNTS))
  expect(said).toContain('keeps clients of the dialect `json-server` of the mount `/admin` from `book`')
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
