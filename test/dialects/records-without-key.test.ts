import { expect, test } from '@jest/globals'
import { makeProject, runInHost } from '../support/cli.js'

const config = (mount: string) => `version: 1
models:
  book: { table: books, fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 100 } } }
  event: { table: events, primary_key: none, fields: { kind: { type: string, max: 10 } } }
resources:
  book: { model: book, path: /books/, operations: [list, retrieve] }
  event: { model: event, path: /events/, operations: [list] }
mounts:
  - { path: /admin${mount} }
`

async function run(mount: string) {
  const project = await makeProject({ 'resources.yaml': config(mount) })
  try {
    const check = await runInHost(['check'], { cwd: project.folder })
    const routes = await runInHost(['routes', '--json'], { cwd: project.folder })
    const { code } = check
    const names = [...routes.stdout.matchAll(/"name":\s*"([^"]+)"/g)].map(([, name]) => name)
    return { code, said: check.stdout + check.stderr, names }
  } finally {
    await project.remove()
  }
}

test('a mount with a dialect leaves out records without a key; check warns and names them', async () => {
  const { code, said, names } = await run(', dialect: json-server')
  expect(code).toBe(0)
  expect(said).toContain(
    'warning[SC320]: the mount `/admin` leaves out `event`: a dialect needs a primary key, which these records do not have',
  )
  expect(said).toContain('declare what identifies a record as `primary_key`, or leave `dialect` out of the mount')
  expect(names).toEqual(['book-list', 'book-detail', 'event-list', 'admin:book-list', 'admin:book-detail'])
})

test('a mount without a dialect serves them', async () => {
  const { code, said, names } = await run('')
  expect(code).toBe(0)
  expect(said).not.toContain('SC320')
  expect(names).toContain('admin:event-list')
})
