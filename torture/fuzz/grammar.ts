import type { Random } from '../random.js'

/** What a path leads to. */
export type Target = 'a-list' | 'a-detail' | 'a-config' | 'b-list' | 'b-detail' | 'nowhere'

/** Whether a body is a record, parts of one, none, no JSON object at all, or too large to be looked at. */
export type BodyKind = 'record' | 'part' | 'misfit' | 'unreadable' | 'huge'

/** One request with everything that the model needs to know of it. */
export interface Sample {
  readonly method: string
  readonly target: Target
  /** undefined for an id that no record can have. */
  readonly id: string | undefined
  readonly path: string
  readonly query: { readonly text: string; readonly good: boolean }
  /** What the head alone is refused with. */
  readonly head: { readonly lines: readonly string[]; readonly status?: number }
  readonly media: { readonly line: string; readonly kind: 'json' | 'patch' | 'none' | 'other' }
  readonly body: { readonly kind: BodyKind; readonly bytes: Buffer; readonly fields: Readonly<Record<string, string>> }
}

const METHODS = [
  'GET',
  'GET',
  'GET',
  'POST',
  'POST',
  'PUT',
  'PUT',
  'PATCH',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
]

/** Texts of 1 to `most` characters as clients may send them. */
const TEXTS: readonly string[] = [
  'x',
  ' ',
  'true',
  'null',
  '😀',
  'é',
  'e\u0301',
  '\u202e\u200b\ufeff',
  '\uffff\ufdd0\u{10ffff}',
  '\u0001\u001b[31m\u007f',
  "'; DROP TABLE snippets;--",
  '${7*7}{{7*7}}<%= 7*7 %>',
  '<script>alert(1)</script>"><img onerror=',
  '../../etc',
  'toString',
  '\\u0000',
  '\r\n\u2028',
  '%00%ff$1 ? ??',
  '\u3000',
]

/** Values that a text field does not take, as JSON. */
const MISFITS: readonly string[] = [
  '""',
  'null',
  '1',
  'true',
  '[]',
  '{}',
  '["a"]',
  '{"$ne":null}',
  '1e400',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '12345678901234567890123',
]

const UNREADABLE: readonly (string | Buffer)[] = [
  '',
  ' ',
  'null',
  '[]',
  '1',
  '"x"',
  '{"title":',
  '{}{}',
  "{'title':'t'}",
  '{"title":"t",}',
  '{"title":NaN}',
  '{"title":01}',
  '{"title":"a","title":"b"}',
  '{"title":"a","\\u0074itle":"b"}',
  '{"__proto__":{"title":"t"}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '['.repeat(40_000),
  `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`,
  Buffer.from([0x7b, 0x22, 0x74, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
  Buffer.from([0x7b, 0x22, 0x74, 0x22, 0x3a, 0x22, 0xc0, 0xaf, 0x22, 0x7d]),
  `{${Array.from({ length: 1_001 }, (_, index) => `"k${index}":1`).join()}}`,
]

const BAD_IDS = [
  'abc',
  '1e3',
  '0x10',
  '1.0',
  '1_000',
  'NaN',
  '01',
  '+1',
  '%201',
  '1%20',
  '%00',
  '1%00',
  '%EF%BC%99',
  '9'.repeat(300),
  '%',
  '%zz',
  '%c0%af',
]
const WORSE_IDS = [
  '..%2f1',
  'a%2fb',
  '__proto__',
  'constructor',
  'toString',
  '1,2',
  '1;2',
  '1%20or%201=1',
  '9223372036854775808',
  '-9223372036854775809',
  '%F0%9F%98%80',
  ':id',
]
const ABSENT_IDS = ['0', '-1', '9223372036854775807', '-9223372036854775808', '999999999']

const NOWHERE = [
  '/',
  '//api/snippets/',
  '/api//snippets/',
  '/./api/snippets/',
  '/API/SNIPPETS/',
  '/api/snippets//',
  '/api/nothing/',
  '/api/snippets-viewset/1/x/',
  `/${'a'.repeat(8_000)}`,
  '/api/%73nippet/',
  '/%',
  '/*',
]

const GOOD_QUERIES = [
  '',
  '',
  '',
  'page=1',
  'page=2&page_size=5',
  'page_size=1000000',
  'ordering=title',
  'ordering=-created_at,title',
  'language=python',
  'language=',
  'title=%25',
  'language=%27%20or%201=1--',
  '%70age=1',
  'title=a+b',
  '&&&',
  'page=999999999999',
  'language=%F0%9F%98%80',
  'title=$1',
]
const BAD_QUERIES = [
  'page=0',
  'page=-1',
  'page=1.5',
  'page=01',
  'page=1e3',
  'page=NaN',
  'page=',
  'page=1&page=2',
  'page[]=1',
  'PAGE=1',
  'page_size=0',
  'page_size=abc',
  'foo=1',
  'where[x]=1',
  '__proto__=1',
  'constructor=1',
  'ordering=id',
  'ordering=code',
  'ordering=--title',
  'ordering=title,title',
  'ordering=',
  'ordering=title%20desc',
  'ordering=users.password',
  'ordering=*',
  'ordering=title%20as%20x',
  'language=%00',
  'language=%ff',
  'language=%zz',
  'language=%ed%a0%80',
  'language=a&language=b',
  'language[$ne]=x',
  'language__startswith=r',
  'created_at=2020-01-01',
  'code=x',
  '=x',
  'page=1%26page_size=5',
  'cursor=x',
  Array.from({ length: 200 }, (_, index) => `p${index}=1`).join('&'),
]

const HEADS: readonly Sample['head'][] = [
  { lines: ['X-Request-Id: request-1'] },
  { lines: ['Origin: http://attacker.example', 'Cookie: a=torture-canary'] },
  { lines: ['X-HTTP-Method-Override: DELETE', 'Range: bytes=0-10'] },
  { lines: ['__proto__: x', 'constructor: y', 'hasOwnProperty: z'] },
  { lines: ['Accept: application/json;q=0, */*;q=0', 'Accept-Charset: %%%'] },
  { lines: ['If-None-Match: *', 'If-Match: "x"'] },
  { lines: ['Upgrade: h2c', 'X-Forwarded-Host: attacker.example'] },
  { lines: Array.from({ length: 90 }, (_, index) => `X-${index}: 1`) },
  { lines: ['Host: again'], status: 400 },
  { lines: ['X-A : a'], status: 400 },
  { lines: ['X-A: a\rb'], status: 400 },
  { lines: ['X-A: a\0b'], status: 400 },
  { lines: ['X-A: a\r\n folded'], status: 400 },
  { lines: ['no colon'], status: 400 },
  { lines: ['Expect: 200-maybe'], status: 417 },
  { lines: Array.from({ length: 120 }, (_, index) => `X-${index}: 1`), status: 431 },
  { lines: [`X-Long: ${'a'.repeat(20_000)}`], status: 431 },
]

const MEDIA: readonly Sample['media'][] = [
  { line: 'Content-Type: application/json; charset=utf-8', kind: 'json' },
  { line: 'Content-Type: APPLICATION/JSON;charset="UTF-8"', kind: 'json' },
  { line: 'Content-Type: application/merge-patch+json', kind: 'patch' },
  { line: '', kind: 'none' },
  { line: 'Content-Type: text/plain', kind: 'other' },
  { line: 'Content-Type: application/json garbage', kind: 'other' },
  { line: 'Content-Type: application/json\t; x', kind: 'other' },
  { line: 'Content-Type: application/json; charset=utf-16le', kind: 'other' },
  { line: 'Content-Type: application/json\r\nContent-Type: text/plain', kind: 'other' },
  { line: 'Content-Type: application/json\r\nContent-Encoding: gzip', kind: 'other' },
]

const JSON_MEDIA: Sample['media'] = { line: 'Content-Type: application/json', kind: 'json' }
const LONGEST = { title: 100, code: 10_000, language: 50 } as const
const FIELDS = ['title', 'code', 'language'] as const

/** One request by chance: half of what it is made of is as it should be, the rest from the edges. */
export function sample(random: Random, ids: readonly string[]): Sample {
  const { target, id, path } = drawPath(random, ids)
  const method = random.pick(METHODS)
  const good = random.chance(0.6)
  return {
    method,
    target,
    id,
    path,
    query: random.chance(0.5)
      ? { text: '', good: true }
      : { text: random.pick(good ? GOOD_QUERIES : BAD_QUERIES), good },
    head: random.chance(0.85) ? { lines: [] } : random.pick(HEADS),
    media: random.chance(0.85) ? JSON_MEDIA : random.pick(MEDIA),
    body: drawBody(random),
  }
}

function drawPath(random: Random, ids: readonly string[]): Pick<Sample, 'target' | 'id' | 'path'> {
  const set = random.pick(['a', 'b'] as const)
  const base = set === 'a' ? '/api/snippets' : '/api/snippets-viewset'
  const slash = random.chance(0.9) ? '/' : ''
  const die = random.next()
  if (die < 0.3) return { target: `${set}-list`, id: undefined, path: `${base}${slash}` }
  if (die < 0.35) return { target: 'a-config', id: undefined, path: `/api/snippets/config${slash}` }
  if (die < 0.42) return { target: 'nowhere', id: undefined, path: random.pick(NOWHERE) }
  if (die < 0.55)
    return {
      target: `${set}-detail`,
      id: undefined,
      path: `${base}/${random.pick([...BAD_IDS, ...WORSE_IDS])}${slash}`,
    }
  const id = ids.length > 0 && random.chance(0.8) ? random.pick(ids) : random.pick(ABSENT_IDS)
  return { target: `${set}-detail`, id, path: `${base}/${id}${slash}` }
}

function drawBody(random: Random): Sample['body'] {
  const die = random.next()
  if (die < 0.15) return { kind: 'unreadable', bytes: toBytes(random.pick(UNREADABLE)), fields: {} }
  if (die < 0.16) return { kind: 'huge', bytes: Buffer.alloc(1_100_000, 0x20), fields: {} }
  const fields: Record<string, string> = Object.fromEntries(
    FIELDS.map((name) => [name, drawText(random, LONGEST[name])]),
  )
  const members = Object.entries(fields).map(([name, text]) => `"${name}":${toJson(random, text)}`)
  if (die < 0.6) return { kind: 'record', bytes: Buffer.from(`{${shuffle(random, members).join()}}`), fields }
  const name = random.pick(FIELDS)
  if (die < 0.75)
    return {
      kind: 'part',
      bytes: Buffer.from(`{${members.find((member) => member.startsWith(`"${name}"`))}}`),
      fields: { [name]: fields[name] ?? '' },
    }
  if (die < 0.85) return { kind: 'misfit', bytes: Buffer.from(`{${members.join()},"admin":true}`), fields: {} }
  if (die < 0.9)
    return { kind: 'misfit', bytes: Buffer.from(`{"${name}":"${'x'.repeat(LONGEST[name] + 1)}"}`), fields: {} }
  return { kind: 'misfit', bytes: Buffer.from(`{"${name}":${random.pick(MISFITS)}}`), fields: {} }
}

function drawText(random: Random, most: number): string {
  const text = random.chance(0.4) ? random.pick(TEXTS) : `text ${random.between(1, 1_000)}`
  // The longest that is allowed, in characters and not in units of UTF-16.
  return random.chance(0.05) ? [...text.repeat(most)].slice(0, most).join('') : [...text].slice(0, most).join('')
}

/** The same text in different spellings. */
function toJson(random: Random, text: string): string {
  const json = JSON.stringify(text)
  if (random.chance(0.8)) return json
  return json.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function shuffle(random: Random, values: readonly string[]): string[] {
  return values
    .map((value) => ({ value, key: random.next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value)
}

function toBytes(text: string | Buffer): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : text
}

/** The request as it goes over the wire. */
export function toWire({ method, path, query, head, media, body }: Sample, chunked: boolean): Buffer {
  const target = query.text === '' ? path : `${path}?${query.text}`
  const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.bytes.length}`
  const withBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: torture.example', ...head.lines]
  if (withBody) lines.push(framing, ...(media.line === '' ? [] : [media.line]))
  const start = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (!withBody) return start
  if (!chunked) return Buffer.concat([start, body.bytes])
  const size = body.bytes.length === 0 ? '' : `${body.bytes.length.toString(16)}\r\n`
  const end = body.bytes.length === 0 ? '0\r\n\r\n' : '\r\n0\r\n\r\n'
  return Buffer.concat([start, Buffer.from(size), body.bytes, Buffer.from(end)])
}
