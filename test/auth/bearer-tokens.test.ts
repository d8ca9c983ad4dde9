import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose'
import { type Api, startApi } from '../support/api.js'
import { AUDIENCE, type Issuer, startIssuer } from '../support/issuer.js'

const yamlFor = (issuer: string) => `version: 1
auth:
  jwt: { issuer: "${issuer}", audience: ${AUDIENCE}, algorithms: [RS256] }
  roles: { from: [realm_access, roles], names: [member] }
  claims: { tenant: { type: integer, from: [org, id] } }
  development: { ann: { roles: [member] } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      tenant: { type: integer }
      owner: { type: string, max: 300 }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: signed_in, may: read, rows: { owner: $sub } }
      - { to: signed_in, may: create, fields: [tenant], set: { owner: $sub } }
      - { to: member, may: read, rows: { tenant: $tenant } }
`

let issuer: Issuer
let api: Api
let pair: Awaited<ReturnType<typeof generateKeyPair>>
let jwk: JWK

beforeAll(async () => {
  issuer = await startIssuer()
  pair = await generateKeyPair('RS256', { extractable: true })
  jwk = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  issuer.keys = [jwk]
  api = await startApi(yamlFor(issuer.url), { checkResponses: false })
})
afterAll(async () => {
  issuer.close()
  await api.close()
})

const signed = async (
  payload: Readonly<Record<string, unknown>> = {},
  {
    header = {},
    key = pair.privateKey,
  }: { readonly header?: Readonly<Record<string, unknown>>; readonly key?: CryptoKey | Uint8Array } = {},
): Promise<string> =>
  new SignJWT({ iss: issuer.url, aud: AUDIENCE, sub: 'ann', exp: Math.floor(Date.now() / 1000) + 60, ...payload })
    .setProtectedHeader({ alg: 'RS256', kid: 'one', ...header })
    .sign(key)

const list = (token: string): Promise<Response> =>
  api.fetch('/api/notes/', { headers: { authorization: `Bearer ${token}` } })
const statusOf = async (token: string): Promise<number> => {
  const response = await list(token)
  await response.text()
  return response.status
}

/** A token whose header and signature are made by hand. */
const forged = async (header: object, signature = ''): Promise<string> => {
  const [, body] = (await signed()).split('.')
  return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${body}.${signature}`
}

describe('a valid token', () => {
  test('gives the subject, the roles and the claims, from the places that `from` names', async () => {
    const create = async (tenant: number, payload: Readonly<Record<string, unknown>>) =>
      api.send('POST', '/api/notes/', { tenant }, { authorization: `Bearer ${await signed(payload)}` })
    expect((await create(7, { sub: 'ann' })).status).toBe(201)
    expect((await create(7, { sub: 'bob' })).status).toBe(201)
    expect((await create(8, { sub: 'bob' })).status).toBe(201)
    const seen = async (payload: Readonly<Record<string, unknown>>) =>
      (await (await list(await signed(payload))).json()) as unknown[]
    expect(await seen({})).toHaveLength(1)
    expect(await seen({ sub: 'eve' })).toEqual([])
    const roles = { realm_access: { roles: ['other', 'member'] } }
    expect(await seen({ sub: 'eve', ...roles, org: { id: 7 } })).toHaveLength(2)
    expect(await seen({ sub: 'eve', realm_access: { roles: 'member other' }, org: { id: 7 } })).toHaveLength(2)
    for (const id of ['7', 7.5, [7], null, { x: 1 }, true, 2 ** 60]) {
      expect(await seen({ sub: 'eve', ...roles, org: { id } })).toEqual([])
    }
  })
})

test('`from` names members whose names have dots', async () => {
  const yaml = yamlFor(issuer.url).replace('[realm_access, roles]', '["https://app.example/roles"]')
  const service = await startApi(yaml, { checkResponses: false })
  try {
    const payload = { sub: 'eve', 'https://app.example/roles': ['member'], org: { id: 7 } }
    await service.database.query({ text: "insert into notes (tenant, owner) values (7, 'ann')", values: [] })
    const headers = { authorization: `Bearer ${await signed(payload)}` }
    expect(await (await service.fetch('/api/notes/', { headers })).json()).toHaveLength(1)
  } finally {
    await service.close()
  }
})

describe('a token that is not valid is 401', () => {
  const ATTACKS: Readonly<Record<string, () => Promise<string>>> = {
    '1: alg none': () => forged({ alg: 'none' }),
    '2: HS256 keyed with the public key': async () =>
      signed({}, { header: { alg: 'HS256' }, key: new TextEncoder().encode(await exportSPKI(pair.publicKey)) }),
    '3: an algorithm that is not listed': async () => {
      const other = await generateKeyPair('PS256')
      return signed({}, { header: { alg: 'PS256' }, key: other.privateKey })
    },
    '4: a type of key other than the algorithm': () => forged({ alg: 'ES256', kid: 'one' }, 'AAAA'),
    '5: a key id with a path': () => signed({}, { header: { kid: '../../etc/passwd' } }),
    '5: a key id with SQL': () => signed({}, { header: { kid: "one' or '1'='1" } }),
    '5: a key id of 10 kB': () => signed({}, { header: { kid: 'x'.repeat(10_000) } }),
    '6: a key in the header': async () => {
      const other = await generateKeyPair('RS256')
      return signed({}, { header: { kid: 'two', jwk: await exportJWK(other.publicKey) }, key: other.privateKey })
    },
    '6: an address of keys in the header': async () => {
      const other = await generateKeyPair('RS256')
      return signed({}, { header: { kid: 'two', jku: `${issuer.url}/jku` }, key: other.privateKey })
    },
    '6: an address of certificates in the header': async () => {
      const other = await generateKeyPair('RS256')
      return signed({}, { header: { kid: 'two', x5u: `${issuer.url}/x5u` }, key: other.privateKey })
    },
    '6: a critical extension': () => forged({ alg: 'RS256', kid: 'one', crit: ['b64'], b64: false }, 'AAAA'),
    '9: expired': () => signed({ exp: Math.floor(Date.now() / 1000) - 60 }),
    '10: not valid yet': () => signed({ nbf: Math.floor(Date.now() / 1000) + 600 }),
    '11: no expiry': () => signed({ exp: undefined }),
    '12: another audience': () => signed({ aud: 'https://other.example' }),
    '12: no audience': () => signed({ aud: undefined }),
    '13: an issuer that begins alike': () => signed({ iss: `${issuer.url}/x` }),
    '13: a list of issuers': () => signed({ iss: [issuer.url] }),
    'no subject': () => signed({ sub: undefined }),
    'an empty subject': () => signed({ sub: '' }),
    'another key': async () => signed({}, { key: (await generateKeyPair('RS256')).privateKey }),
    'a changed body': async () => {
      const [head, , signature] = (await signed()).split('.')
      const body = Buffer.from(JSON.stringify({ sub: 'root' })).toString('base64url')
      return `${head}.${body}.${signature}`
    },
    '21: 10 kB of garbage': async () => 'x'.repeat(10_000),
  }
  test.each(Object.keys(ATTACKS))('%s', async (name) => {
    const response = await list((await ATTACKS[name]?.()) ?? '')
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="API", error="invalid_token"')
    expect(await response.text()).not.toContain('eyJ')
  })

  test('6: nothing that a token names is fetched', () => {
    expect(issuer.asked.filter((path) => !['/keys', '/.well-known/openid-configuration'].includes(path))).toEqual([])
  })

  test('7: unknown keys cause no more than one fetch in 30 seconds', async () => {
    const before = issuer.asked.length
    for (let n = 0; n < 20; n++) expect(await statusOf(await signed({}, { header: { kid: `k${n}` } }))).toBe(401)
    expect(issuer.asked.length - before).toBeLessThanOrEqual(2)
  })

  test('19 and 20: a token in the query is ignored, and two credentials are 400', async () => {
    expect((await api.fetch(`/api/notes/?access_token=${await signed()}`)).status).toBe(401)
    const twice = await new Promise<number>((resolve, reject) => {
      void import('node:http').then(({ request }) =>
        request(`${api.url}/api/notes/`, { headers: { Authorization: ['Dev ann', 'Dev ann'] } }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
          .on('error', reject)
          .end(),
      )
    })
    expect(twice).toBe(400)
    expect(JSON.stringify(api.logged)).not.toContain('eyJ')
  })

  test('rejects a token that is followed by other words', async () => {
    expect(await statusOf(`${await signed()} more`)).toBe(401)
  })

  test('17: tokens that differ in one letter have no identity in common', async () => {
    const token = await signed()
    expect(await statusOf(token)).toBe(200)
    expect(await statusOf(`${token.slice(0, -2)}${token.at(-2) === 'A' ? 'B' : 'A'}${token.at(-1)}`)).toBe(401)
  })
})

describe('18: while keys change', () => {
  test('a token without a key id is tried with each key, and an invalid key set changes nothing', async () => {
    const other = await startIssuer()
    const second = await generateKeyPair('RS256', { extractable: true })
    other.keys = [
      { ...jwk, kid: 'a' },
      { ...(await exportJWK(second.publicKey)), kid: 'b', alg: 'RS256', use: 'sig' },
    ]
    const service = await startApi(yamlFor(other.url), { checkResponses: false })
    const statusWith = async (key: CryptoKey) => {
      const token = await signed({ iss: other.url }, { header: { kid: undefined }, key })
      const response = await service.fetch('/api/notes/', { headers: { authorization: `Bearer ${token}` } })
      await response.text()
      return response.status
    }
    try {
      expect(await statusWith(pair.privateKey)).toBe(200)
      expect(await statusWith(second.privateKey)).toBe(200)
      expect(await statusWith((await generateKeyPair('RS256')).privateKey)).toBe(401)
      other.keys = ['x' as unknown as JWK]
      expect(await statusWith(pair.privateKey)).toBe(200)
    } finally {
      other.close()
      await service.close()
    }
  })
})

describe('the server of the keys', () => {
  test('8: away from the start, it is 503 with Retry-After', async () => {
    const other = await startIssuer()
    other.isUp = false
    const service = await startApi(yamlFor(other.url), { checkResponses: false })
    try {
      const response = await service.fetch('/api/notes/', { headers: { authorization: `Bearer ${await signed()}` } })
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('30')
      await response.text()
    } finally {
      other.close()
      await service.close()
    }
  })
})

describe('25: `Dev`', () => {
  test.each([
    ['x-forwarded-for', '203.0.113.7'],
    ['forwarded', 'for=203.0.113.7'],
    ['x-real-ip', '203.0.113.7'],
    ['x-forwarded-host', 'api.example'],
    ['x-forwarded-proto', 'https'],
    ['via', '1.1 proxy'],
  ])('does not exist behind a proxy on the same machine that sends %s', async (name, value) => {
    const headers = { authorization: 'Dev ann', [name]: value }
    const response = await api.fetch('/api/notes/', { headers })
    expect(response.status).toBe(401)
    await response.text()
  })

  const [address] = Object.values(networkInterfaces())
    .flat()
    .filter((each) => each?.internal === false && each.family === 'IPv4')
  ;(address ? test : test.skip)('does not exist for callers from other machines', async () => {
    const service = await startApi(yamlFor(issuer.url), { checkResponses: false, host: '0.0.0.0' })
    try {
      const { port } = new URL(service.url)
      const statusAt = async (host: string) => {
        const headers = { authorization: 'Dev ann' }
        return (await fetch(`http://${host}:${port}/api/notes/`, { headers })).status
      }
      expect([await statusAt('127.0.0.1'), await statusAt(address?.address ?? '')]).toEqual([200, 401])
    } finally {
      await service.close()
    }
  })

  test('does not exist in production', async () => {
    const service = await startApi(yamlFor(issuer.url), { checkResponses: false, env: { NODE_ENV: 'production' } })
    try {
      const response = await service.fetch('/api/notes/', { headers: { authorization: 'Dev ann' } })
      expect(response.status).toBe(401)
      await response.text()
    } finally {
      await service.close()
    }
  })
})
