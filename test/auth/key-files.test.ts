import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { SignJWT } from 'jose'
import { loadApplication } from '../../src/internal.js'
import { type Api, startApi } from '../support/api.js'
import { makeProject, type Project } from '../support/cli.js'

const [ISSUER, AUDIENCE] = ['https://id.example', 'https://api.example']
const YAML = `version: 1
auth:
  jwt: { issuer: ${ISSUER}, audience: ${AUDIENCE}, algorithms: [RS256, ES256], keys: ./keys }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: signed_in, may: read }] }
`

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 })
const intruder = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = ({ publicKey }: typeof rsa) => publicKey.export({ type: 'spki', format: 'pem' }).toString()
const jwk = ({ publicKey }: typeof rsa) => publicKey.export({ format: 'jwk' })
const setOf = (...keys: readonly unknown[]) => JSON.stringify({ keys })

let project: Project
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': YAML })
})
afterAll(() => project.remove())

const tokenBy = ({ privateKey }: typeof rsa, alg: string, kid?: string) =>
  new SignJWT({ sub: 'ann', exp: Math.floor(Date.now() / 1000) + 60 })
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .sign(privateKey)

describe('`auth.jwt.keys` verifies tokens by', () => {
  let api: Api | undefined
  afterEach(() => api?.close())
  const askWith = async (keys: string) => {
    await project.write('keys', keys)
    const started = await startApi(join(project.folder, 'resources.yaml'), { checkResponses: false })
    api = started
    return async (token: Promise<string>) => {
      const headers = { authorization: `Bearer ${await token}` }
      return (await started.send('GET', '/api/notes/', undefined, headers)).status
    }
  }

  test.each([
    ['a key set', setOf(jwk(rsa), jwk(ec))],
    ['public keys in PEM', `# two keys\n${pem(rsa)}\n${pem(ec)}`],
    ['a key set with the ids of some keys', setOf({ ...jwk(stranger), kid: 'other' }, jwk(rsa), jwk(ec))],
  ])('%s, whether tokens name their key or not', async (_form, text) => {
    const statusOf = await askWith(text)
    for (const kid of [undefined, 'one']) {
      expect(await statusOf(tokenBy(rsa, 'RS256', kid))).toBe(200)
      expect(await statusOf(tokenBy(ec, 'ES256', kid))).toBe(200)
      expect(await statusOf(tokenBy(intruder, 'RS256', kid))).toBe(401)
    }
  })

  test('the keys that were checked, although the file changes before the service begins', async () => {
    const keys = join(project.folder, 'keys')
    await project.write('keys', pem(rsa))
    await project.write('replacing.yaml', `${YAML}plugins: [./plugin.mjs]\n`)
    await project.write('plugin.mjs', '')
    api = await startApi(join(project.folder, 'replacing.yaml'), {
      checkResponses: false,
      plugin: () => writeFileSync(keys, pem(stranger)),
    })
    const headers = { authorization: `Bearer ${await tokenBy(rsa, 'RS256')}` }
    expect((await api.fetch('/api/notes/', { headers })).status).toBe(200)
  })

  test('the key that a token names, if the keys have ids', async () => {
    const statusOf = await askWith(setOf({ ...jwk(rsa), kid: 'a' }, { ...jwk(stranger), kid: 'b' }))
    expect(await statusOf(tokenBy(rsa, 'RS256', 'a'))).toBe(200)
    expect(await statusOf(tokenBy(rsa, 'RS256', 'b'))).toBe(401)
    expect(await statusOf(tokenBy(rsa, 'RS256', 'c'))).toBe(401)
  })
})

describe('`check` reports', () => {
  const report = async () => {
    const loaded = await loadApplication({ file: join(project.folder, 'resources.yaml'), env: {} })
    return loaded.ok ? [] : loaded.diagnostics.map(({ code, message, range }) => [code, range.start.line, message])
  }

  test.each([
    ['a file without keys', setOf(), /it has no keys$/],
    ['a file of another form', '{}', /it is neither a key set, .* nor PEM$/],
    ['text that is not JSON', 'keys', /JSON/],
    [
      'a private key in PEM',
      rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      /it has a private key/,
    ],
    ['a private key in a set', setOf(rsa.privateKey.export({ format: 'jwk' })), /it has a private key/],
    ['a shared secret', setOf({ kty: 'oct', k: 'c2VjcmV0' }), /it has a private key/],
    ['a key that is none', setOf({ kty: 'RSA', n: 5 }), /cannot be read: ./],
  ])('%s, at its line', async (_what, text, message) => {
    await project.write('keys', text)
    expect(await report()).toEqual([['SC335', 3, expect.stringMatching(message)]])
  })

  test('a missing file', async () => {
    const other = await makeProject({ 'resources.yaml': YAML })
    const loaded = await loadApplication({ file: join(other.folder, 'resources.yaml'), env: {} })
    await other.remove()
    expect(loaded).toMatchObject({
      ok: false,
      diagnostics: [
        {
          code: 'SC335',
          message: 'the keys in `keys` cannot be read: there is no such file',
          help: [expect.any(String), 'for tests, make them: snippetctl token --subject NAME'],
        },
      ],
    })
  })
})
