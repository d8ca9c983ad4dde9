import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runInHost, startServe } from '../../support/cli.js'
import { mistakesOf } from '../../support/config.js'
import { envOf, openTestDatabase, testDatabaseKind } from '../../support/database.js'
import { dial, receive } from '../../support/wire.js'

const yaml = (api: string, max = 20_000) => `version: 1
api: { prefix: ""${api} }
models:
  note:
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: text, max: ${max} }
resources:
  note: { model: note, path: /notes/, bulk: [create, partial_update], bulk_max: 1000 }
`
const MOST = 2 * 1024 * 1024

describe('a body of many records', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi(yaml(`, max_body: ${MOST}`))
  })
  afterAll(() => api.close())

  test.each(['POST', 'PATCH'])('is rejected by %s above the configured limit', async (method) => {
    const items = Array.from({ length: 300 }, (_, id) => ({ id, text: 'x'.repeat(10_000) }))
    const rejected = await api.send(method, '/notes/', items)
    expect([rejected.status, await rejected.json()]).toEqual([
      413,
      expect.objectContaining({
        detail: `the body must be at most ${MOST} bytes; if it is an array, send fewer items at once`,
      }),
    ])
  })

  test('is accepted up to the limit, which the OpenAPI document contains', async () => {
    const items = Array.from({ length: 190 }, () => ({ text: 'x'.repeat(10_000) }))
    expect((await api.send('POST', '/notes/', items)).status).toBe(201)
    expect(await (await api.fetch('/openapi.json')).text()).toContain(`At most ${MOST} bytes in all.`)
  })
})

test('the default limit is 32 MiB', async () => {
  const api = await startApi(yaml(''))
  const most = 32 * 1024 * 1024
  expect(await (await api.fetch('/openapi.json')).text()).toContain(`At most ${most} bytes in all.`)
  await api.close()
})

test.each(['0', '1000', '1048575', '1073741825', '"32 MiB"'])('a limit of %s is an error', (limit) => {
  expect(mistakesOf(yaml(`, max_body: ${limit}`))).toEqual([expect.stringMatching(/^2:\d+ SC20/)])
})

test('check warns about records that are longer than any body', async () => {
  const project = await makeProject({ 'resources.yaml': yaml(', max_body: 1048576', 300_000) })
  const { stdout, stderr, code } = await runInHost(['check'], { cwd: project.folder })
  await project.remove()
  expect(code).toBe(0)
  expect(stdout + stderr).toContain('SC406')
  expect(stdout + stderr).toContain('a valid record of `note` can take')
})

test('bodies in chunks of one byte take no more memory than others', async () => {
  const database = testDatabaseKind() === 'postgres' ? await openTestDatabase() : undefined
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  const env = { ...envOf(database), NODE_OPTIONS: '--max-old-space-size=80' }
  const { url, stop } = await startServe(['--migrate'], { cwd: project.folder, env })
  const post = async () => {
    const socket = dial(url)
    const answered = receive(socket, { answers: 1 })
    socket.write('POST /api/books/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n')
    socket.write('Transfer-Encoding: chunked\r\n\r\n10\r\n{"title":"Dune"}\r\n')
    socket.write(`${'1\r\n \r\n'.repeat(500_000)}0\r\n\r\n`)
    return (await answered).answers.map(({ status }) => status)
  }
  const answers = await Promise.all([post(), post()])
  await stop()
  await project.remove()
  await database?.close()
  expect(answers).toEqual([[201], [201]])
})
