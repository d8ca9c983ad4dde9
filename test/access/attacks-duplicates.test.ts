import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

const OPERATIONS = 'bulk: [create, partial_update], idempotency: optional'
const YAML = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { roles: { names: [admin, guest] }, development: { ann: {}, gus: { roles: [guest] }, root: { roles: [admin] } } }
models:
  group:
    table: groups
    fields:
      id: { type: integer, primary_key: true, key: client }
      owner: { type: string, max: 9 }
  code:
    table: path
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 9 }
      name: { type: string, max: 9 }
      state: { type: choice, choices: [open, closed], default: open }
      at: { type: timestamp, auto: on_create }
    indexes: [{ fields: [owner, name], unique: true }]
  member:
    table: members
    fields:
      id: { type: bigint, primary_key: true }
      group: { type: belongs_to, model: group }
      user: { type: string, max: 9 }
    indexes: [{ fields: [group, user], unique: true }]
resources:
  group: { model: group, path: /groups/, access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
  granted:
    model: code
    path: /granted/
    bulk: [create, partial_update]
    idempotency: optional
    access:
      - { to: guest, may: create, set: { owner: guest } }
      - { to: signed_in, may: all, rows: { owner: $sub, state: open } }
  hooked: { model: code, path: /hooked/, ${OPERATIONS}, access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
  scoped: { model: code, path: /scoped/, ${OPERATIONS}, access: [{ to: admin, may: all }] }
  member: { model: member, path: /members/, ${OPERATIONS}, access: [{ to: signed_in, may: all, rows: { group.owner: $sub } }] }
`
const plugin: Plugin = (app) => {
  app.hooks('hooked', { beforeCreate: () => ({}), beforeUpdate: () => ({}) })
  app.use((context, next) => {
    const { 'x-owner': owner } = context.headers
    if (typeof owner === 'string') context.scope('scoped', [{ field: 'owner', value: owner }])
    return next()
  })
}

const ROWS = `truncate groups, path, members restart identity cascade;
  insert into groups values (1, 'ann'), (2, 'bob');
  insert into path (owner, name) values ('ann', 'mine'), ('bob', 'taken');
  insert into members (group_id, "user") values (1, 'ann'), (2, 'cid')`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database, plugin })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(() => runSql(database, ROWS))

interface Ask {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/** The status and what differs between two responses at most by the request. */
async function answer({ method, path, body, headers }: Ask): Promise<readonly unknown[]> {
  const response = await api.send(method, path, body, headers)
  const {
    request_id: _id,
    instance: _instance,
    ...problem
  } = (await response.json()) as Readonly<Record<string, unknown>>
  return [response.status, problem]
}

const CALLERS = [
  { caller: 'a caller whose grants have conditions', path: '/granted/', as: { authorization: 'Dev ann' }, status: 403 },
  { caller: 'a caller whose changes have hooks', path: '/hooked/', as: { authorization: 'Dev ann' }, status: 403 },
  { caller: 'a caller in a scope', path: '/scoped/', as: { authorization: 'Dev root', 'x-owner': 'ann' }, status: 400 },
]

/** Requests that would give a code the owner and the name. */
const WRITES: readonly {
  readonly write: string
  readonly ask: (owner: string, name: string) => Omit<Ask, 'headers'>
}[] = [
  { write: 'POST', ask: (owner, name) => ({ method: 'POST', path: '', body: { owner, name } }) },
  {
    write: 'POST of several',
    ask: (owner, name) => ({
      method: 'POST',
      path: '',
      body: [
        { owner: 'ann', name: 'new' },
        { owner, name },
      ],
    }),
  },
  { write: 'PATCH', ask: (owner, name) => ({ method: 'PATCH', path: '1/', body: { owner, name } }) },
  { write: 'PUT', ask: (owner, name) => ({ method: 'PUT', path: '1/', body: { owner, name, state: 'open' } }) },
  { write: 'PATCH of several', ask: (owner, name) => ({ method: 'PATCH', path: '', body: [{ id: 1, owner, name }] }) },
]

describe.each(CALLERS)('$caller', ({ path, as, status }) => {
  describe.each(WRITES)('with $write', ({ ask }) => {
    test.each([
      { when: 'alone', key: undefined },
      { when: 'with an Idempotency-Key', key: 'k' },
    ])('cannot tell which values another has: $when', async ({ key }) => {
      const answers = ['taken', 'free'].map((name) => {
        const { method, path: tail, body } = ask('bob', name)
        const headers = key === undefined ? as : { ...as, 'idempotency-key': `${key}-${name}` }
        return { method, path: `${path}${tail}`, body, headers }
      })
      const [taken, free] = [await answer(answers[0] as Ask), await answer(answers[1] as Ask)]
      expect(free[0]).toBe(status)
      expect(taken).toEqual(free)
    })

    test('is told of a duplicate among its own', async () => {
      await runSql(database, "insert into path (owner, name) values ('ann', 'own')")
      const { method, path: tail, body } = ask('ann', 'own')
      const [found, problem] = await answer({ method, path: `${path}${tail}`, body, headers: as })
      expect([found, JSON.stringify(problem)]).toEqual([409, expect.stringContaining('Owner and Name')])
    })
  })
})

describe.each([
  { write: 'POST', ask: (body: object): Omit<Ask, 'headers'> => ({ method: 'POST', path: '/members/', body }) },
  { write: 'PATCH', ask: (body: object): Omit<Ask, 'headers'> => ({ method: 'PATCH', path: '/members/1/', body }) },
])('a relation to a hidden record, with $write', ({ ask }) => {
  test('is one to none, whether or not it has the combination', async () => {
    const as = { authorization: 'Dev ann' }
    const answers = []
    for (const body of [
      { group: 2, user: 'cid' },
      { group: 2, user: 'dan' },
      { group: 99, user: 'cid' },
    ])
      answers.push(await answer({ ...ask(body), headers: as }))
    expect(answers[0]?.[0]).toBe(409)
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]).toEqual(answers[2])
  })
})

test.each(['taken', 'free'])('the next grant decides after one that does not cover a duplicate: %s', async (name) => {
  const { status } = await api.send('POST', '/granted/', { owner: 'bob', name }, { authorization: 'Dev gus' })
  expect(status).toBe(201)
  const { rows } = await database.query({ text: 'select owner, name from path order by id desc limit 1', values: [] })
  expect(rows).toEqual([['guest', name]])
})
