import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'
import { expectSound } from '../support/leaks.js'

const SET_A = '/api/snippets/'
const SET_B = '/api/snippets-viewset/'
const VALID = { title: 't', code: 'c', language: 'rust' }

let api: Api
beforeAll(async () => {
  api = await startApi(SNIPPETS_FILE)
})
afterAll(() => api.close())

interface Stored {
  readonly id: number
  readonly title: string
  readonly code: string
  readonly language: string
}

const checksum = async (): Promise<string | null | undefined> =>
  (
    await api.database.query({
      text: `select count(*) || ':' || coalesce(md5(string_agg(s::text, ',' order by id)), '') from snippets s`,
      values: [],
    })
  ).rows[0]?.[0]

const send = async (path: string, json: string) => {
  const response = await api.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: json,
  })
  const text = await response.text()
  expectSound({ status: response.status, headers: Object.fromEntries(response.headers), body: text })
  return {
    status: response.status,
    body: JSON.parse(text) as { snippet?: Stored; error?: string; errors?: Record<string, string> } & Partial<Stored>,
  }
}

const emoji = '\u{1F600}'
const family = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466}'

describe.each([
  ['Set A', SET_A],
  ['Set B', SET_B],
])('%s', (_, path) => {
  const stored = (body: Awaited<ReturnType<typeof send>>['body']): Partial<Stored> => body.snippet ?? body

  test.each([
    ['a space', { title: ' ' }],
    ['100 characters', { title: 'x'.repeat(100) }],
    ['100 emoji', { title: emoji.repeat(100) }],
    ['50 letters with 50 accents', { title: 'e\u0301'.repeat(50) }],
    ['10,000 characters of code', { code: 'x'.repeat(10_000) }],
    ['10,000 emoji of code', { code: emoji.repeat(10_000) }],
    ['50 characters of language', { language: 'x'.repeat(50) }],
    ['noncharacters', { title: '\uffff\ufdd0\u{10ffff}' }],
    ['control characters', { code: '\u0001\u001b[31m\u007f\u0085', title: '\u0001' }],
    ['bidi and zero-width characters', { title: '\u202eabc\u200b\ufeffd' }],
    ['a composed letter', { title: '\u00e9' }],
    ['a decomposed letter', { title: 'e\u0301' }],
    ['every line ending', { code: 'a\rb\nc\r\nd\u2028e' }],
    [
      'SQL',
      { title: "'; DROP TABLE snippets;--", code: "'; DROP TABLE snippets;--", language: "'; DROP TABLE snippets;--" },
    ],
    ['templates', { title: '${7*7} {{7*7}} <%= 7*7 %>' }],
    ['HTML', { title: '<script>alert(1)</script>', code: '"><img onerror=', language: '<b>' }],
    ['the name of an object member as language', { language: '__proto__' }],
    ['the name of another object member as language', { language: 'constructor' }],
    ['a path as language', { language: '../../etc' }],
    ['text that looks like other types', { title: 'true', code: '1', language: 'null' }],
    ['backslashes', { title: '\\u0000 \\\\' }],
    ['an ideographic space', { title: '\u3000' }],
    ['a flag of seven code points', { title: '\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}' }],
  ])('stores %s unchanged', async (_name, fields) => {
    const { status, body } = await send(path, JSON.stringify({ ...VALID, ...fields }))
    expect(status).toBe(201)
    expect(stored(body)).toMatchObject({ ...VALID, ...fields })
    const again = (await (await api.fetch(`${SET_B}${stored(body).id}/`)).json()) as Stored
    expect(again).toMatchObject({ ...VALID, ...fields })
  })

  test('accepts a body in which every character is escaped', async () => {
    const escaped = '\\ud83d\\ude00'
    const json = `{"title":"${escaped.repeat(100)}","code":"${escaped.repeat(10_000)}","language":"${escaped.repeat(50)}"}`
    const { status, body } = await send(path, json)
    expect([status, stored(body).title]).toEqual([201, emoji.repeat(100)])
  })

  test.each([
    ['an empty title', { title: '' }, 'title'],
    ['101 characters', { title: 'x'.repeat(101) }, 'title'],
    ['101 emoji', { title: emoji.repeat(101) }, 'title'],
    ['15 emoji of 7 code points', { title: family.repeat(15) }, 'title'],
    ['100 letters and 3 spaces', { title: `${'x'.repeat(100)}   ` }, 'title'],
    ['10,001 characters of code', { code: 'x'.repeat(10_001) }, 'code'],
    ['51 characters of language', { language: 'x'.repeat(51) }, 'language'],
    ['U+0000', { title: 'a\0b' }, 'title'],
    ['U+0000 in code', { code: 'a\0b' }, 'code'],
    ['U+0000 in language', { language: 'a\0b' }, 'language'],
    ['a lone high surrogate', { title: '\ud800' }, 'title'],
    ['a lone low surrogate', { title: '\udc00' }, 'title'],
    ['a reversed surrogate pair', { title: '\ude00\ud83d' }, 'title'],
    ['a number', { title: 1 }, 'title'],
    ['a boolean', { title: true }, 'title'],
    ['a list', { title: ['a'] }, 'title'],
    ['an object', { title: { $ne: null } }, 'title'],
    ['an object with a method name', { title: { toPostgres: 'x' } }, 'title'],
    ['null', { title: null }, 'title'],
    ['an unknown field', { admin: true }, 'admin'],
    ['the name of an object member', { hasOwnProperty: 1 }, 'hasOwnProperty'],
  ])('rejects %s as a validation error of its field', async (_name, fields, field) => {
    const before = await checksum()
    const { status, body } = await send(path, JSON.stringify({ ...VALID, ...fields }))
    expect([status, Object.keys(body.errors ?? {})]).toEqual([400, [field]])
    expect(await checksum()).toBe(before)
  })

  test('reports every invalid field at once, in order', async () => {
    const { status, body } = await send(path, JSON.stringify({ language: 1, title: 'x'.repeat(101) }))
    expect(status).toBe(400)
    expect(Object.entries(body.errors ?? {})).toEqual([
      ['title', 'Title must be between 1 and 100 characters'],
      ['code', 'Code is required'],
      ['language', 'Language must be a string'],
    ])
  })

  test('reports a bounded number of errors', async () => {
    const fields = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`field_${index}`, 1]))
    const { status, body } = await send(path, JSON.stringify(fields))
    expect(status).toBe(400)
    expect(Object.keys(body.errors ?? {})).toHaveLength(20)
    expect(JSON.stringify(body).length).toBeLessThan(8192)
  })

  test('does not repeat a rejected value', async () => {
    const { body } = await send(path, JSON.stringify({ ...VALID, title: { canary: 'canary-7f3a' } }))
    expect(JSON.stringify(body)).not.toContain('canary-7f3a')
  })

  test.each([{ id: 7 }, { created_at: '1970-01-01' }, { id: null, created_at: 3 }])(
    'ignores server-set fields: %j',
    async (fields) => {
      const { status, body } = await send(path, JSON.stringify({ ...VALID, ...fields }))
      expect(status).toBe(201)
      const again = (await (await api.fetch(`${SET_B}${stored(body).id}/`)).json()) as Stored & { created_at: string }
      expect(again.created_at > '2020').toBe(true)
    },
  )
})
