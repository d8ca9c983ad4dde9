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
  own:
    table: owns
    fields:
      id: { type: bigint, primary_key: true }
      owner: { type: string, max: 9, unique: true }
      slug: { type: string, max: 9, default: x, unique: true }
      at: { type: integer, default: 0 }
      size: { type: integer, default: 0 }
      active: { type: boolean, default: false }
      key: { type: integer, default: 0 }
    indexes: [{ fields: [key], unique: true, where: { active: true } }]
  mail: { table: mails, fields: { id: { type: bigint, primary_key: true, key: client }, address: { type: text, unique: true } } }
  person:
    table: persons
    view: select id, address, split_part(address, '@', 2) as host from mails
    fields:
      id: { type: bigint, primary_key: true, key: client }
      address: { type: text }
      host: { type: text, read_only: true }
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
  own: { model: own, path: /owns/, ${OPERATIONS}, access: [{ to: signed_in, may: all, rows: { owner: $sub }, set: { owner: $sub } }] }
  taken:
    model: own
    path: /taken/
    bulk: [partial_update]
    access: [{ to: signed_in, may: read }, { to: signed_in, may: change, becomes: { owner: $sub }, set: { owner: $sub } }]
  kept: { model: own, path: /kept/, ${OPERATIONS}, access: [{ to: signed_in, may: all, rows: { owner__in: [ann, cid] } }] }
  person: { model: person, path: /persons/, operations: [partial_update, retrieve], access: [{ to: signed_in, may: all, rows: { host: $sub } }] }
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

const ROWS = `truncate groups, path, owns, members restart identity cascade;
  insert into groups values (1, 'ann'), (2, 'bob');
  insert into path (owner, name) values ('ann', 'mine'), ('bob', 'taken');
  insert into members (group_id, "user") values (1, 'ann'), (2, 'cid')`

// Of a migration that was written by hand.
const EXCLUSION =
  'alter table owns add exclude using btree (at with =) where (at > 0), add exclude using btree (size with =)'

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  await runSql(database, EXCLUSION)
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

test.each(['/granted/', '/hooked/'])('keys tell nothing of the values of others: %s', async (path) => {
  const as = { authorization: 'Dev ann' }
  const steps: number[] = []
  // From its third use on, a statement is prepared.
  for (const name of ['a', 'b', 'c', 'taken', 'free', 'd']) {
    await api.send('POST', path, { owner: 'bob', name }, as)
    const { headers } = await api.send('POST', path, { owner: 'ann', name }, as)
    steps.push(Number(headers.get('location')?.match(/\d+/)?.[0]))
  }
  expect(steps.map((key, at) => key - (steps[at - 1] ?? 2))).toEqual([2, 2, 2, 2, 2, 2])
})

test.each(['taken', 'free'])('the next grant decides after one that does not cover a duplicate: %s', async (name) => {
  const { status } = await api.send('POST', '/granted/', { owner: 'bob', name }, { authorization: 'Dev gus' })
  expect(status).toBe(201)
  const { rows } = await database.query({ text: 'select owner, name from path order by id desc limit 1', values: [] })
  expect(rows).toEqual([['guest', name]])
})

test('a column that a view computes tells nothing of its new value', async () => {
  await runSql(database, "truncate mails; insert into mails values (1, 'a@ann'), (2, 'b@bob')")
  const answers = []
  for (const address of ['b@bob', 'c@bob', 'c@ann'])
    answers.push(
      await answer({ method: 'PATCH', path: '/persons/1/', body: { address }, headers: { authorization: 'Dev ann' } }),
    )
  expect(answers.map(([status]) => status)).toEqual([403, 403, 200])
  expect(answers[0]).toEqual(answers[1])
})

describe('a duplicate of its own that a caller has not sent, or that the configuration does not know', () => {
  const owns =
    "insert into owns (owner, slug, at, size, active, key) values ('ann', 'a', 1, 1, true, 7), ('cid', 'b', 2, 2, false, 7)"
  const alone = 'delete from owns where id = 1'
  const behind = "select setval(pg_get_serial_sequence('owns', 'id'), 2, false)"
  const create = (path: string, body: object) => ({ method: 'POST', path, body })
  const change = (path: string, body: object) => ({ method: 'PATCH', path, body: [{ id: 2, ...body }] })
  test.each([
    { of: 'a value that a grant sets', ask: create('/owns/', {}) },
    { of: 'a value that a grant sets in a change', ask: change('/taken/', { at: 5 }) },
    { of: 'a default', ask: create('/owns/', {}), sql: `${alone}; update owns set slug = 'x'` },
    { of: 'a key of a sequence that is behind', ask: create('/owns/', {}), sql: `${alone}; ${behind}` },
    { of: 'an exclusion constraint', ask: create('/owns/', { size: 2 }), sql: alone },
    { of: 'an exclusion constraint of some records', ask: change('/kept/', { at: 1 }) },
    { of: 'a unique index of some records', ask: change('/kept/', { active: true }) },
  ])('is 409 in a transaction, too: $of', async ({ ask: { method, path, body }, sql = '' }) => {
    await runSql(database, `${owns}; ${sql}`)
    const headers = { authorization: 'Dev ann', ...(method === 'POST' && { 'idempotency-key': 'one' }) }
    expect((await answer({ method, path, body, headers }))[0]).toBe(409)
  })

  test.each(['alone', 'with an Idempotency-Key'])(
    'tells nothing of others by an exclusion constraint: %s',
    async (how) => {
      await runSql(database, owns)
      const answers = []
      for (const size of [1, 9]) {
        const headers = { authorization: 'Dev ann', ...(how !== 'alone' && { 'idempotency-key': `of-${size}` }) }
        answers.push(await answer({ ...create('/kept/', { owner: 'bob', slug: 'c', size }), headers }))
      }
      expect(answers[0]).toEqual([403, expect.anything()])
      expect(answers[0]).toEqual(answers[1])
    },
  )
})

describe('a table of another program with partitions', () => {
  const FIELDS = 'id: { type: bigint, primary_key: true, key: client }, slug: { type: text, unique: true }'
  const UNMANAGED = `version: 1
api: { prefix: "" }
database: { managed: false }
auth: { development: { ann: {} } }
models:
  part: { table: parts, fields: { ${FIELDS}, region: { type: integer }, owner: { type: text } } }
resources:
  part: { model: part, path: /parts/, bulk: [partial_update], access: [{ to: signed_in, may: all, rows: { owner: $sub } }] }
`
  const SQL = `
  create table parts (id bigint, region integer, owner text, slug text) partition by list (region);
  create table near partition of parts for values in (1);
  create table far partition of parts for values in (2);
  create unique index on far (slug);
  insert into parts values (1, 1, 'ann', 'a'), (2, 2, 'bob', 'a'), (3, 1, 'ann', 'b')`
  let other: TestDatabase
  let odd: Api
  beforeAll(async () => {
    other = await openTestDatabase('')
    await runSql(other, SQL)
    odd = await startApi(UNMANAGED, { database: other })
  })
  afterAll(async () => {
    await odd.close()
    await other.close()
  })

  test.each([
    { of: 'none', body: [{ id: 3, region: 2, owner: 'bob' }], status: 403 },
    { of: 'none, where its record would be the duplicate', body: [{ id: 1, region: 2, owner: 'bob' }], status: 403 },
    { of: 'its own', body: [{ id: 1, region: 2 }], status: 409 },
  ])('tells of duplicates in the partition to which a record moves: $of', async ({ body, status }) => {
    expect((await odd.send('PATCH', '/parts/', body, { authorization: 'Dev ann' })).status).toBe(status)
  })
})
