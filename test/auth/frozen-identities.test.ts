import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { AUDIENCE, type Issuer, startIssuer } from '../support/issuer.js'

const yamlFor = (issuer: string) => `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth:
  jwt: { issuer: "${issuer}", audience: ${AUDIENCE}, algorithms: [RS256] }
  roles: { from: [roles], names: [member, admin] }
  claims: { tenant: { type: integer }, teams: { type: string } }
  routes: { change: signed_in, who: signed_in }
  development: { ann: { roles: [member], claims: { tenant: 1, teams: [a] } } }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: signed_in, may: read }] }
`
const plugin: Plugin = (app) => {
  app.route('GET', '/change/', 'change', ({ identity }) => {
    const { roles, claims } = identity as unknown as { roles: string[]; claims: { tenant: number; teams: string[] } }
    const changes = [
      () => roles.push('admin'),
      () => claims.teams.push('b'),
      () => (claims.tenant = 2),
      () => Object.assign(identity ?? {}, { subject: 'root' }),
    ]
    const rejected = changes.filter((change) => {
      try {
        change()
      } catch (error) {
        return error instanceof TypeError
      }
      return false
    })
    return { status: 200, body: rejected.length }
  })
  app.route('GET', '/who/', 'who', ({ identity }) => ({
    status: 200,
    body: { ...identity, roles: identity?.roles, claims: identity?.claims },
  }))
}

let issuer: Issuer
let api: Api
let token: string
beforeAll(async () => {
  issuer = await startIssuer()
  const pair = await generateKeyPair('RS256', { extractable: true })
  issuer.keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }]
  const exp = Math.floor(Date.now() / 1000) + 60
  const payload = { iss: issuer.url, aud: AUDIENCE, sub: 'ann', exp, roles: ['member'], tenant: 1, teams: ['a'] }
  token = await new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(pair.privateKey)
  api = await startApi(yamlFor(issuer.url), { plugin })
})
afterAll(async () => {
  issuer.close()
  await api.close()
})

// Later requests with the credential have the same identity.
test.each([
  { method: 'development', credential: () => 'Dev ann' },
  { method: 'jwt', credential: () => `Bearer ${token}` },
])('a handler cannot change the identity of its caller: $method', async ({ method, credential }) => {
  const get = async (path: string) => (await api.fetch(path, { headers: { authorization: credential() } })).json()
  expect(await get('/change/')).toBe(4)
  expect(await get('/who/')).toEqual({ subject: 'ann', roles: ['member'], claims: { tenant: 1, teams: ['a'] }, method })
})
