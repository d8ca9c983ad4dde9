import { readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { analyse } from 'scslre'
import ts from 'typescript'
import { DIALECTS } from '../../src/dialects/index.js'
import { PAGINATION_STYLES } from '../../src/pagination/index.js'
import type { Limits } from '../../src/http/connections/limits.js'
import { type Api, startApi } from '../support/api.js'

/** Code that reads what clients send. */
const ROOMS = ['http', 'dialects', 'pagination', 'resource', 'fields', 'explore', 'health', 'openapi', 'snippets']
const FILES = [
  'src/foundation/json-body.ts',
  'src/foundation/json-scanner.ts',
  ...ROOMS.flatMap((room) =>
    readdirSync(join('src', room), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join('src', room, name)),
  ),
]

/** The regular expressions of a file, with their lines. */
function expressionsIn(file: string): readonly (readonly [line: number, text: string])[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const found: (readonly [number, string])[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node))
      found.push([source.getLineAndCharacterOfPosition(node.getStart()).line + 1, node.text])
    node.forEachChild(visit)
  }
  visit(source)
  return found
}

/** The ways in which an expression takes more than linear time. */
function slowWays(text: string): readonly string[] {
  if (!/[*+{]/.test(text)) return []
  const [, source = '', flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? []
  return analyse({ source, flags }).reports.map(({ type }) => type)
}

describe('regular expressions over client input', () => {
  test('all take linear time', () => {
    const all = FILES.flatMap((file) => expressionsIn(file).map(([line, text]) => [`${file}:${line}`, text] as const))
    expect(all.length).toBeGreaterThan(50)
    expect(all.filter(([, text]) => slowWays(text).length > 0)).toEqual([])
  })

  test.each([
    String.raw`/[ \t]*(?:"[a-z]*")?[ \t]*(,|$)/y`,
    String.raw`/^(a+)+$/`,
    String.raw`/0+$/`,
    String.raw`/[^/]+\/$/`,
    String.raw`/^\s*x?\s*$/`,
  ])('would be detected if they were like %s', (text) => {
    expect(slowWays(text)).not.toEqual([])
  })
})

const LOOKUPS = {
  string: 'exact, in, isnull, contains, icontains, startswith',
  number: 'exact, in, isnull, gt, gte, lt, lte',
} as const
const FIELDS = `
      title: { type: string, max: 50, nullable: true }
      blurb: { type: text, nullable: true }
      status: { type: choice, choices: [draft, published], nullable: true }
      pages: { type: integer, nullable: true }
      copies: { type: bigint, nullable: true }
      price: { type: decimal, precision: 10, scale: 2, nullable: true }
      rating: { type: float, nullable: true }
      lent: { type: boolean, nullable: true }
      printed_on: { type: date, nullable: true }
      token: { type: uuid, nullable: true }
      extra: { type: json, nullable: true }
      author: { type: belongs_to, model: author, nullable: true }
      created_at: { type: timestamp, auto: on_create }`
const FILTERABLE = `{ title: [${LOOKUPS.string}], blurb: [contains], status: [exact, in], pages: [${LOOKUPS.number}], copies: [exact, in], price: [exact, in, gt], rating: [exact, gt], lent: [exact], printed_on: [exact, gt], token: [exact, in], extra: [isnull], author: [exact], created_at: [gte, lt] }`
const OPEN = `model: book, filterable: ${FILTERABLE}, orderable: [title, pages], search: [title, blurb]`
const YAML = `version: 1
api: { prefix: "", cors: { origins: [https://app.example] } }
models:
  author:
    fields:
      id: { type: integer, primary_key: true }
  book:
    fields:
      id: { type: bigint, primary_key: true }${FIELDS}
resources:
  author: { model: author, path: /authors/ }
${PAGINATION_STYLES.map(
  ({ name }) =>
    `  ${name}: { ${OPEN}, path: /${name}/, pagination: { style: ${name} }, sparse_fields: true, expand: [author], bulk: [create, partial_update, destroy] }`,
).join('\n')}
  keyed: { model: book, path: /keyed/, idempotency: optional, concurrency: required }
${DIALECTS.map(({ name }) => `  d_${name.replaceAll('-', '_')}: { ${OPEN}, path: /${name}/, dialect: ${name} }`).join('\n')}
`

/** As long as any may be: what else a request has takes the rest of 16 KiB. */
const LONGEST = 15_200
const SHORT = LONGEST / 4
/** CPU milliseconds below which differences mean nothing. */
const FLOOR = 5

const IN_HEADERS = [' ', '\t', ',', '"', 'a', 'W/', '0', '-', ';', '=', '/']
const IN_QUERIES = [' ', ',', '\\"', 'a', '0', '-', '[', '{"a":', '||']
/** What stands around the repeated characters. */
const FRAMES = [
  ['', 'x'],
  ['"a",', '\u0001x'],
] as const
const TIMES: Partial<Limits> = { requestsPerConnection: 1_000_000, handlerTimeout: 60_000 }

let api: Api | undefined
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
beforeAll(async () => {
  api = await startApi(YAML, { checkResponses: false, limits: TIMES })
  const made = await api.send('POST', '/keyed/', { title: 'a' })
  expect(made.status).toBe(201)
})
afterAll(() => {
  agent.destroy()
  return api?.close()
})

interface Sent {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The CPU milliseconds of a request that must not fail by a error of ours. */
async function costOf({ path, method = 'GET', headers = {}, body }: Sent): Promise<number> {
  const before = process.cpuUsage()
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sent = request(`${api?.url}${path}`, { method, headers, agent }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
    sent.on('error', reject).end(body)
  })
  const { user, system } = process.cpuUsage(before)
  if (status === undefined || status >= 500) throw new Error(`${method} ${path.slice(0, 80)} was answered ${status}`)
  return (user + system) / 1000
}

/** What else the machine does makes a measurement too high, never too low. */
const MEASUREMENTS = 20

/** Input four times as long may take ten times as long, to allow for noise. Only suspicious inputs are measured again. */
async function expectLinear(ofLength: (length: number) => Sent): Promise<void> {
  let cost = await costOf(ofLength(LONGEST))
  if (cost < 10 * FLOOR) return
  let small = await costOf(ofLength(SHORT))
  for (let again = 0; again < 2; again += 1) small = Math.min(small, await costOf(ofLength(SHORT)))
  const most = 10 * Math.max(small, FLOOR)
  for (let again = 1; again < MEASUREMENTS && cost >= most; again += 1)
    cost = Math.min(cost, await costOf(ofLength(LONGEST)))
  if (cost >= most)
    throw new Error(
      `${JSON.stringify(ofLength(40))}: ${small} ms for ${SHORT} characters, and ${cost} ms for ${LONGEST}`,
    )
}

/** Each repeated text in each frame, as a function of its length. */
const framed = (units: readonly string[]) =>
  units.flatMap((unit) =>
    FRAMES.map(
      ([before, after]) =>
        (length: number) =>
          before + unit.repeat((length - before.length - after.length) / unit.length) + after,
    ),
  )

/** Headers that the server reads: the request for which it does so, and whether their values may be anything. */
const HEADERS: Readonly<Record<string, Omit<Sent, 'headers'>>> = {
  accept: { path: '/page_number/' },
  'accept-encoding': { path: '/openapi.json' },
  'access-control-request-method': { path: '/page_number/', method: 'OPTIONS' },
  'content-encoding': { path: '/page_number/', method: 'POST', body: '{}' },
  'content-range': { path: '/keyed/1/', method: 'PUT', body: '{}' },
  'content-type': { path: '/page_number/', method: 'POST', body: '{}' },
  expect: { path: '/page_number/' },
  host: { path: '/page_number/' },
  'idempotency-key': { path: '/keyed/', method: 'POST', body: '{}' },
  'if-match': { path: '/keyed/1/', method: 'PATCH', body: '{}' },
  'if-none-match': { path: '/keyed/1/' },
  origin: { path: '/page_number/' },
  prefer: { path: '/page_number/' },
  traceparent: { path: '/page_number/' },
  'sec-fetch-site': { path: '/page_number/', method: 'POST', body: '{}' },
  'x-request-id': { path: '/page_number/' },
}
/** Node's own parser holds these to digits and known words. */
const READ_BY_NODE = ['content-length', 'transfer-encoding']

describe('processing client input takes linear time', () => {
  test('in every header that is read', async () => {
    const text = FILES.filter((file) => file.startsWith('src/http/') || file.startsWith('src/explore/'))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n')
    const read = [
      ...text.matchAll(/\bheaders\['([a-z-]+)'\]/g),
      ...text.matchAll(/\brequest\.headers\.([a-z]+)/g),
      ...text.matchAll(/const \{ ([a-z]+) \} = (?:\w+\.)*headers\b/g),
      ...text.matchAll(/\{ headers: \{ ([a-z]+) \} \}|\{ ([a-z]+) \}: IncomingHttpHeaders/g),
    ].map(([, first, second]) => first ?? second ?? '')
    expect(new Set(read).size).toBeGreaterThan(10)
    expect([...new Set(read)].filter((name) => !READ_BY_NODE.includes(name) && !(name in HEADERS))).toEqual([])
    for (const [name, where] of Object.entries(HEADERS)) {
      for (const format of framed(IN_HEADERS)) {
        const json = where.body === undefined ? {} : { 'content-type': 'application/json' }
        await expectLinear((length) => ({
          ...where,
          headers: { ...json, [name]: format(length).replaceAll('\u0001', ''), connection: 'keep-alive' },
        }))
      }
    }
  })

  const filters = [
    'title',
    'title__in',
    'status',
    'pages',
    'copies',
    'price',
    'rating',
    'printed_on',
    'token',
    'created_at__gte',
  ]
  const more = ['ordering', 'search', 'fields', 'expand', ...filters]
  const lists = [...PAGINATION_STYLES, ...DIALECTS].map(({ name }) => name)
  test.each(lists)('in every query parameter of the list of %s', async (name) => {
    const plain = PAGINATION_STYLES.find((style) => style.name === name)
    const dialect = DIALECTS.find((each) => each.name === name)
    const own = plain?.parameters ?? [
      ...(dialect?.paging ?? []),
      ...(dialect?.parameters ?? []),
      dialect?.search ?? 'q',
    ]
    const common = name === PAGINATION_STYLES[0]?.name ? more : ['title']
    for (const parameter of [...own, ...common]) {
      for (const format of framed(IN_QUERIES))
        await expectLinear((length) => ({ path: `/${name}/?${parameter}=${escaped(format(length))}` }))
    }
  })

  test('in the names of query parameters, their number, and paths', async () => {
    for (const format of framed(IN_QUERIES)) {
      await expectLinear((length) => ({ path: `/page/?${escaped(format(length))}=1` }))
      await expectLinear((length) => ({ path: `/page_number/?${escaped(format(length))}=1` }))
      await expectLinear((length) => ({ path: `/page_number/${escaped(format(length))}/` }))
      await expectLinear((length) => ({ path: `/explore/page_number/${escaped(format(length))}/1/` }))
    }
    for (const unit of ['&', 'a&', 'id=1&', '%', '%2', '%20', '%C3%A9', '/', '//', 'a/', '../', '?', '#']) {
      for (const list of ['page_number', 'page', 'json-server', 'simple-rest', 'crud']) {
        await expectLinear((length) => ({ path: `/${list}/?a=${unit.repeat(length / unit.length)}` }))
        await expectLinear((length) => ({ path: `/${list}/${unit.repeat(length / unit.length)}` }))
      }
    }
    await expectLinear((length) => ({
      path: `/page_number/?ids=${Array.from({ length: length / 4 }, (_, index) => (index + 1) % 1000).join()}`,
      method: 'DELETE',
    }))
  })

  test.each([
    ['spaces', (size: number) => `{${' '.repeat(size)}x`],
    ['backslashes', (size: number) => `{"title":"${'\\\\'.repeat(size / 2)}`],
    ['quotes', (size: number) => `{"title":"${'\\"'.repeat(size / 2)}`],
    ['digits', (size: number) => `{"copies":${'0'.repeat(size)}1}`],
    ['decimals', (size: number) => `{"price":"1.${'0'.repeat(size)}x"}`],
    ['lines', (size: number) => `{${'\n'.repeat(size)}x`],
    ['brackets', (size: number) => `{"extra":${'['.repeat(size)}`],
    ['numbers', (size: number) => `{"extra":[${'1e1,'.repeat(size / 4)}1]}`],
    ['quotes in a value', (size: number) => `{"extra":"${'\\"'.repeat(size / 2)}"}`],
    ['objects in objects', (size: number) => nested('{"a":', size, '}')],
    ['arrays in objects', (size: number) => nested('{"a":', size, '}', '[1]')],
  ])('in a body of %s', async (_what, ofSize) => {
    for (const [method, path] of [
      ['POST', '/page_number/'],
      ['PATCH', '/page_number/1/'],
    ] as const) {
      const headers = { 'content-type': 'application/json' }
      // Bodies are longer than headers.
      await expectLinear((length) => ({ method, path, headers, body: ofSize(length * 8) }))
    }
  })
})

/** Objects nested to the maximum depth; the innermost contains a text of this size. */
function nested(open: string, size: number, close: string, value = '1'): string {
  const depth = 28
  return `{"extra":${open.repeat(depth)}{"t":"${'x'.repeat(size)}","v":${value}}${close.repeat(depth)}}`
}

/** What the server takes as it is stays as it is, so that there is room for many. */
function escaped(text: string): string {
  return text.replaceAll(/[ \t\u0001%#&+]/g, (character) => (character === ' ' ? '+' : encodeURIComponent(character)))
}
