import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'

const PATH = '/api/snippets/'
const VALID = { title: 'Hello', code: 'x = "<b>"', language: 'python' }
const HIGHLIGHTED = 'x = <span class="hljs-string">&quot;&lt;b&gt;&quot;</span>'
const NOT_FOUND = '{"error":"Snippet not found"}'

const BETWEEN = {
  title: 'Title must be between 1 and 100 characters',
  code: 'Code must be between 1 and 10000 characters',
  language: 'Language must be between 1 and 50 characters',
}

let api: Api
beforeAll(async () => {
  api = await startApi(SNIPPETS_FILE)
})
afterAll(() => api.close())
beforeEach(() => api.database.query({ text: 'delete from snippets', values: [] }))

interface Snippet {
  readonly id: number
  readonly title: string
  readonly code: string
  readonly language: string
  readonly highlighted: string
}

/** Every answer with a body is exactly application/json, errors of any kind included. */
const ask = async (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const response = await (body === undefined
    ? api.fetch(path, { method, headers })
    : api.send(method, path, body, headers))
  const text = await response.text()
  expect(response.headers.get('content-type')).toBe(text === '' ? null : 'application/json')
  return { status: response.status, text, json: text === '' ? undefined : JSON.parse(text), headers: response.headers }
}

const create = async (fields: Partial<typeof VALID> = {}): Promise<Snippet> => {
  const { status, json } = await ask('POST', PATH, { ...VALID, ...fields })
  expect(status).toBe(201)
  return json.snippet
}

const list = async (): Promise<Snippet[]> => (await ask('GET', PATH)).json.snippets

const fill = (rows: number) =>
  api.database.query({
    text: `insert into snippets (title, code, language) select 't' || n, 'x = 1', 'python' from generate_series(1, ${rows}) n`,
    values: [],
  })

/** Invalid bodies of a snippet, with the expected messages of their fields. */
const INVALID: readonly (readonly [name: string, body: unknown, errors: Readonly<Record<string, string>>])[] = [
  ['an empty object', {}, { title: 'Title is required', code: 'Code is required', language: 'Language is required' }],
  ['an empty title', { ...VALID, title: '' }, { title: BETWEEN.title }],
  ['a title of 101 characters', { ...VALID, title: 'x'.repeat(101) }, { title: BETWEEN.title }],
  ['a title of 101 emoji', { ...VALID, title: '😀'.repeat(101) }, { title: BETWEEN.title }],
  ['an empty code', { ...VALID, code: '' }, { code: BETWEEN.code }],
  ['a code of 10001 characters', { ...VALID, code: 'x'.repeat(10_001) }, { code: BETWEEN.code }],
  ['an empty language', { ...VALID, language: '' }, { language: BETWEEN.language }],
  ['a language of 51 characters', { ...VALID, language: 'x'.repeat(51) }, { language: BETWEEN.language }],
  ['all fields empty', { title: '', code: '', language: '' }, BETWEEN],
  ['a number as title', { ...VALID, title: 1 }, { title: 'Title must be a string' }],
  ['null as title', { ...VALID, title: null }, { title: 'Title must be a string' }],
]

const BYTES = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, 'latin1'))

/** Bodies that do not parse into an object. */
const UNREADABLE: readonly (readonly [name: string, body: Uint8Array<ArrayBuffer>, type: string])[] = [
  ['malformed JSON', BYTES('{"title": '), 'application/json'],
  ['an empty body', BYTES(''), 'application/json'],
  ['a list', BYTES('[]'), 'application/json'],
  ['null', BYTES('null'), 'application/json'],
  ['invalid UTF-8', BYTES('{"title":"\xff","code":"c","language":"l"}'), 'application/json'],
  ['a repeated key', BYTES('{"title":"a","title":"b","code":"c","language":"l"}'), 'application/json'],
  ['text/plain', BYTES(JSON.stringify(VALID)), 'text/plain'],
  ['form data', BYTES('title=a&code=b&language=c'), 'application/x-www-form-urlencoded'],
  ['another charset', BYTES(JSON.stringify(VALID)), 'application/json; charset=latin1'],
]

describe('snippets-list', () => {
  test('returns an empty array without snippets', async () => {
    expect(await ask('GET', PATH)).toMatchObject({ status: 200, text: '{"snippets":[]}' })
  })

  test('returns all of them in the order of their ids, with exactly the five fields', async () => {
    const first = await create({ title: 'b' })
    const second = await create({ title: 'a', language: 'klingon' })
    expect(await list()).toEqual([first, second])
    expect(Object.keys((await list())[0] ?? {})).toEqual(['id', 'title', 'code', 'language', 'highlighted'])
  })

  test('returns more than one batch', async () => {
    await fill(1_203)
    const titles = (await list()).map(({ title }) => title)
    expect(titles).toEqual(Array.from({ length: 1_203 }, (_, index) => `t${index + 1}`))
  })

  test('does not block other requests', async () => {
    await fill(3_000)
    const order: string[] = []
    const all = ask('GET', PATH).then(() => order.push('list'))
    await ask('GET', `${PATH}config/`).then(() => order.push('config'))
    await all
    expect(order).toEqual(['config', 'list'])
  })
})

describe('snippets-create', () => {
  test('returns 201 with the message and the stored snippet', async () => {
    const { status, json } = await ask('POST', PATH, VALID)
    expect(status).toBe(201)
    expect(json).toEqual({
      message: 'Snippet created',
      snippet: { id: expect.any(Number), ...VALID, highlighted: HIGHLIGHTED },
    })
    expect((await ask('GET', `${PATH}${json.snippet.id}/`)).json).toEqual({ snippet: json.snippet })
  })

  test.each(INVALID)('rejects %s with 400 and each message, and stores nothing', async (_name, body, errors) => {
    const { status, json } = await ask('POST', PATH, body)
    expect(status).toBe(400)
    expect(json).toEqual({ error: Object.values(errors).join('; '), errors })
    expect(await list()).toEqual([])
  })

  test.each(UNREADABLE)('rejects %s with 400 and stores nothing', async (_name, body, type) => {
    const response = await api.fetch(PATH, { method: 'POST', body, headers: { 'content-type': type } })
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual({ error: expect.stringMatching(/./) })
    expect(await list()).toEqual([])
  })

  test('parses a body without a media type as JSON', async () => {
    const response = await api.fetch(PATH, { method: 'POST', body: BYTES(JSON.stringify(VALID)) })
    expect(response.status).toBe(201)
  })

  test('ignores server-set fields', async () => {
    const { id } = await create()
    const body = { ...VALID, id: 7, created_at: 'x', highlighted: '<script>' }
    const { status, json } = await ask('POST', PATH, body)
    expect([status, json.snippet]).toEqual([201, { id: id + 1, ...VALID, highlighted: HIGHLIGHTED }])
  })

  test('rejects any other field', async () => {
    const { status, json } = await ask('POST', PATH, { ...VALID, admin: true })
    expect(status).toBe(400)
    expect(json.errors).toEqual({ admin: expect.stringContaining('admin') })
    expect(json.error).toBe(json.errors.admin)
  })

  test.each([
    ['the longest values', { title: 'x'.repeat(100), code: 'y'.repeat(10_000), language: 'z'.repeat(50) }],
    ['the longest values in emoji', { title: '😀'.repeat(100), code: '😀'.repeat(10_000), language: '😀'.repeat(50) }],
    ['spaces', { title: ' ', code: '\n', language: ' ' }],
    ['names of prototype members', { title: '__proto__', code: 'constructor', language: '__proto__' }],
    ['SQL', { title: "'; drop table snippets;--", code: "'", language: '"' }],
  ])('stores %s unchanged', async (_name, fields) => {
    expect(await create(fields)).toMatchObject(fields)
    expect(await list()).toMatchObject([fields])
  })

  test('never returns HTML of the client', async () => {
    const code = '</span><script>alert(1)</script>'
    for (const language of ['html', 'javascript', 'klingon']) {
      const { highlighted } = await create({ code, language })
      expect(highlighted).not.toContain('<script')
      expect(highlighted.replace(/<span class="[\w .-]+">|<\/span>/g, '')).toBe(
        '&lt;/span&gt;&lt;script&gt;alert(1)&lt;/script&gt;',
      )
    }
  })

  test('rejects a body longer than any snippet with 413', async () => {
    const { status, json } = await ask('POST', PATH, { ...VALID, code: 'x'.repeat(1_100_000) })
    expect([status, json]).toEqual([413, { error: expect.stringMatching(/bytes/) }])
  })
})

describe('snippets-config', () => {
  test('returns the maximum page size, and is not matched as an id', async () => {
    expect(await ask('GET', `${PATH}config/`)).toMatchObject({ status: 200, text: '{"max_page_size":50}' })
    expect(await ask('GET', `${PATH}config`)).toMatchObject({ status: 200, text: '{"max_page_size":50}' })
  })

  test.each([
    ['0', 503, '{"error":"max_page_size must be positive"}'],
    ['1', 200, '{"max_page_size":1}'],
  ])('responds to a maximum of %s with %d', async (value, status, text) => {
    const env = { SNIPPETCTL_SETTING_MAX_PAGE_SIZE: value }
    const configured = await startApi(SNIPPETS_FILE, { database: api.database, env })
    const response = await configured.fetch(`${PATH}config/`)
    expect([response.status, await response.text()]).toEqual([status, text])
    expect(response.headers.get('content-type')).toBe('application/json')
    await configured.close()
  })

  test.each(['-1', '1.5', '"50"', 'many'])('does not start with a maximum of %s', async (value) => {
    const env = { SNIPPETCTL_SETTING_MAX_PAGE_SIZE: value }
    const started = startApi(SNIPPETS_FILE, { database: api.database, env })
    // The environment may have secrets.
    await expect(started).rejects.toThrow(
      /SC352.*the environment variable SNIPPETCTL_SETTING_MAX_PAGE_SIZE does not fit: it must/,
    )
  })
})

/** Ids that no snippet has, and texts that are no ids. */
const NOBODY = ['999999', 'abc', '1.0', '01', '+1', '-0', '0', '%201', '1e3', '0x1', '9223372036854775808', 'null']

describe('snippets-retrieve', () => {
  test('returns the snippet', async () => {
    const snippet = await create()
    expect(await ask('GET', `${PATH}${snippet.id}/`)).toMatchObject({ status: 200, json: { snippet } })
  })

  test.each(NOBODY)('returns 404 for %s', async (id) => {
    await create()
    expect(await ask('GET', `${PATH}${id}/`)).toMatchObject({ status: 404, text: NOT_FOUND })
  })

  test('returns an id above 2^53 with its exact digits', async () => {
    await api.database.query({
      text: `insert into snippets (id, title, code, language) overriding system value values (9007199254740993, 't', 'c', 'l')`,
      values: [],
    })
    const text = '{"id":9007199254740993,"title":"t","code":"c","language":"l","highlighted":"c"}'
    expect((await ask('GET', `${PATH}9007199254740993/`)).text).toBe(`{"snippet":${text}}`)
    expect((await ask('GET', PATH)).text).toBe(`{"snippets":[${text}]}`)
  })
})

describe('snippets-update', () => {
  const changed = { title: 'New', code: 'if (a) {}', language: 'js' }

  test('overwrites title, code and language and returns the result', async () => {
    const { id } = await create()
    const other = await create()
    const { status, json } = await ask('PUT', `${PATH}${id}/`, changed)
    expect(status).toBe(200)
    expect(json).toEqual({
      message: 'Snippet updated',
      snippet: { id, ...changed, highlighted: '<span class="hljs-keyword">if</span> (a) {}' },
    })
    expect(await list()).toEqual([json.snippet, other])
  })

  test.each(INVALID)('rejects %s with 422 and changes nothing', async (_name, body, errors) => {
    const snippet = await create()
    const { status, json } = await ask('PUT', `${PATH}${snippet.id}/`, body)
    expect(status).toBe(422)
    expect(json).toEqual({ error: Object.values(errors).join('; '), errors })
    expect(await list()).toEqual([snippet])
  })

  test.each(UNREADABLE)('rejects %s with 422, whatever the id', async (_name, body, type) => {
    const { id } = await create()
    for (const target of [id, 999_999, 'abc']) {
      const response = await api.fetch(`${PATH}${target}/`, { method: 'PUT', body, headers: { 'content-type': type } })
      expect(response.status).toBe(422)
      expect(await response.json()).toEqual({ error: expect.stringMatching(/./) })
    }
  })

  test.each(NOBODY)('validates the body before it looks for %s', async (id) => {
    expect((await ask('PUT', `${PATH}${id}/`, {})).status).toBe(422)
    expect(await ask('PUT', `${PATH}${id}/`, VALID)).toMatchObject({ status: 404, text: NOT_FOUND })
  })
})

describe('snippets-delete', () => {
  test('deletes the snippet with 204 and no body', async () => {
    const { id } = await create()
    const other = await create()
    expect(await ask('DELETE', `${PATH}${id}/`)).toMatchObject({ status: 204, text: '' })
    expect(await ask('DELETE', `${PATH}${id}/`)).toMatchObject({ status: 404, text: NOT_FOUND })
    expect(await list()).toEqual([other])
  })

  test.each(NOBODY)('returns 404 for %s', async (id) => {
    expect(await ask('DELETE', `${PATH}${id}/`)).toMatchObject({ status: 404, text: NOT_FOUND })
  })
})

describe('errors', () => {
  test.each([
    ['PATCH', PATH, 405],
    ['DELETE', PATH, 405],
    ['POST', `${PATH}1/`, 405],
    ['POST', `${PATH}config/`, 405],
    ['GET', `${PATH}1/2/`, 404],
    ['GET', `${PATH}/`, 404],
  ])('%s %s has the same shape, whatever Accept says', async (method, path, status) => {
    const answer = await ask(method, path, undefined, { accept: 'application/problem+json, text/html' })
    expect([answer.status, answer.json]).toEqual([status, { error: expect.stringMatching(/./) }])
    expect(answer.headers.get('allow') === null).toBe(status !== 405)
  })

  test('an unavailable database is an error of the same shape, for the list too', async () => {
    const away = { ...api.database, query: () => Promise.reject(new Error('gone')) }
    const broken = await startApi(SNIPPETS_FILE, { database: Object.setPrototypeOf(away, api.database) })
    for (const path of [PATH, `${PATH}1/`]) {
      const response = await broken.fetch(path)
      expect([response.status, await response.json()]).toEqual([500, { error: 'Internal server error' }])
      expect(response.headers.get('content-type')).toBe('application/json')
    }
    await broken.close()
  })
})
