import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { mistakesOf } from '../support/config.js'
import { talk } from '../support/wire.js'

const yamlFor = (from: string) => `version: 1
auth:
  proxy: { from: [${from}], subject: X-Auth-User, roles: X-Auth-Roles }
  roles: { names: [member, admin] }
  claims: { tenant: { type: integer } }
  development: { ann: { roles: [member] } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 300 }
      tenant: { type: integer, nullable: true }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: anyone, may: retrieve }
      - { to: member, may: [list, create], rows: { owner: $sub }, fields: [id], set: { owner: $sub } }
      - { to: admin, may: list, rows: { tenant: $tenant } }
`

const apis: Api[] = []
afterAll(async () => {
  for (const api of apis) await api.close()
})
const start = async (from: string): Promise<Api> => {
  const api = await startApi(yamlFor(from), { checkResponses: false })
  apis.push(api)
  return api
}

describe('a proxy from a named address', () => {
  let api: Api
  beforeAll(async () => {
    api = await start('"127.0.0.0/8"')
  })
  const list = (headers: Readonly<Record<string, string>>) => api.fetch('/api/notes/', { headers })
  const statusOf = async (headers: Readonly<Record<string, string>>) => (await list(headers)).status

  test('signs in the subject with the declared roles', async () => {
    const ann = { 'x-auth-user': 'ann', 'x-auth-roles': 'other,member' }
    expect((await api.send('POST', '/api/notes/', {}, ann)).status).toBe(201)
    expect(await (await list(ann)).json()).toEqual([{ id: 1 }])
    expect(await (await list({ ...ann, 'x-auth-user': 'bob' })).json()).toEqual([])
    expect(await statusOf({ 'x-auth-user': 'ann' })).toBe(403)
  })

  test('reads subjects as UTF-8', async () => {
    const zoe = { 'x-auth-user': Buffer.from('Zoë').toString('latin1'), 'x-auth-roles': 'member' }
    expect((await api.send('POST', '/api/notes/', {}, zoe)).status).toBe(201)
    const { rows } = await api.database.query({ text: "select id::text from notes where owner = 'Zoë'", values: [] })
    expect(rows).toHaveLength(1)
    expect(await statusOf({ 'x-auth-user': 'Zo\u00eb' })).toBe(401)
  })

  test('that names nobody leaves the caller unknown, whatever the roles', async () => {
    expect(await statusOf({ 'x-auth-roles': 'member' })).toBe(401)
    expect(await statusOf({ 'x-auth-user': '', 'x-auth-roles': 'member' })).toBe(401)
  })

  test('has no claims, so conditions on them do not hold', async () => {
    expect(await (await list({ 'x-auth-user': 'root', 'x-auth-roles': 'admin' })).json()).toEqual([])
  })

  test('22: a repeated header is 400, and so is a second credential', async () => {
    const ask = async (...lines: readonly string[]) => {
      const head = ['GET /api/notes/ HTTP/1.1', `host: ${new URL(api.url).host}`, ...lines, 'connection: close', '', '']
      return (await talk(api.url, head.join('\r\n'))).answers.map(({ status }) => status)
    }
    expect(await ask('x-auth-user: ann', 'x-auth-user: root')).toEqual([400])
    expect(await ask('x-auth-user: ann', 'x-auth-roles: member', 'x-auth-roles: admin')).toEqual([400])
    expect(await ask('x-auth-user: ann', 'authorization: Dev ann')).toEqual([400])
  })
})

describe('22: the headers of a proxy from elsewhere are 401, also where anybody may ask', () => {
  test.each([
    ['from another address', {}],
    ['with the address of the proxy in X-Forwarded-For', { 'x-forwarded-for': '10.0.0.1' }],
    ['with the address of the proxy in Forwarded', { forwarded: 'for=10.0.0.1' }],
  ])('%s', async (_what, forwarded) => {
    const api = apis[1] ?? (await start('10.0.0.0/8'))
    for (const path of ['/api/notes/', '/api/notes/1/'])
      for (const claim of [{ 'x-auth-user': 'root' }, { 'x-auth-roles': 'admin' }]) {
        const headers: Record<string, string> = { ...claim, ...forwarded }
        expect((await api.fetch(path, { headers })).status).toBe(401)
      }
    expect((await api.fetch('/api/notes/1/')).status).toBe(404)
  })
})

test.each(['10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8.5', '10.0.0.0/8/9', '10.0.0.0/0x8', '10.0.0.0/ 8', '10.0.0.0/08'])(
  '%j is not a range of addresses',
  (range) => {
    expect(mistakesOf(yamlFor(JSON.stringify(range)))).toEqual(['3:19 SC206'])
  },
)

test.each(['10.0.0.0/0', '::/0', '::1/128', '127.0.0.1'])('%j is a range of addresses', (range) => {
  expect(mistakesOf(yamlFor(JSON.stringify(range)))).toEqual([])
})
