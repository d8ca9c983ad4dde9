import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks, type Tasks } from '../support/tasks.js'

// Published posts show `cost`. Their owners see drafts without it. Nobody sees `code`, `author`, which owners may set, and `tenant`.
const YAML = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "", explore: true }
auth: { roles: { names: [boss] }, development: { ann: {}, root: { roles: [boss] } }, routes: { explore: signed_in } }
models:
  author:
    table: authors
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 9 }
      mail: { type: string, max: 9, unique: true, nullable: true }
  post:
    table: posts
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 9 }
      draft: { type: boolean, default: true }
      owner: { type: string, max: 9 }
      cost: { type: integer, default: 0 }
      code: { type: integer, nullable: true }
      author: { type: belongs_to, model: author, nullable: true }
      tenant: { type: integer, default: 1 }
    indexes: [{ fields: [tenant, title], unique: true }]
  card:
    table: cards
    fields:
      id: { type: bigint, primary_key: true }
      author: { type: belongs_to, model: author, references: mail, nullable: true }
  vote:
    table: votes
    fields: { id: { type: bigint, primary_key: true }, post: { type: belongs_to, model: post } }
  line:
    table: lines
    primary_key: [post, number]
    fields:
      post: { type: belongs_to, model: post }
      number: { type: integer }
      text: { type: string, max: 9 }
resources:
  author:
    model: author
    path: /authors/
    access:
      - { to: signed_in, may: read, rows: { owner: $sub }, fields: { except: [mail] } }
      - { to: boss, may: read }
  card:
    model: card
    path: /cards/
    bulk: [create, partial_update]
    access: [{ to: signed_in, may: all }]
  post:
    model: post
    path: /posts/
    bulk: [create, partial_update]
    access:
      - { to: signed_in, may: read, rows: { draft: false }, fields: { except: [code, author, tenant] } }
      - { to: signed_in, may: read, rows: { owner: $sub }, fields: [id, title, draft, owner] }
      - { to: signed_in, may: change, rows: { owner: $sub }, fields: [title, author] }
      - { to: signed_in, may: change, rows: { owner: nobody }, fields: [code] }
      - { to: signed_in, may: create, fields: [title], set: { owner: $sub, tenant: 1 } }
  letter:
    model: post
    path: /letters/
    bulk: [create, partial_update]
    computed: { price: { from: [cost], type: integer } }
    access:
      - { to: signed_in, may: read, rows: { title: open }, fields: { except: [cost] } }
      - { to: signed_in, may: create, fields: [title], set: { owner: $sub } }
      - { to: signed_in, may: change, rows: { title: open }, becomes: { id__gt: 0 }, fields: [title] }
  vote:
    model: vote
    path: /votes/
    filterable: [post]
    access: [{ to: signed_in, may: create }]
  title:
    model: post
    path: /titles/
    pagination: { page_size: 1 }
    access: [{ to: signed_in, may: list, fields: [title] }]
  line:
    model: line
    path: /lines/
    pagination: { page_size: 1 }
    access: [{ to: signed_in, may: list, fields: [post, text] }]
mounts:
  - { path: /crud, dialect: crud }
  - { path: /more }
`

const plugin: Plugin = (app) => app.compute('letter', 'price', ({ cost }) => 2 * Number(cost))

let posts: Tasks
beforeAll(async () => {
  posts = await startTasks({ yaml: YAML, plugin, checkResponses: false })
})
afterAll(() => posts.close())
beforeEach(async () => {
  for (const text of [
    'truncate authors, cards, posts, votes, lines restart identity cascade',
    "insert into authors (owner, mail) values ('ann', 'a@b.c'), ('bob', null), ('bob', null)",
    'insert into cards default values',
    `insert into posts (title, draft, owner, cost, code, author_id)
       values ('a', true, 'ann', 7, 8, 2), ('b', false, 'ann', 7, 8, 2)`,
    "insert into lines (post_id, number, text) values (1, 41, 'x'), (1, 42, 'y')",
  ])
    await posts.database.query({ text, values: [] })
})

describe.each([
  ['/posts/', (body: object) => [{ id: 1, ...body }]],
  ['/posts/1/', (body: object) => body],
  ['/more/posts/1/', (body: object) => body],
  ['/crud/posts/1', (body: object) => body],
])('39: a change at %s', (path, bodyOf) => {
  const change = async (body: object) => {
    const { status, json } = await posts.as('ann', 'PATCH', path, bodyOf({ title: 'x', ...body }))
    const { request_id: _, ...problem } = json as Readonly<Record<string, unknown>>
    return { status, ...problem }
  }

  test.each([
    ['a field that other records show', 'cost', 7, 6],
    ['a field that no record shows', 'code', 8, 9],
  ])('that sends %s tells nothing of its value', async (_what, name, right, wrong) => {
    const answer = await change({ [name]: right })
    expect(answer.status).toBe(403)
    expect(await change({ [name]: wrong })).toEqual(answer)
  })

  test('that sends a relation that is not shown tells nothing of the related record', async () => {
    const answer = await change({ author: 2 })
    expect(answer.status).toBe(409)
    expect(await change({ author: 3 })).toEqual(answer)
    expect((await change({ author: 1 })).status).toBe(200)
  })
})

test.each([
  ['POST', '/cards/', (author: string) => ({ author })],
  ['POST', '/more/cards/', (author: string) => ({ author })],
  ['POST', '/crud/cards', (author: string) => ({ author })],
  ['POST', '/cards/', (author: string) => [{ author }]],
  ['PATCH', '/cards/1/', (author: string) => ({ author })],
  ['PATCH', '/crud/cards/1', (author: string) => ({ author })],
  ['PATCH', '/more/cards/', (author: string) => [{ id: 1, author }]],
])(
  '40: a relation by a field that its record hides tells nothing of its values: %s %s',
  async (method, path, bodyOf) => {
    const name = async (who: string, author: string) => {
      const { status, json } = await posts.as(who, method, path, bodyOf(author))
      const { request_id: _, ...problem } = json as Readonly<Record<string, unknown>>
      return { status, ...problem }
    }
    const answer = await name('ann', 'a@b.c')
    expect(answer.status).toBe(409)
    expect(await name('ann', 'x@y.z')).toEqual(answer)
    expect((await name('root', 'a@b.c')).status).toBe(method === 'POST' ? 201 : 200)
  },
)

test('a shown field may be sent back unchanged', async () => {
  const change = async (cost: number) => (await posts.as('ann', 'PATCH', '/posts/2/', { title: 'x', cost })).status
  expect([await change(7), await change(6)]).toEqual([200, 403])
})

test.each([
  ['/posts/', { title: 'a' }],
  ['/more/posts/', { title: 'a' }],
  ['/crud/posts', { title: 'a' }],
  ['/posts/', [{ title: 'c' }, { title: 'a' }]],
  ['/more/posts/', [{ title: 'c' }, { title: 'a' }]],
])('41: a conflict at %s names no hidden field: %j', async (path, body) => {
  const { status, json } = await posts.as('ann', 'POST', path, body)
  expect(status).toBe(409)
  expect(JSON.stringify(json)).toMatch(/title is taken by another record/i)
  expect(JSON.stringify(json)).not.toMatch(/tenant/i)
})

test('52: a page names no list that refers to its record if the caller may not see the list', async () => {
  const headers = { authorization: 'Dev ann', accept: 'text/html' }
  const page = await (await posts.api.fetch('/explore/posts/2/', { headers })).text()
  expect(page).toContain('<dt>cost</dt>')
  expect(page).not.toContain('vote')
})

test('52: the page about a schema names no hidden field', async () => {
  const response = await posts.api.fetch('/explore/~schema/title', { headers: { authorization: 'Dev ann' } })
  const text = await response.text()
  for (const name of ['Default order', 'Primary key']) expect(text).toContain(`<dt>${name}</dt><dd>none</dd>`)
  expect(text).not.toMatch(/>(?:cost|code|draft|owner|tenant)</)
})

test('37: a record that its writer may not see has no computed fields', async () => {
  const send = async (method: string, path: string, body: unknown) => {
    const { status, json } = await posts.as('ann', method, path, body)
    return [status, json]
  }
  expect(await send('POST', '/letters/', { title: 'open' })).toEqual([201, expect.objectContaining({ price: 0 })])
  expect(await send('POST', '/letters/', { title: 'shut' })).toEqual([201, undefined])
  expect(await send('POST', '/letters/', [{ title: 'c' }])).toEqual([201, undefined])
  expect(await send('PATCH', '/letters/', [{ id: 3, title: 'd' }])).toEqual([204, undefined])
  for (const path of ['/letters/1/', '/more/letters/1/', '/crud/letters/1']) {
    await posts.database.query({ text: "update posts set title = 'open' where id = 1", values: [] })
    expect(await send('PATCH', path, { title: 'e' })).toEqual([204, undefined])
  }
})

describe('33: a hidden key', () => {
  const get = (path: string) => posts.as('ann', 'GET', path)
  const cursor = (...values: readonly string[]) => Buffer.from(JSON.stringify(values)).toString('base64url')

  test.each(['/titles/', '/more/titles/', '/crud/titles?limit=1', '/lines/', '/crud/lines?limit=1'])(
    'is not in the links of %s',
    async (path) => {
      const { json, headers } = await get(path)
      const text = JSON.stringify(json) + (headers.get('link') ?? '')
      expect(text).toMatch(/rel="next"/)
      expect(text).not.toMatch(/cursor|"id"|41/)
    },
  )

  test.each([
    `/titles/?page=2&cursor=${cursor('id', 'after', '1')}`,
    `/more/titles/?page=2&cursor=${cursor('id', 'after', '1')}`,
    `/crud/titles?limit=1&cursor=${cursor('id', 'after', '1')}`,
    '/crud/titles?sort=id,DESC',
    `/crud/titles?s=${encodeURIComponent('{"id":1}')}`,
    '/crud/lines?sort=id,DESC',
    '/crud/lines?sort=number,DESC',
    `/crud/lines?s=${encodeURIComponent('{"id":"1~41"}')}`,
  ])('cannot be asked about: %s', async (path) => {
    expect((await get(path)).status).toBe(400)
  })

  test('OPTIONS names no parameter for cursors', async () => {
    const described = await posts.as('ann', 'OPTIONS', '/titles/')
    expect(described.json).toMatchObject({ pagination: ['page', 'page_size'] })
  })
})
