import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { type Api, startApi } from '../support/api.js'
import { makeSigner, startIssuer } from '../support/issuer.js'
import { hasNginx, startNginx } from '../support/nginx.js'

const textOf = (name: string) => readFileSync(`deploy/sign-in/${name}`, 'utf8')
const PAGE = readFileSync('docs/access.md', 'utf8')

const yamlFor = (auth: string) => `version: 1
auth:
  ${auth}
  roles: { names: [member, admin] }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, owner: { type: string, max: 255 } } }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: signed_in, may: [read, create], rows: { owner: $sub }, set: { owner: $sub } }
      - { to: admin, may: read }
`

const createNote = (url: string, headers: Readonly<Record<string, string>>) =>
  fetch(`${url}/api/notes/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  })

describe('the identity provider of deploy/sign-in', () => {
  const dex = parse(textOf('dex.yaml')) as {
    readonly issuer: string
    readonly staticClients: readonly { id: string; secret: string }[]
  }
  const [client] = dex.staticClients

  test('has the issuer and the audience of the page, on a port for this machine alone', () => {
    const [, jwt] = /`(jwt: \{ issuer: [^`]*5556[^`]*)`/.exec(PAGE) ?? []
    expect(parse(jwt ?? '')).toEqual({ jwt: { issuer: dex.issuer, audience: client?.id, algorithms: ['RS256'] } })
    const { services } = parse(textOf('compose.yaml')) as {
      readonly services: { readonly dex: { readonly ports: unknown } }
    }
    expect(services.dex.ports).toEqual([`127.0.0.1:${new URL(dex.issuer).port}:5556`])
    expect(PAGE).toContain(`-u ${client?.id}:${client?.secret}`)
    expect(PAGE).toContain(`${dex.issuer}/token`)
  })

  test('signs tokens that the service accepts, and for its own client alone', async () => {
    const issuer = await startIssuer()
    const signer = await makeSigner('dex')
    issuer.keys = [signer.jwk]
    const jwt = `jwt: { issuer: "${issuer.url}", audience: ${client?.id}, algorithms: [RS256] }`
    const api = await startApi(yamlFor(jwt), { checkResponses: false })
    try {
      // The members of Dex's tokens.
      const claims = {
        aud: client?.id,
        sub: 'CgNhbm4SBWxvY2Fs',
        email: 'ann@example.com',
        email_verified: true,
        name: 'ann',
      }
      const ask = async (payload: object) =>
        createNote(api.url, { authorization: `Bearer ${await signer.sign(issuer, { ...payload })}` })
      const made = await ask(claims)
      expect([made.status, await made.json()]).toEqual([201, { id: 1, owner: claims.sub }])
      expect((await ask({ ...claims, aud: 'another' })).status).toBe(401)
    } finally {
      await api.close()
      issuer.close()
    }
  })
})

;(hasNginx ? describe : describe.skip)('the proxy of deploy/sign-in', () => {
  const basic = (name: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:correct horse`).toString('base64')}`,
  })

  test('signs callers in with their roles, whatever headers they send', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sign-in-'))
    const site = textOf('nginx.conf')
    const [, proxy] = /^# +(proxy: .*)$/m.exec(site) ?? []
    const api: Api = await startApi(yamlFor(proxy ?? ''), { checkResponses: false })
    writeFileSync(join(folder, 'users'), 'ann:{PLAIN}correct horse\nroot:{PLAIN}correct horse\n')
    const nginx = await startNginx(
      folder,
      site.replace('/etc/nginx/users', join(folder, 'users')).replace('127.0.0.1:8000', new URL(api.url).host),
    )
    try {
      const list = async (headers: Readonly<Record<string, string>>) => {
        const response = await fetch(`${nginx.url}/api/notes/`, { headers })
        return [response.status, response.status === 200 ? await response.json() : await response.text()]
      }
      const forged = { 'x-auth-user': 'root', 'x-auth-roles': 'admin' }
      const made = await createNote(nginx.url, { ...basic('ann'), ...forged })
      expect([made.status, await made.json()]).toEqual([201, { id: 1, owner: 'ann' }])
      await (await createNote(nginx.url, basic('root'))).text()
      expect(await list({ ...basic('ann'), ...forged })).toEqual([200, [{ id: 1, owner: 'ann' }]])
      expect(await list(basic('root'))).toEqual([
        200,
        [expect.objectContaining({ owner: 'ann' }), expect.objectContaining({ owner: 'root' })],
      ])
      expect(await list(forged)).toEqual([401, expect.any(String)])
    } finally {
      await nginx.stop()
      await api.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
