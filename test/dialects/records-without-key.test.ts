import { expect, test } from '@jest/globals'
import { makeProject, runInHost } from '../support/cli.js'

const config = ({ api = '', mount = '', event = '' }) => `version: 1
${api}
models:
  book: { table: books, fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 100 } } }
  event: { table: events, primary_key: none, fields: { kind: { type: string, max: 10 } } }
resources:
  book: { model: book, path: /books/, operations: [list, retrieve] }
  event: { model: event, path: /events/, operations: [list]${event} }
mounts:
  - { path: /admin${mount} }
`

async function run(settings: Parameters<typeof config>[0]) {
  const project = await makeProject({ 'resources.yaml': config(settings) })
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
  const { code, said, names } = await run({ mount: ', dialect: json-server' })
  expect(code).toBe(0)
  expect(said).toContain(
    'warning[SC413]: the mount `/admin` leaves out `event`: a dialect needs a primary key, which these records do not have',
  )
  expect(said).toContain('declare what identifies a record as `primary_key`, or leave `dialect` out of the mount')
  expect(names).toEqual(['book-list', 'book-detail', 'event-list', 'admin:book-list', 'admin:book-detail'])
})

test('a mount without a dialect serves them', async () => {
  const { code, said, names } = await run({})
  expect(code).toBe(0)
  expect(said).not.toContain('SC413')
  expect(names).toContain('admin:event-list')
})

test('the dialect of the API does not apply to them; check warns, unless they have a dialect of their own', async () => {
  const api = 'api: { dialect: json-server }'
  const { code, said, names } = await run({ api })
  expect(code).toBe(0)
  expect(said).toContain(
    'warning[SC413]: `event` keeps the dialect `plain`: a dialect needs a primary key, which these records do not have',
  )
  expect(names).toContain('event-list')
  expect((await run({ api, event: ', dialect: plain' })).said).not.toContain('SC413')
})
