import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks, type Tasks, TASKS_YAML } from '../support/tasks.js'

const YAML = TASKS_YAML.replace('version: 1', 'version: 1\nplugins: [./plugin.mjs]').replace(
  '{ path: /crud, dialect: crud }',
  '{ path: /crud, dialect: crud }\n  - { path: /more }',
)
/** What happens between the check of a request and its statement. */
let replacing = () => Promise.resolve()
const plugin: Plugin = (app) =>
  app.hooks('task', {
    beforeUpdate: ({ values }) => (values['title'] === 'move' ? { project: 3n } : {}),
    beforeCreate: async ({ values }) => {
      if (values['title'] === 'reload') await replacing()
      return values['title'] === 'move' ? { project: 3n } : {}
    },
    afterCreate: async ({ context, record }) => {
      if (record['title'] === 'join')
        await context.service.knex('memberships').insert({ user_id: '1', project_id: '3' })
    },
  })

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks({ yaml: YAML, plugin, checkResponses: false })
})
afterAll(() => tasks.close())
beforeEach(() => tasks.reset())

const stored = async () => {
  const text = 'select id, project_id, title, status, cost, creator, next_id from tasks order by id'
  return (await tasks.database.query({ text, values: [] })).rows
}
const send = async (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
  (await tasks.as('ann', method, path, body, headers)).status
/** One resource at the prefix, at a mount, and in a dialect. */
const PATHS = ['/api/tasks/', '/more/tasks/', '/crud/tasks/'] as const

describe.each(PATHS)('at %s', (path) => {
  const list = path === '/crud/tasks/' ? '/crud/tasks' : path

  test('26: a record created with another owner has its own', async () => {
    expect(await send('POST', list, { project: 1, title: 'rake', creator: 'bob' })).toBe(201)
    expect((await stored()).at(-1)?.[5]).toBe('ann')
  })

  test('27: a change moves no record to another owner or tenant', async () => {
    const before = await stored()
    const whole = { project: 1, title: 'dig', status: 'open', next: 4 }
    for (const [method, body, status] of [
      ['PATCH', { creator: 'bob' }, [400, 403]],
      ['PATCH', { project: 3 }, [403]],
      ['PATCH', { project: 2 }, [403]],
      ['PATCH', { title: 'move' }, [403]],
      ['PUT', { ...whole, project: 3 }, [403]],
      ['PUT', { ...whole, title: 'move' }, [403]],
    ] as const)
      expect([body, status]).toEqual([
        body,
        expect.arrayContaining([await send(method, `${path}1`.concat(path === '/crud/tasks/' ? '' : '/'), body)]),
      ])
    expect(await send('POST', list, { project: 1, title: 'move' })).toBe(403)
    expect(await stored()).toEqual(before)
  })

  test('40: a relation to a hidden record is 409, as one to none', async () => {
    const at = (id: number) => (path === '/crud/tasks/' ? `${path}${id}` : `${path}${id}/`)
    const problem = async (method: string, to: string, body: object) => {
      const { status, json } = await tasks.as('ann', method, to, body)
      const { request_id: _, ...others } = json as Readonly<Record<string, unknown>>
      return [status, others]
    }
    for (const next of [4, 99]) {
      const created = await problem('POST', list, { project: 1, title: 'a', next })
      const changed = await problem('PATCH', at(3), { next })
      expect([created[0], changed[0]]).toEqual([409, 409])
      expect(JSON.stringify([created, changed])).not.toContain('99')
    }
    expect(await problem('PATCH', at(3), { next: 4 })).toEqual(await problem('PATCH', at(3), { next: 99 }))
    expect(await stored()).toHaveLength(4)
  })
})

describe.each(['/api/tasks/', '/more/tasks/'])('several records at %s', (path) => {
  test('26: created with another owner have their own', async () => {
    const body = ['a', 'b'].map((title) => ({ project: 1, title, creator: 'bob' }))
    expect(await send('POST', path, body)).toBe(201)
    expect((await stored()).slice(4).map((row) => row[5])).toEqual(['ann', 'ann'])
  })

  test('27: are not moved', async () => {
    const before = await stored()
    expect(
      await send('PATCH', path, [
        { id: 3, title: 'x' },
        { id: 1, project: 3 },
      ]),
    ).toBe(403)
    expect(
      await send('PATCH', path, [
        { id: 3, title: 'x' },
        { id: 1, title: 'move' },
      ]),
    ).toBe(403)
    expect(await stored()).toEqual(before)
  })

  test('40: cannot refer to a hidden record', async () => {
    const problem = async (method: string, next: number) => {
      const body = method === 'POST' ? { project: 1, title: 'x', next } : { id: 3, next }
      const { status, json } = await tasks.as('ann', method, path, [body])
      const { request_id: _, ...others } = json as Readonly<Record<string, unknown>>
      return { status, ...others }
    }
    for (const method of ['POST', 'PATCH']) {
      const hidden = await problem(method, 4)
      expect([hidden.status, JSON.stringify(hidden)]).toEqual([409, expect.stringContaining('Next names a record')])
      expect(await problem(method, 99)).toEqual(hidden)
    }
  })

  test('45: with one that is hidden or not covered, nothing is done', async () => {
    const before = await stored()
    expect(
      await send('PATCH', path, [
        { id: 1, title: 'x' },
        { id: 4, title: 'y' },
      ]),
    ).toBe(404)
    expect(
      await send('PATCH', path, [
        { id: 1, title: 'x' },
        { id: 2, title: 'y' },
      ]),
    ).toBe(403)
    expect(await send('DELETE', `${path}?ids=1,4`)).toBe(404)
    expect(await send('DELETE', `${path}?ids=1,2`)).toBe(403)
    expect(
      await send('POST', path, [
        { project: 1, title: 'x' },
        { project: 3, title: 'y' },
      ]),
    ).toBe(409)
    expect(await stored()).toEqual(before)
  })
})

const NOTES = `version: 1
api: { prefix: "" }
auth: { claims: { tenant: { type: integer } }, development: { ann: { claims: { tenant: 7 } }, bob: { claims: { tenant: 8 } } } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      kind: { type: string, max: 9 }
      tenant: { type: integer }
      code: { type: string, max: 9, nullable: true, unique: true }
  letter:
    table: letters
    fields: { id: { type: bigint, primary_key: true }, note: { type: belongs_to, model: note } }
resources:
  note:
    model: note
    path: /notes/
    bulk: [partial_update, destroy]
    access:
      - { to: signed_in, may: [read, create, destroy], rows: { tenant: $tenant }, set: { tenant: $tenant } }
      - { to: signed_in, may: change, rows: { tenant: $tenant, kind: a }, becomes: { tenant: $tenant, kind: b } }
      - { to: signed_in, may: change, rows: { tenant: $tenant, kind: c }, becomes: { tenant: $tenant, kind: d } }
  letter:
    model: letter
    path: /letters/
    access: [{ to: signed_in, may: read, rows: { id__lt: 0 } }]
mounts:
  - { path: /crud, dialect: crud }
  - { path: /more }
`

describe('notes of tenants', () => {
  let notes: Tasks
  beforeAll(async () => {
    notes = await startTasks({ yaml: NOTES, checkResponses: false })
  })
  afterAll(() => notes.close())
  beforeEach(async () => {
    await notes.database.query({ text: 'truncate notes, letters restart identity cascade', values: [] })
    for (const kind of ['a', 'c'])
      expect((await notes.as('ann', 'POST', '/notes/', { kind, code: `ann ${kind}` })).status).toBe(201)
  })
  const kinds = async () =>
    (await notes.database.query({ text: 'select kind from notes order by id', values: [] })).rows.flat()

  test.each([
    ['/notes/1/', '/notes/2/'],
    ['/more/notes/1/', '/more/notes/2/'],
    ['/crud/notes/1', '/crud/notes/2'],
  ])('28: halves of two grants do not combine at %s', async (one, two) => {
    expect((await notes.as('ann', 'PATCH', one, { kind: 'd' })).status).toBe(403)
    expect((await notes.as('ann', 'PATCH', two, { kind: 'b' })).status).toBe(403)
    expect(await kinds()).toEqual(['a', 'c'])
    expect((await notes.as('ann', 'PATCH', one, { kind: 'b' })).status).toBe(200)
  })

  test('28: halves of two grants do not combine in one request for several records', async () => {
    const change = async (...given: readonly string[]) =>
      (
        await notes.as(
          'ann',
          'PATCH',
          '/notes/',
          given.map((kind, at) => ({ id: at + 1, kind })),
        )
      ).status
    expect(await change('d', 'b')).toBe(403)
    expect(await change('b', 'b')).toBe(403)
    expect(await kinds()).toEqual(['a', 'c'])
    expect(await change('b', 'd')).toBe(200)
  })

  test('41: a unique value of another tenant is 409 without its record', async () => {
    const { status, json } = await notes.as('bob', 'POST', '/notes/', { kind: 'a', code: 'ann a' })
    expect(status).toBe(409)
    expect(JSON.stringify(json)).not.toMatch(/tenant|"7"|\b1\b/)
  })

  test('42: a deletion that a hidden record holds names no resource', async () => {
    await notes.database.query({ text: 'insert into letters (note_id) values (1)', values: [] })
    for (const path of ['/notes/1/', '/more/notes/1/', '/crud/notes/1', '/notes/?ids=1,2']) {
      const { status, json } = await notes.as('ann', 'DELETE', path)
      expect(status).toBe(409)
      expect(JSON.stringify(json)).not.toContain('letter')
    }
    await notes.api.replace(NOTES.replace('may: read, rows: { id__lt: 0 }', 'may: read'))
    expect((await notes.as('ann', 'DELETE', '/notes/1/')).json).toMatchObject({
      detail: 'A record of letter still refers to it, by note',
    })
    await notes.api.replace(NOTES)
    expect(await kinds()).toHaveLength(2)
  })
})

const ONCE = { project: 1, title: 'once' }

describe('43: an idempotency key', () => {
  test.each([
    ['/api/tasks/', ONCE],
    ['/more/tasks/', ONCE],
    ['/crud/tasks', ONCE],
    ['/api/tasks/', [ONCE, ONCE]],
    ['/more/tasks/', [ONCE, ONCE]],
  ])('at %s that another caller sends is a new request: %j', async (path, body) => {
    const headers = { 'idempotency-key': 'one' }
    const made = []
    for (const name of ['ann', 'root', 'chief', 'ann']) {
      const { status, json } = await tasks.as(name, 'POST', path, body, headers)
      expect(status).toBe(201)
      made.push(JSON.stringify([json].flat().map((each) => (each as { readonly id: number }).id)))
    }
    expect(new Set(made).size).toBe(3)
    expect(made[3]).toBe(made[0])
    const { rows } = await tasks.database.query({ text: 'select key from snippetctl_answers', values: [] })
    expect(rows.flat()).toEqual(Array(3).fill(expect.stringMatching(/^ [\w-]{43}$/)))
    await tasks.database.query({ text: 'delete from snippetctl_answers', values: [] })
  })
})

describe.each([
  ['/api/tasks/', ONCE],
  ['/more/tasks/', ONCE],
  ['/crud/tasks', ONCE],
  ['/api/tasks/', [ONCE]],
  ['/more/tasks/bulk/', [ONCE]],
  ['/crud/tasks/bulk', { bulk: [ONCE] }],
])('44: a request with an idempotency key that is sent again to %s: %j', (path, body) => {
  const headers = { 'idempotency-key': 'two' }
  const again = async () => {
    const { status, json } = await tasks.as('ann', 'POST', path, body, headers)
    const [{ title, error }] = [json].flat() as [{ readonly title?: string; readonly error?: string }]
    return [status, title ?? error]
  }
  afterEach(() => tasks.api.replace(YAML))
  const LESS = [
    ['without the role', 'ann: { roles: [member] }', 'ann: {}', [403, 'Forbidden']],
    ['with another role', 'ann: { roles: [member] }', 'ann: { roles: [boss] }', [409, 'Conflict']],
    [
      'with another claim',
      'ann: { roles: [member] }',
      'ann: { roles: [member], claims: { tenant: 8 } }',
      [409, 'Conflict'],
    ],
    ['where fewer fields are shown', 'except: [cost, creator]', 'except: [cost, creator, status]', [409, 'Conflict']],
    ['where a set is smaller', 'rows: { user: $user } }', 'rows: { user: $user, project: 1 } }', [409, 'Conflict']],
  ] as const
  test.each(LESS)('%s is not replayed', async (_what, from, to, expected) => {
    expect(await again()).toEqual([201, 'once'])
    expect(await again()).toEqual([201, 'once'])
    await tasks.api.replace(YAML.replace(from, to))
    expect(await again()).toEqual(expected)
    await tasks.api.replace(YAML)
    expect(await again()).toEqual([201, 'once'])
    expect(await stored()).toHaveLength(5)
    await tasks.database.query({ text: 'delete from snippetctl_answers', values: [] })
  })

  test.each([
    ['was removed', 'delete from memberships where project_id = 1', [409, 'Conflict']],
    ['was replaced', 'update memberships set project_id = 3 where project_id = 2', [409, 'Conflict']],
    ['of another caller was removed', 'delete from memberships where user_id = 2', [201, 'once']],
  ])('where a membership %s', async (_what, text, expected) => {
    expect(await again()).toEqual([201, 'once'])
    await tasks.database.query({ text, values: [] })
    expect(await again()).toEqual(expected)
    await tasks.database.query({ text: 'delete from snippetctl_answers', values: [] })
  })

  test('is replayed after a request that itself has added a membership', async () => {
    const join = async () => {
      const sent = JSON.parse(JSON.stringify(body).replace('once', 'join')) as object
      const { status, headers } = await tasks.as('ann', 'POST', path, sent, { 'idempotency-key': 'three' })
      return [status, headers.get('idempotency-replayed')]
    }
    expect(await join()).toEqual([201, null])
    expect(await join()).toEqual([201, 'true'])
    await tasks.database.query({ text: 'delete from snippetctl_answers', values: [] })
  })

  test('with another body is another request, whatever the rights', async () => {
    expect(await again()).toEqual([201, 'once'])
    const other = JSON.parse(JSON.stringify(body).replace('once', 'x')) as object
    expect(await send('POST', path, other, headers)).toBe(422)
    await tasks.database.query({ text: 'delete from snippetctl_answers', values: [] })
  })
})

test('48: presets are those of the caller, however requests mix', async () => {
  const create = async (_: unknown, index: number) => {
    const name = index % 2 === 0 ? 'ann' : 'bob'
    const record = { project: index % 2 === 0 ? 1 : 3, title: name }
    const [path, body] = [
      ['/api/tasks/', record] as const,
      ['/crud/tasks', record] as const,
      ['/more/tasks/', [record, record]] as const,
    ][index % 3] ?? ['', record]
    return (await tasks.as(name, 'POST', path, body)).status
  }
  expect(new Set(await Promise.all(Array.from({ length: 30 }, create)))).toEqual(new Set([201]))
  const made = (await stored()).slice(4)
  expect(made).toHaveLength(40)
  expect(made.filter((row) => row[2] !== row[5])).toEqual([])
})

test('51: rules that are replaced during a request apply to the next one', async () => {
  const yaml = YAML.replace(
    'may: create\n        rows: { project__in: $my_projects }',
    'may: create\n        rows: { project: 2 }',
  )
  expect(yaml).not.toBe(YAML)
  replacing = () => tasks.api.replace(yaml)
  expect(await send('POST', '/api/tasks/', { project: 1, title: 'reload' })).toBe(201)
  expect(await send('POST', '/api/tasks/', { project: 1, title: 'later' })).toBe(403)
  await tasks.api.replace(YAML)
})
