import { expect } from '@jest/globals'

/** A response, however it was received. Header names are lower-case. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Text that no client may ever see: SQL, PostgreSQL's messages, stacks, our file names, database URLs. */
const LEAKS =
  /select |insert into|relation "|constraint|SQLSTATE|node_modules|\.[cm]?[jt]s:\d+|at \w+ \(|postgres:\/\/|ECONN|stack/i

const FORBIDDEN_HEADERS = ['server', 'x-powered-by', 'access-control-allow-origin']
const JSON_TYPES = ['application/json', 'application/problem+json']

/** Expects output without internals and without the given private values. */
export function expectNoLeak(text: string, canaries: readonly string[] = []): void {
  expect(text).not.toMatch(LEAKS)
  for (const canary of canaries) expect(text).not.toContain(canary)
}

/** Expects a sound response: no leak, the security headers, a request ID, and JSON for every error. */
export function expectSound(answer: Answer, canaries: readonly string[] = []): void {
  const { status, headers, body } = answer
  expectNoLeak(`${JSON.stringify(headers)}\n${body}`, canaries)
  for (const name of FORBIDDEN_HEADERS) expect(headers).not.toHaveProperty(name)
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'cross-origin-resource-policy': 'same-origin',
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{8,64}$/),
  })
  if (status < 400 || body === '') return
  expect(JSON_TYPES).toContain(headers['content-type'])
  expect(JSON.parse(body)).toEqual(expect.any(Object))
}

/** Fails if an earlier request has polluted a prototype. */
export function expectCleanPrototype(): void {
  const names: string[] = []
  for (const name in {}) names.push(name)
  expect(names).toEqual([])
}
