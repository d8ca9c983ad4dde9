import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, watchDatabase } from '../support/database.js'

// The SQL of a service without `auth`, and the bytes of its responses. SNIPPETCTL_DOCS=write rewrites them; review the difference.
const FILE = 'test/fixtures/statements-without-auth.txt'
const RESPONSES = 'test/fixtures/responses-without-auth.txt'

const YAML = `version: 1
api: { prefix: "" }
models:
  shelf:
    table: shelves
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      shelf: { type: belongs_to, model: shelf, nullable: true }
      sold: { type: integer, default: 0 }
resources:
  shelf: { model: shelf, path: /shelves/ }
  book:
    model: book
    path: /books/
    filterable: { title: [exact], sold: [gt] }
    orderable: [title]
    search: [title]
    distinct: [title]
    expand: [shelf]
    sparse_fields: true
    bulk: [create, partial_update, destroy]
`

const REQUESTS: readonly (readonly [string, string, unknown?, string?])[] = [
  ['POST', '/shelves/', { name: 'a' }],
  ['POST', '/books/', { title: 'a', shelf: 1 }],
  ['POST', '/books/', [{ title: 'b' }, { title: 'c', sold: 3 }]],
  ['GET', '/books/1/'],
  ['GET', '/books/1/?fields=title&expand=shelf'],
  ['GET', '/books/?title=a&sold__gt=1&ordering=-title&search=x'],
  ['GET', '/books/?distinct=title'],
  ['GET', '/books/?expand=shelf'],
  ['PUT', '/books/1/', { title: 'd', shelf: null, sold: 1 }],
  ['PATCH', '/books/1/', { title: 'e' }],
  ['PATCH', '/books/1/', { title: 'f' }, '"0"'],
  ['PATCH', '/books/', [{ id: 2, title: 'g' }]],
  ['DELETE', '/books/1/', undefined, '"0"'],
  ['DELETE', '/books/1/'],
  ['DELETE', '/books/?ids=2,3'],
]

/** The head and the body of a response, without what differs from run to run. */
const format = async (response: Response): Promise<string> => {
  const heads = [...response.headers].filter(
    ([name]) => !['date', 'x-request-id', 'connection', 'keep-alive'].includes(name),
  )
  const text = await response.text()
  return [
    response.status,
    ...heads.map((each) => each.join(': ')),
    text.replace(/"request_id":"[^"]*"/, '"request_id":"…"'),
  ].join('\n')
}

/** Sends the requests to a service of its own, and returns its statements and its responses, each with the request. */
const run = async (yaml: string): Promise<{ readonly statements: string; readonly responses: string }> => {
  const { watched, sent } = watchDatabase(await openTestDatabase(ddlOf(specOf(YAML))))
  const api = await startApi(yaml, { database: watched })
  try {
    const statements: string[] = []
    const responses: string[] = []
    for (const [method, path, body, match] of REQUESTS) {
      const start = sent.length
      const response = await api.fetch(path, {
        method,
        headers: { 'content-type': 'application/json', ...(match !== undefined && { 'if-match': match }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      responses.push(`${method} ${path}\n${await format(response)}`)
      const texts = sent.slice(start).map(({ text }) => text)
      statements.push([`${method} ${path} ${response.status}`, ...texts].join('\n'))
    }
    return { statements: `${statements.join('\n\n')}\n`, responses: `${responses.join('\n\n')}\n` }
  } finally {
    await api.close()
  }
}

test('without `auth`, the statements and the responses are those of a service without grants', async () => {
  const { statements, responses } = await run(YAML)
  if (process.env.SNIPPETCTL_DOCS === 'write') {
    writeFileSync(FILE, statements)
    writeFileSync(RESPONSES, responses)
  }
  expect(statements).toBe(readFileSync(FILE, 'utf8'))
  expect(responses).toBe(readFileSync(RESPONSES, 'utf8'))
})

test('grants of everything to anyone change no body, and no header but Vary', async () => {
  const all = '\n    access: [{ to: anyone, may: all }]'
  const open = YAML.replace('models:', 'auth: { development: { ann: {} } }\nmodels:')
    .replace('path: /shelves/ }', 'path: /shelves/, access: [{ to: anyone, may: all }] }')
    .replace('path: /books/', `path: /books/${all}`)
  const [without, within] = [await run(YAML), await run(open)]
  expect(within.responses).toContain('authorization')
  expect(within.responses.replaceAll('vary: authorization\n', '')).toBe(without.responses)
})
