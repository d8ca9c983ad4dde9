import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'

const CONFIG = `
version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      extra: { type: json, nullable: true }
      pages: { type: integer, default: 1 }
resources:
  book: { model: book, path: /books/, url: true }
  draft: { model: book, path: /drafts/, concurrency: required }
  panel: { model: book, path: /panel/, dialect: simple-rest, pagination: { count: exact } }
`

let api: Api
let id: number
let tag: string

beforeAll(async () => {
  api = await startApi(CONFIG)
})
afterAll(() => api.close())
beforeEach(async () => {
  const made = await api.send('POST', '/api/books/', { title: 'Ünïcode 😀', extra: { n: 1.0 } })
  ;({ id } = (await made.json()) as { id: number })
  tag = tagOf(made)
})

const tagOf = (answer: Response) => answer.headers.get('etag') ?? 'none'
const read = (headers: Record<string, string> = {}) => api.fetch(`/api/books/${id}/`, { headers })
const titleOf = async () => ((await (await read()).json()) as { title: string }).title
const typeOf = async (answer: Response) => ((await answer.json()) as { type: string }).type

describe('entity tags (promise 19)', () => {
  test('are the same in every response with the record, and differ for other records', async () => {
    expect(tag).toMatch(/^"[A-Za-z0-9_-]{43}"$/)
    expect(tagOf(await read())).toBe(tag)
    const put = await api.send('PUT', `/api/books/${id}/`, { title: 'New', extra: null, pages: 2 })
    expect(tagOf(put)).not.toBe(tag)
    expect(tagOf(put)).toBe(tagOf(await read()))
    const patched = await api.send('PATCH', `/api/books/${id}/`, { pages: 3 })
    expect(tagOf(patched)).not.toBe(tagOf(put))
    expect(tagOf(patched)).toBe(tagOf(await read()))
  })

  test.each([
    ['the tag', () => tag, 304],
    ['its weak form', () => `W/${tag}`, 304],
    ['one of several', () => `"a,b", , ${tag}`, 304],
    ['any', () => '*', 304],
    ['another', () => '"other"', 200],
    ['an invalid tag', () => tag.slice(1), 200],
    ['many other tags', () => Array(1000).fill('"abcdefg"').join(), 200],
  ])('%s in If-None-Match gets the correct response', async (_, value, status) => {
    const answer = await read({ 'if-none-match': value() })
    expect(answer.status).toBe(status)
    expect(tagOf(answer)).toBe(tag)
    expect(answer.headers.get('content-type')).toBe(status === 304 ? null : 'application/json')
    expect((await answer.text()).length > 0).toBe(status === 200)
  })
})

describe('If-Match of a GET', () => {
  test.each([
    ['the tag', () => tag, 200],
    ['any', () => '*', 200],
    ['one of several', () => `"x", ${tag}`, 200],
    ['another', () => `"${'A'.repeat(43)}"`, 412],
    ['its weak form', () => `W/${tag}`, 412],
    ['an invalid tag', () => tag.slice(1), 400],
  ])('with %s gets the correct response', async (_, value, status) => {
    const answer = await read({ 'if-match': value() })
    expect(answer.status).toBe(status)
    expect(tagOf(answer)).toBe(status === 200 ? tag : 'none')
    const head = await api.fetch(`/api/books/${id}/`, { method: 'HEAD', headers: { 'if-match': value() } })
    expect(head.status).toBe(status)
  })

  test('is evaluated before If-None-Match, and not for a missing record', async () => {
    const other = `"${'A'.repeat(43)}"`
    expect((await read({ 'if-match': other, 'if-none-match': tag })).status).toBe(412)
    expect((await read({ 'if-match': tag, 'if-none-match': tag })).status).toBe(304)
    expect((await api.fetch('/api/books/999999/', { headers: { 'if-match': '"x"' } })).status).toBe(404)
  })
})

const CHANGES: readonly (readonly [string, unknown])[] = [
  ['PUT', { title: 'New', extra: null, pages: 2 }],
  ['PATCH', { title: 'New' }],
  ['PATCH', { extra: { n: { deep: 1 } } }],
  ['PATCH', {}],
  ['DELETE', undefined],
]

describe.each(CHANGES)('%s %j', (method, body) => {
  const change = (headers: Record<string, string>, path = `/api/books/${id}/`) => api.send(method, path, body, headers)

  test.each([
    ['If-Match with another tag', { 'if-match': `"${'A'.repeat(43)}"` }],
    ['If-Match with a tag that the server never sends', { 'if-match': '"1"' }],
    ['If-None-Match with `*`', { 'if-none-match': '*' }],
  ])('is rejected for %s, and changes nothing', async (_, headers) => {
    const answer = await change(headers)
    expect(answer.status).toBe(412)
    expect(await typeOf(answer)).toBe('/problems/precondition-failed')
    expect(tagOf(await read())).toBe(tag)
  })

  test('is rejected for a tag that differs only in the bits that base64 ignores', async () => {
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = tag.slice(-2, -1)
    const near = `${tag.slice(0, -2)}${characters[characters.indexOf(last) + 1]}"`
    expect((await change({ 'if-match': near })).status).toBe(412)
    expect(tagOf(await read())).toBe(tag)
  })

  test('is rejected for a weak tag, and for If-None-Match with the current tag', async () => {
    const rejection = async (headers: Record<string, string>) => {
      const response = await change(headers)
      return [response.status, ((await response.json()) as { readonly detail: string }).detail]
    }
    expect(await rejection({ 'if-match': `W/${tag}` })).toEqual([
      412,
      'the record has changed since the version in If-Match',
    ])
    expect(await rejection({ 'if-none-match': tag })).toEqual([412, expect.stringMatching(/^If-None-Match lists/)])
    const both = { 'if-match': tag, 'if-none-match': `"x", ${tag}` }
    expect(await rejection(both)).toEqual([412, expect.stringContaining('both If-Match and If-None-Match')])
    expect(tagOf(await read())).toBe(tag)
  })

  test('is accepted if one of several tags matches', async () => {
    expect((await change({ 'if-match': `"x", ${tag}` })).ok).toBe(true)
  })

  test('is accepted for `If-Match: *`, and for If-None-Match with another tag', async () => {
    expect((await change({ 'if-match': '*', 'if-none-match': '"x"' })).ok).toBe(true)
  })

  test('is 404 for a missing record, whatever the condition', async () => {
    expect((await change({ 'if-match': tag }, '/api/books/9999/')).status).toBe(404)
    expect((await change({ 'if-match': '*' }, '/api/books/9999/')).status).toBe(404)
  })

  test.each(['5', ',', ' , ,', '"a" "b"', '"a", b'])('is rejected for the malformed header %j', async (header) => {
    const answer = await change({ 'if-match': header })
    expect(answer.status).toBe(400)
    expect(await typeOf(answer)).toBe('/problems/malformed-request')
  })

  test('requires a version if the resource says so', async () => {
    const path = `/api/drafts/${id}/`
    const rejected = await change({}, path)
    expect(rejected.status).toBe(428)
    expect(await typeOf(rejected)).toBe('/problems/precondition-required')
    expect((await change({ 'if-match': tagOf(await api.fetch(path)) }, path)).ok).toBe(true)
  })
})

test('a dialect in which DELETE returns the record checks the version, too', async () => {
  const path = `/api/panel/${id}/`
  const known = tagOf(await api.fetch(path))
  expect((await api.send('DELETE', path, undefined, { 'if-match': '"x"' })).status).toBe(412)
  expect((await api.send('DELETE', path, undefined, { 'if-match': known })).status).toBe(200)
  expect((await api.send('DELETE', path, undefined, { 'if-match': known })).status).toBe(404)
})

test('exactly one of many concurrent changes of one version succeeds', async () => {
  for (let round = 0; round < 5; round++) {
    const known = tagOf(await read())
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        api.send('PATCH', `/api/books/${id}/`, { title: `${round}.${index}` }, { 'if-match': known }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 412)).toHaveLength(9)
    expect(await titleOf()).toBe(`${round}.${statuses.indexOf(200)}`)
  }
})
