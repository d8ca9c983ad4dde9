import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import express from 'express'
import { type Api, startApi } from '../support/api.js'
import { talk } from '../support/wire.js'

const YAML = `version: 1
api: { title: Notes, cors: { origins: ["https://app.example"] } }
auth:
  url: https://api.example/notes
  jwt: { issuer: https://id.example, audience: a, algorithms: [RS256], jwks: http://127.0.0.1:9/keys, header: X-Assertion }
  proxy: { from: [10.0.0.0/8], subject: X-Auth-User }
  roles: { names: [member] }
  routes: { openapi: anyone, /files/: anyone }
  development: { ann: { roles: [member] }, eve: {} }
plugins: [./plugin.mjs]
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: member, may: read }] }
`

let api: Api
beforeAll(async () => {
  const files = express.Router()
  files.get('/', (_request, response) => void response.vary('Accept').json({ file: 1 }))
  api = await startApi(YAML, { checkResponses: false, plugin: (app) => app.mount('/files/', files) })
})
afterAll(() => api.close())
const get = (path: string, headers: Readonly<Record<string, string>> = {}) => api.fetch(path, { headers })
const METADATA = 'https://api.example/.well-known/oauth-protected-resource/notes'

test('responses vary by every header that signs a caller in', async () => {
  const varied = 'authorization, x-assertion, x-auth-user'
  for (const headers of [{}, { authorization: 'Dev ann' }, { authorization: 'Dev nobody' }])
    expect((await get('/api/notes/', headers)).headers.get('vary')).toBe(`${varied}, Origin`)
  expect((await get('/openapi.json')).headers.get('vary')).toBe(`Accept-Encoding, ${varied}, Origin`)
  expect((await get('/files/')).headers.get('vary')).toBe(`Origin, ${varied}, Accept`)
})

describe('the metadata of RFC 9728', () => {
  test('are named by each 401, and say who issues tokens', async () => {
    const [missing, wrong] = [await get('/api/notes/'), await get('/api/notes/', { authorization: 'Dev nobody' })]
    expect(missing.headers.get('www-authenticate')).toBe(`Bearer realm="Notes", resource_metadata="${METADATA}"`)
    expect(wrong.headers.get('www-authenticate')).toContain(`error="invalid_token", resource_metadata="${METADATA}"`)
    const response = await get(new URL(METADATA).pathname)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      resource: 'https://api.example/notes',
      authorization_servers: ['https://id.example'],
      bearer_methods_supported: ['header'],
      resource_name: 'Notes',
    })
  })

  test('have the whole title, of which headers have what ASCII can spell', async () => {
    const other = await startApi(YAML.replace('title: Notes', 'title: "Заметки – \\"Notes\\""'), {
      checkResponses: false,
      plugin: () => {},
    })
    const { status, headers } = await other.fetch('/api/notes/')
    const metadata = await other.fetch(new URL(METADATA).pathname)
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="??????? ? 'Notes'", resource_metadata="${METADATA}"`,
    ])
    expect(await metadata.json()).toMatchObject({ resource_name: 'Заметки – "Notes"' })
    await other.close()
  })

  test('do not depend on the Host that a client sends', async () => {
    const sent = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' }
    const { status, headers } = await get('/api/notes/', sent)
    expect([status, headers.get('www-authenticate')]).toEqual([401, expect.not.stringContaining('evil')])
  })
})

describe('before anything else of a request is read', () => {
  const DENIED = [
    [undefined, 401],
    ['Dev eve', 403],
  ] as const

  test.each(DENIED)('the grants of %s are checked', async (authorization, expected) => {
    const statusOf = async (path: string, init: RequestInit = {}) =>
      (await api.fetch(path, { ...init, headers: { ...(authorization && { authorization }), ...init.headers } })).status
    expect(await statusOf('/api/notes/?nothing=1')).toBe(expected)
    expect(await statusOf('/api/notes/', { headers: { accept: 'image/png' } })).toBe(expected)
    const post = { method: 'POST', body: '{' }
    expect(await statusOf('/api/notes/', { ...post, headers: { 'content-type': 'text/plain' } })).toBe(expected)
    expect(await statusOf('/api/notes/', { ...post, headers: { 'content-type': 'application/json' } })).toBe(expected)
    // Routes are found before callers.
    expect(await statusOf('/api/notes/', { method: 'PUT' })).toBe(405)
    expect(await statusOf('/api/nowhere/')).toBe(404)
  })

  test.each(DENIED)('%s is not asked to send a body', async (authorization, expected) => {
    const head = [
      'POST /api/notes/ HTTP/1.1',
      `host: ${new URL(api.url).host}`,
      ...(authorization ? [`authorization: ${authorization}`] : []),
      'content-type: application/json',
      'content-length: 1000',
      'expect: 100-continue',
      '',
      '',
    ]
    const { answers } = await talk(api.url, head.join('\r\n'))
    expect(answers.map(({ status }) => status)).toEqual([expected])
  })
})

test('documents belong to their caller, and no record is stored by caches', async () => {
  const ask = (path: string, headers = {}) => get(path, headers)
  const ann = { authorization: 'Dev ann' }
  const [own, other] = [await ask('/openapi.json', ann), await ask('/openapi.json')]
  for (const { headers } of [own, other]) expect(headers.get('cache-control')).toBe('private, no-cache')
  const [tag, otherTag] = [own, other].map(({ headers }) => headers.get('etag') ?? '')
  expect(tag).not.toBe(otherTag)
  expect((await ask('/openapi.json', { ...ann, 'if-none-match': tag })).status).toBe(304)
  expect((await ask('/openapi.json', { ...ann, 'if-none-match': otherTag })).status).toBe(200)
  expect((await ask('/api/notes/', ann)).headers.get('cache-control')).toBe('no-store')
})

test('the log has the subject, the way it signed in and the grants or the reason, and no credential', async () => {
  await (await get('/api/notes/', { authorization: 'Dev ann' })).text()
  await (await get('/api/notes/')).text()
  await (await get('/api/notes/', { authorization: 'Bearer hush' })).text()
  await (await get('/api/notes/', { authorization: 'Dev eve' })).text()
  const entries = api.logged.filter((entry) => 'path' in entry && entry.path === '/api/notes/')
  expect(entries.slice(-4)).toMatchObject([
    { subject: 'ann', signed_in_by: 'development', status: 200, grants: ['note.access[0]'], denied: undefined },
    { subject: undefined, signed_in_by: undefined, status: 401, grants: undefined, denied: 'sign in to do this' },
    { subject: undefined, status: 401, grants: undefined, denied: 'the credential is not valid here' },
    { subject: 'eve', status: 403, grants: undefined, denied: 'no grant allows this to the caller' },
  ])
  expect(JSON.stringify(api.logged)).not.toContain('hush')
})
