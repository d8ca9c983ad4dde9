import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { loadApplication } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CONFIG = `version: 1
api: { prefix: "" }
models:
  page:
    table: pages
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 5000, nullable: true }
      slug: { type: string, max: 5000, unique: true, nullable: true }
      left: { type: string, max: 500, nullable: true }
      right: { type: string, max: 500, nullable: true }
      secret: { type: text, private: true, default: "" }
      short: { type: string, max: 600, unique: true, nullable: true }
      extra: { type: json, nullable: true }
    indexes:
      - [title]
      - [left, right, id]
      - [secret, id]
      - [short, left]
      - [extra]
resources:
  pages: { model: page, path: /pages/, bulk: [create] }
`

let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG)
})
afterAll(() => api.close())

/** Texts of random characters, which PostgreSQL cannot compress. */
const ascii = (count: number) => randomBytes(count).toString('base64').slice(0, count)
const wide = (count: number) =>
  Array.from(randomBytes(count), (byte, at) => String.fromCodePoint(0x20000 + byte * 97 + (at % 89))).join('')

const ONE_OF_THREE = 'Slug or Title or Extra is too long to be indexed'

test.each([
  ['title', ascii(4000), { title: 'Title is too long to be indexed' }],
  ['slug', ascii(4000), { slug: 'Slug is too long to be indexed' }],
  ['title', wide(5000), { title: ONE_OF_THREE, slug: ONE_OF_THREE, extra: ONE_OF_THREE }],
])(
  'a %s that is too long for its index is rejected by the name of each field that it may be',
  async (field, value, errors) => {
    const response = await api.send('POST', '/pages/', { [field]: value })
    expect([response.status, ((await response.json()) as { readonly errors: unknown }).errors]).toEqual([400, errors])
  },
)

test('texts that are too long in total are rejected, naming both fields', async () => {
  const response = await api.send('POST', '/pages/', { left: wide(500), right: wide(500) })
  const message = 'Left or Right is too long to be indexed'
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ detail: message, errors: { left: message, right: message } }),
  ])
})

test('the field is named in a bulk request, too', async () => {
  const response = await api.send('POST', '/pages/', [{ title: 'a' }, { title: ascii(4000) }])
  const message = 'Title is too long to be indexed'
  expect([response.status, await response.json()]).toMatchObject([400, { errors: { title: message } }])
})

test('a long text that compresses well is stored', async () => {
  const response = await api.send('POST', '/pages/', { title: 'a'.repeat(5000), short: wide(600) })
  expect(response.status).toBe(201)
})

test('check warns about each index that is too small for some values, with the maximum that fits', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  const file = join(folder, 'resources.yaml')
  await writeFile(file, CONFIG)
  const loaded = await loadApplication({ file, env: {} })
  await rm(folder, { recursive: true })
  const warnings = loaded.ok ? loaded.warnings().filter(({ code }) => code === 'SC407') : []
  expect(warnings.map(({ range, message, help }) => [range.start.line, message, ...help])).toEqual([
    [
      9,
      'values of `slug` can be too long for this index: PostgreSQL rejects entries of more than 2.7 kB',
      'give `slug` a `max` of at most 674, or take it out of the index',
    ],
    [
      16,
      'values of `title` can be too long for this index: PostgreSQL rejects entries of more than 2.7 kB',
      'give `title` a `max` of at most 674, or take it out of the index',
    ],
    [
      17,
      'values of `left` and `right` can be too long for this index: PostgreSQL rejects entries of more than 2.7 kB',
      'give `left` and `right` a `max` of at most 334 each, or take them out of the index',
    ],
    [
      18,
      'values of `secret` can be too long for this index: PostgreSQL rejects entries of more than 2.7 kB',
      'give `secret` a `max` of at most 669, or take it out of the index',
    ],
    [
      19,
      'values of `short` and `left` can be too long for this index: PostgreSQL rejects entries of more than 2.7 kB',
      'give `short` and `left` a `max` of at most 337 each, or take them out of the index',
    ],
    [
      20,
      'values of `extra` can be too long for this index: PostgreSQL rejects entries of more than 2.7 kB',
      'take `extra` out of the index',
    ],
  ])
})
