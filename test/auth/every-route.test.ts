import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeKey } from '../../src/internal.js'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { type Issuer, AUDIENCE, makeSigner, type Signer, startIssuer } from '../support/issuer.js'

// Anybody may do everything.
const yamlFor = (issuer: string) => `version: 1
plugins: [./plugin.mjs]
api: { prefix: /api, explore: true }
auth:
  jwt: { issuer: "${issuer}", audience: ${AUDIENCE}, algorithms: [RS256] }
  keys: true
  proxy: { from: [10.0.0.0/8], subject: X-Auth-User }
  routes: { openapi: anyone, explore: anyone, report: anyone, /files/: anyone }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, text: { type: string, max: 50 } } }
resources:
  note:
    model: note
    path: /notes/
    bulk: [create, partial_update, destroy]
    export: true
    access: [{ to: anyone, may: all }]
mounts:
  - { path: /more }
  - { path: /crud, dialect: crud }
`

const plugin: Plugin = (app) => {
  app.route('GET', '/report/', 'report', () => ({ status: 200, body: 'open' }))
  app.action('note', 'show', { summary: 'Show', method: 'GET', output: 'record', handle: () => undefined })
  app.mount('/files/', (_request, response) => void response.end('open'))
}

const NOTE = { text: 'open' }
const REQUESTS: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['GET', '/api/notes/'],
  ['HEAD', '/api/notes/1/'],
  ['OPTIONS', '/api/notes/'],
  ['POST', '/api/notes/', NOTE],
  ['PUT', '/api/notes/1/', NOTE],
  ['DELETE', '/api/notes/9/'],
  ['POST', '/api/notes/', [NOTE]],
  ['PATCH', '/api/notes/', [{ id: 1, ...NOTE }]],
  ['DELETE', '/api/notes/?ids=9'],
  ['GET', '/api/notes/export.json'],
  ['GET', '/api/notes/1/show/'],
  ['GET', '/more/notes/'],
  ['PATCH', '/more/notes/1/', NOTE],
  ['POST', '/more/notes/', [NOTE]],
  ['OPTIONS', '/more/notes/'],
  ['GET', '/crud/notes'],
  ['PATCH', '/crud/notes/1', NOTE],
  ['POST', '/crud/notes/bulk', { bulk: [NOTE] }],
  ['GET', '/explore/'],
  ['GET', '/explore/api/notes/1/'],
  ['GET', '/docs'],
  ['GET', '/openapi.json'],
  ['GET', '/api/report/'],
  ['GET', '/files/x'],
]

let issuer: Issuer
let api: Api
let signer: Signer
let other: Signer
beforeAll(async () => {
  issuer = await startIssuer()
  ;[signer, other] = await Promise.all([makeSigner('one'), makeSigner('one')])
  issuer.keys = [signer.jwk]
  api = await startApi(yamlFor(issuer.url), { plugin, checkResponses: false })
})
afterAll(async () => {
  issuer.close()
  await api.close()
})

const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const CREDENTIALS: Readonly<Record<string, () => Promise<Readonly<Record<string, string | string[]>>>>> = {
  'forged with another key': async () => bearer(await other.sign(issuer)),
  '1: without a signature': async () =>
    bearer(`${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await signer.sign(issuer)).split('.')[1]}.`),
  '9: expired': async () => bearer(await signer.sign(issuer, { exp: seconds(-60) })),
  '12: for another audience': async () => bearer(await signer.sign(issuer, { aud: 'https://other.example' })),
  '21: garbage': async () => bearer('x'.repeat(5_000)),
  '22: of a proxy, from elsewhere': async () => ({ 'x-auth-user': 'root' }),
  '23: a key that does not exist': async () => bearer(makeKey().key),
  '25: of development': async () => ({ authorization: 'Dev ann' }),
}

const send = async (
  [method, path, body]: (typeof REQUESTS)[number],
  credential: Readonly<Record<string, string | string[]>> = {},
) => {
  const headers = { ...credential, ...(body !== undefined && { 'content-type': 'application/json' }) }
  const sent = request(api.url + path, { method, headers }).end(body === undefined ? undefined : JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) }
}
const count = async () => (await api.database.query({ text: 'select count(*)::text from notes', values: [] })).rows

describe.each(REQUESTS)('%s %s', (...given) => {
  beforeAll(async () => {
    await api.database.query({ text: 'truncate notes restart identity', values: [] })
    await api.database.query({ text: "insert into notes (text) values ('open')", values: [] })
  })

  test.each(Object.keys(CREDENTIALS))(
    'with a credential that is wrong is 401, although anybody may: %s',
    async (name) => {
      const { status, headers, text } = await send(given, await CREDENTIALS[name]?.())
      expect([status, headers['www-authenticate']]).toEqual([401, expect.stringContaining('error="invalid_token"')])
      expect(text).not.toContain('open')
      expect(await count()).toEqual([['1']])
    },
  )

  test('20: with two credentials is 400', async () => {
    const token = await signer.sign(issuer)
    const twice = await send(given, { authorization: [`Bearer ${token}`, `Bearer ${token}`] })
    expect([twice.status, twice.text.includes('open')]).toEqual([400, false])
  })

  test('is allowed without a credential, and sets no cookie', async () => {
    const { status, headers } = await send(given)
    expect([200, 201, 204, 404]).toContain(status)
    expect(headers['set-cookie']).toBeUndefined()
  })
})
