import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'

// Requests and their exact responses. SNIPPETCTL_DOCS=write rewrites the expected texts; review the difference.
const FILE = resolve('test/fixtures/responses.txt')
const BETWEEN = '\n========\n'
const ANSWER = '\n--------\n'
/** What every answer has, so that only another value is written down. */
const USUAL = new Map([
  ['cache-control', 'no-store'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['cross-origin-resource-policy', 'same-origin'],
  ['referrer-policy', 'same-origin'],
  ['x-content-type-options', 'nosniff'],
])
/** Headers that differ from one time to the next, or are the client's business. */
const PASSING = new Set(['date', 'x-request-id', 'connection', 'keep-alive'])

const YAML = `version: 1
api: { prefix: "" }
models:
  author:
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 20 }
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 2, max: 12 }
      isbn: { type: string, max: 13, pattern: "^[0-9]{3,13}$", nullable: true, unique: true, message: An ISBN has digits alone }
      author: { type: belongs_to, model: author, nullable: true }
      pages: { type: integer, minimum: 1, maximum: 5000, nullable: true }
      price: { type: decimal, precision: 6, scale: 2, default: "9.90" }
      weight: { type: float, nullable: true }
      state: { type: choice, choices: [draft, done], default: draft }
      lent: { type: boolean, default: false }
      printed_on: { type: date, nullable: true }
      seen_at: { type: timestamp, nullable: true }
      token: { type: uuid, nullable: true }
      extra: { type: json, nullable: true }
      code: { type: string, max: 9, nullable: true, write_only: true }
      rank: { type: integer, read_only: true, default: 7 }
resources:
  author: { model: author, path: /authors/, filterable: { name: [exact, in, contains, icontains, startswith] } }
  book:
    model: book
    path: /books/
    filterable: { title: [exact, in], pages: [exact, gt, gte, lt, lte, isnull, in], state: [exact], author: [exact, isnull], lent: [exact], price: [gte], printed_on: [exact], seen_at: [lt], token: [exact], weight: [lt] }
    orderable: [title, pages]
    default_order: [-pages]
    pagination: { page_size: 2, max_page_size: 3 }
    links: { author: author-detail }
    url: true
  window: { model: book, path: /window/, pagination: { style: limit_offset, page_size: 2 }, orderable: [title] }
  cursor: { model: book, path: /cursor/, pagination: { style: cursor, page_size: 2 } }
  whole: { model: author, path: /whole/, pagination: { style: none }, operations: [list, retrieve] }
  loose: { model: author, path: /loose/, unknown_query: ignore, pagination: { style: page_number, envelope: results, count: none, page_size: 1 } }
  strict: { model: author, path: /strict/, concurrency: required }
  many: { model: author, path: /many/, bulk: [create, partial_update, destroy], bulk_max: 3 }
  kept: { model: author, path: /kept/, idempotency: required }
  found: { model: book, path: /found/, search: [title, isbn], sparse_fields: true, expand: { author: { resource: author } }, orderable: [title] }
  server: { model: author, path: /server/, dialect: json-server, filterable: { name: [exact, icontains] }, search: [name], orderable: [name] }
  rest: { model: author, path: /rest/, dialect: simple-rest, filterable: { name: [exact, icontains] }, search: [name], orderable: [name] }
  crud: { model: author, path: /crud/, dialect: crud, filterable: { name: [exact, icontains] }, orderable: [name] }
  page: { model: author, path: /page/, dialect: page, filterable: { name: [exact] }, orderable: [name] }
`
const ROWS = `
  truncate book, author restart identity;
  insert into author (name) values ('Ada'), ('Grace'), ('Linus');
  insert into book (title, isbn, author_id, pages, state, lent) values
    ('One', '111', 1, 10, 'draft', false), ('Two', '222', 2, null, 'done', true), ('Three', '333', null, 30, 'draft', false),
    ('Four', null, 1, 40, 'done', false), ('Five', '555', 2, 50, 'draft', true)`

let api: Api
let isChanged = true
beforeAll(async () => {
  api = await startApi(YAML)
})
beforeEach(fill)
afterAll(() => api.close())

async function fill(): Promise<void> {
  if (!isChanged) return
  isChanged = false
  for (const text of ROWS.split(';')) await api.database.query({ text, values: [] })
}

const cases = readFileSync(FILE, 'utf8')
  .trimEnd()
  .split(BETWEEN)
  .map((part) => part.split(ANSWER))
  .map(([asked = '', answered = '']) => ({ asked, answered }))

/** A line with the method and the path, a line for each header, and after an empty line the body. */
async function answerTo(asked: string): Promise<string> {
  const [head = '', body] = asked.split('\n\n')
  const [line = '', ...lines] = head.split('\n')
  const [method = '', path = ''] = line.split(' ')
  const headers = lines.map((each): [string, string] => [each.split(': ')[0] ?? '', each.split(': ')[1] ?? ''])
  const defaults: [string, string][] = body === undefined ? [] : [['Content-Type', 'application/json']]
  isChanged ||= !['GET', 'HEAD', 'OPTIONS'].includes(method)
  const response = await api.fetch(path, {
    method,
    headers: Object.fromEntries([...defaults, ...headers]),
    body: body ?? null,
  })
  const text = await response.text()
  const missing = [...USUAL.keys()].filter((name) => !response.headers.has(name))
  const isUsual = (name: string, value: string) =>
    value === (name === 'content-length' ? String(Buffer.byteLength(text)) : USUAL.get(name))
  const shown = [...response.headers].filter(([name, value]) => !PASSING.has(name) && !isUsual(name, value))
  return [
    String(response.status),
    ...shown.map((header) => header.join(': ')),
    ...missing.map((name) => `without ${name}`),
    ...(text === '' ? [] : ['', text.replace(/"request_id":"[^"]*"/, '"request_id":"…"')]),
  ].join('\n')
}

if (process.env.SNIPPETCTL_DOCS === 'write') {
  test('written', async () => {
    const written: string[] = []
    for (const { asked } of cases) {
      await fill()
      written.push(`${asked}${ANSWER}${await answerTo(asked)}`)
    }
    writeFileSync(FILE, `${written.join(BETWEEN)}\n`)
  })
} else {
  test.each(cases.map(({ asked, answered }) => [asked.replaceAll('\n', ' '), asked, answered]))(
    '%s',
    async (_title, asked, answered) => {
      expect(await answerTo(asked)).toBe(answered)
    },
  )
}
