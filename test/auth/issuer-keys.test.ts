import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { AUDIENCE, type Issuer, makeSigner, type Signer, startIssuer } from '../support/issuer.js'
import { waitUntil } from '../support/wait-until.js'

const yamlFor = (issuer: string, more = '') => `version: 1
auth: { jwt: { issuer: "${issuer}", audience: ${AUDIENCE}, algorithms: [RS256]${more} } }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: signed_in, may: read }] }
`

let issuer: Issuer
let api: Api
let one: Signer
let two: Signer
beforeAll(async () => {
  one = await makeSigner('one')
  two = await makeSigner('two')
})
beforeEach(async () => {
  // The clock alone: sockets and timers go on.
  jest.useFakeTimers({ now: Date.now(), doNotFake: [...TIMERS] })
  issuer = await startIssuer()
  issuer.keys = [one.jwk]
  api = await startApi(yamlFor(issuer.url), { checkResponses: false })
})
afterEach(async () => {
  jest.useRealTimers()
  issuer.close()
  await api.close()
})

const TIMERS = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const

const later = (minutes: number) => jest.setSystemTime(Date.now() + minutes * 60_000)
const ask = async (token: string, service = api): Promise<number> => {
  const response = await service.fetch('/api/notes/', { headers: { authorization: `Bearer ${token}` } })
  await response.text()
  return response.status
}
const HOUR = { exp: Math.floor(Date.now() / 1000) + 3_600 }
const fetches = () => issuer.asked.filter((path) => path === '/keys').length
/** Waits until the service has fetched keys once more. */
const fetched = (before: number) => waitUntil(() => fetches() > before)

describe('8: an address of keys', () => {
  test('that redirects is not followed', async () => {
    issuer.answerKeys = (response) => void response.writeHead(302, { location: `${issuer.url}/other` }).end()
    expect(await ask(await one.sign(issuer))).toBe(503)
    expect(issuer.asked).not.toContain('/other')
  })

  test('that responds with more than 256 KiB is rejected', async () => {
    issuer.answerKeys = (response) =>
      void response.end(JSON.stringify({ keys: [one.jwk], padding: 'x'.repeat(300_000) }))
    expect(await ask(await one.sign(issuer))).toBe(503)
  })

  test('that never answers is given up after five seconds', async () => {
    issuer.answerKeys = () => {}
    const started = performance.now()
    expect(await ask(await one.sign(issuer))).toBe(503)
    expect(performance.now() - started).toBeGreaterThan(4_900)
  })

  test('without TLS on another machine is a mistake of the file', async () => {
    await expect(startApi(yamlFor(issuer.url, ', jwks: "http://id.example/keys"'))).rejects.toThrow('https')
  })

  test('without TLS that a discovery document names is not fetched', async () => {
    const other = await startIssuer()
    const service = await startApi(yamlFor(other.url), { checkResponses: false })
    try {
      Object.defineProperty(other, 'url', { value: 'http://id.example' })
      expect(await ask(await one.sign(issuer), service)).toBe(503)
      expect(other.asked).toEqual(['/.well-known/openid-configuration'])
    } finally {
      other.close()
      await service.close()
    }
  })

  test('that is away leaves the last good keys for a day', async () => {
    expect(await ask(await one.sign(issuer))).toBe(200)
    issuer.isUp = false
    later(11)
    expect(await ask(await one.sign(issuer))).toBe(200)
    later(23 * 60)
    expect(await ask(await one.sign(issuer))).toBe(200)
    later(60)
    expect(await ask(await one.sign(issuer))).toBe(503)
  })
})

test('requests have the last good keys while newer are fetched', async () => {
  expect(await ask(await one.sign(issuer))).toBe(200)
  let finish = () => {}
  issuer.answerKeys = (response) => (finish = () => void response.end(JSON.stringify({ keys: [one.jwk] })))
  later(6)
  const before = fetches()
  for (let n = 0; n < 3; n++) expect(await ask(await one.sign(issuer, { n }))).toBe(200)
  await fetched(before)
  // None of the three has waited: the server of the keys has not answered yet.
  finish()
  expect(fetches()).toBe(before + 1)
})

test('a service without requests for an hour does not wait long for a server of keys that hangs', async () => {
  expect(await ask(await one.sign(issuer))).toBe(200)
  let isGivenUp = false
  issuer.answerKeys = (response) => void response.once('close', () => (isGivenUp = true))
  later(60)
  const before = fetches()
  expect(await ask(await one.sign(issuer))).toBe(200)
  expect([fetches(), isGivenUp]).toEqual([before + 1, false])
})

describe('15: a key that its issuer has withdrawn', () => {
  test('serves no kept identity after the next fetch', async () => {
    const token = await one.sign(issuer, HOUR)
    expect(await ask(token)).toBe(200)
    issuer.keys = [two.jwk]
    later(6)
    const before = fetches()
    await ask(token)
    await fetched(before)
    expect(
      await waitUntil(
        () => ask(token),
        (status) => status !== 200,
      ),
    ).toBe(401)
    expect(await ask(await two.sign(issuer))).toBe(200)
  })

  test('serves nobody after ten minutes, also where nobody asked meanwhile', async () => {
    const token = await one.sign(issuer, HOUR)
    expect(await ask(token)).toBe(200)
    issuer.keys = [two.jwk]
    later(10)
    expect(await ask(token)).toBe(401)
  })
})

test('16: a token that expires while its identity is kept is 401 at once', async () => {
  const token = await one.sign(issuer, { exp: Math.floor(Date.now() / 1000) + 60 })
  expect(await ask(token)).toBe(200)
  jest.setSystemTime(Date.now() + 61_000)
  // A verified identity ends with its token; the tolerance for clocks applies to its next verification.
  expect(await ask(token)).toBe(200)
  jest.setSystemTime(Date.now() + 30_000)
  expect(await ask(token)).toBe(401)
})

test('a key that the issuer has replaced ends as soon if the clock was set back by a day', async () => {
  const old = await one.sign(issuer, HOUR)
  expect(await ask(old)).toBe(200)
  issuer.keys = [two.jwk]
  later(-24 * 60)
  expect(await ask(old)).toBe(200)
  const now = performance.now.bind(performance)
  const running = jest.spyOn(performance, 'now').mockImplementation(() => now() + 30_000)
  expect(await ask(await two.sign(issuer, HOUR))).toBe(200)
  expect(await ask(old)).toBe(401)
  running.mockRestore()
})

describe('18: keys that change under load', () => {
  test('reject no valid token', async () => {
    const send = (signer: Signer, count: number) =>
      Promise.all(Array.from({ length: count }, async (_, n) => ask(await signer.sign(issuer, { n }))))
    const statuses = [...(await send(one, 10))]
    issuer.keys = [one.jwk, two.jwk]
    later(1)
    const both = Promise.all([send(one, 20), send(two, 20)])
    statuses.push(...(await both).flat())
    issuer.keys = [two.jwk]
    later(6)
    statuses.push(...(await send(two, 20)))
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(fetches()).toBeLessThanOrEqual(3)
  })

  test('a new key under an old identifier is fetched, once in 30 seconds', async () => {
    expect(await ask(await one.sign(issuer))).toBe(200)
    const again = await makeSigner('one')
    issuer.keys = [again.jwk]
    expect(await ask(await again.sign(issuer))).toBe(401)
    later(0.5)
    expect(await ask(await again.sign(issuer))).toBe(200)
    const before = fetches()
    later(0.5)
    for (let n = 0; n < 10; n++) expect(await ask(await one.sign(issuer, { n }))).toBe(401)
    expect(fetches() - before).toBe(1)
  })

  test('a token that no key verifies stays 401 while the issuer is away', async () => {
    expect(await ask(await one.sign(issuer))).toBe(200)
    issuer.isUp = false
    later(0.5)
    const forger = await makeSigner('one')
    expect(await ask(await forger.sign(issuer))).toBe(401)
    expect(await ask(await two.sign(issuer))).toBe(503)
  })
})

describe('14: where a `typ` is demanded', () => {
  test('a token for another purpose, such as an ID token, is 401', async () => {
    const service = await startApi(yamlFor(issuer.url, ', typ: at+jwt'), { checkResponses: false })
    try {
      for (const typ of ['JWT', undefined, 'at', 'application/jwt'])
        expect(await ask(await one.sign(issuer, {}, { typ }), service)).toBe(401)
      for (const typ of ['at+jwt', 'application/at+jwt'])
        expect(await ask(await one.sign(issuer, {}, { typ }), service)).toBe(200)
    } finally {
      await service.close()
    }
  })
})
