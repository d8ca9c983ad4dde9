import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks, type Tasks } from '../support/tasks.js'
import { waitUntil } from '../support/wait-until.js'

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks({ checkResponses: false })
})
afterAll(async () => {
  await tasks.close()
})
beforeEach(() => tasks.reset())

const stored = async (): Promise<readonly (readonly (string | null)[])[]> =>
  (
    await tasks.database.query({
      text: 'select id, project_id, title, status, cost, creator from tasks order by id',
      values: [],
    })
  ).rows

describe('creating', () => {
  test('the server sets what `set` names, whatever the client sends', async () => {
    const { status, json, headers } = await tasks.as('ann', 'POST', '/api/tasks/', {
      project: 1,
      title: 'rake',
      creator: 'bob',
    })
    expect({ status, json }).toEqual({
      status: 201,
      json: { id: 5, project: 1, title: 'rake', status: 'open', next: null },
    })
    expect(headers.get('location')).toBe('/api/tasks/5/')
    expect((await stored()).at(-1)).toEqual(['5', '1', 'rake', 'open', '0', 'ann'])
  })

  test('a record outside the rows of every grant is 403, and nothing is stored', async () => {
    expect((await tasks.as('ann', 'POST', '/api/tasks/', { project: 3, title: 'rake' })).status).toBe(409)
    expect((await tasks.as('root', 'POST', '/api/tasks/', { project: 2, title: 'rake' })).status).toBe(409)
    expect(await stored()).toHaveLength(4)
  })

  test('a relation to a hidden record is 409, as one to a record that does not exist', async () => {
    const hidden = await tasks.as('ann', 'POST', '/api/tasks/', { project: 1, title: 'rake', next: 4 })
    const missing = await tasks.as('ann', 'POST', '/api/tasks/', { project: 1, title: 'rake', next: 99 })
    expect(hidden.status).toBe(409)
    expect({ ...(hidden.json as object), request_id: 0 }).toEqual({ ...(missing.json as object), request_id: 0 })
    expect((await tasks.as('ann', 'POST', '/api/tasks/', { project: 1, title: 'rake', next: 2 })).status).toBe(201)
  })

  test('a field that is seen but not granted may have its default alone; one that is not seen is unknown', async () => {
    expect((await tasks.as('ann', 'POST', '/api/tasks/', { project: 1, title: 'a', status: 'open' })).status).toBe(201)
    const { status, json } = await tasks.as('ann', 'POST', '/api/tasks/', { project: 1, title: 'a', status: 'done' })
    expect(status).toBe(403)
    expect(json).toMatchObject({
      type: '/problems/forbidden',
      errors: { status: 'Status cannot be set by this caller' },
    })
    expect((await tasks.as('ann', 'POST', '/api/tasks/', { project: 1, title: 'a', cost: 0 })).status).toBe(400)
  })

  test('a caller who may create but not retrieve gets no body', async () => {
    const { status, json, headers } = await tasks.as('carl', 'POST', '/api/tasks/', { project: 1, title: 'a' })
    expect({ status, json }).toEqual({ status: 201, json: undefined })
    expect(headers.get('location')).toBe('/api/tasks/5/')
    expect(headers.get('etag')).toBeNull()
  })

  test('rejects a bulk request if no grant covers one of its records', async () => {
    const body = [
      { project: 1, title: 'a' },
      { project: 3, title: 'b' },
    ]
    expect((await tasks.as('ann', 'POST', '/api/tasks/', body)).status).toBe(409)
    expect(await stored()).toHaveLength(4)
    expect(
      (
        await tasks.as('ann', 'POST', '/api/tasks/', [
          { project: 1, title: 'a' },
          { project: 2, title: 'b' },
        ])
      ).status,
    ).toBe(201)
    expect((await stored()).slice(4).map((row) => row[5])).toEqual(['ann', 'ann'])
  })
})

describe('changing', () => {
  test('changes the fields of a grant in its rows', async () => {
    const { status, json } = await tasks.as('ann', 'PATCH', '/api/tasks/1/', {
      title: 'dig deep',
      status: 'done',
      next: null,
    })
    expect({ status, json }).toEqual({
      status: 200,
      json: { id: 1, project: 1, title: 'dig deep', status: 'done', next: null },
    })
    // It is done now, and only open ones may change.
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/1/', { title: 'x' })).status).toBe(403)
    expect((await stored())[0]).toEqual(['1', '1', 'dig deep', 'done', '5', 'ann'])
  })

  test('a record may become only what `becomes` says', async () => {
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/3/', { status: 'archived' })).status).toBe(403)
    expect((await stored())[2]?.[3]).toBe('open')
  })

  test.each([
    ['/api/tasks/2/', {}],
    ['/crud/tasks/2', {}],
    ['/api/tasks/', [{ id: 2 }]],
  ])('no field is 403 if no grant covers the record: %s', async (path, body) => {
    expect((await tasks.as('ann', 'PATCH', path, body)).status).toBe(403)
    expect((await tasks.as('chief', 'PATCH', path, body)).status).toBe(200)
    const covered = JSON.parse(JSON.stringify(body).replace('2', '1')) as object
    expect((await tasks.as('ann', 'PATCH', path.replace('2', '1'), covered)).status).toBe(200)
    const hidden = JSON.parse(JSON.stringify(body).replace('2', '4')) as object
    expect((await tasks.as('ann', 'PATCH', path.replace('2', '4'), hidden)).status).toBe(404)
  })

  test('no field meets its preconditions after its grants', async () => {
    const change = async (id: number, match: string) =>
      (await tasks.as('ann', 'PATCH', `/api/tasks/${id}/`, {}, { 'if-match': match })).status
    const { headers } = await tasks.as('ann', 'GET', '/api/tasks/1/')
    expect(await change(1, headers.get('etag') ?? '')).toBe(200)
    expect(await change(1, '"0"')).toBe(412)
    expect(await change(2, '"0"')).toBe(403)
    expect(await change(4, '"0"')).toBe(404)
  })

  test('a visible field that is not granted may be sent back as it is, and another value names it', async () => {
    const { json } = await tasks.as('ann', 'GET', '/api/tasks/3/')
    expect((await tasks.as('ann', 'PUT', '/api/tasks/3/', { ...(json as object), title: 'paint it' })).status).toBe(200)
    const moved = await tasks.as('ann', 'PUT', '/api/tasks/3/', { ...(json as object), project: 1 })
    expect(moved.status).toBe(403)
    expect(moved.json).toMatchObject({ errors: { project: 'Project cannot be set by this caller' } })
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/3/', { project: 3 })).status).toBe(403)
    expect((await stored())[2]).toEqual(['3', '2', 'paint it', 'open', '7', 'ann'])
  })

  test('a relation to a hidden record may stay, and not begin', async () => {
    const { json } = await tasks.as('ann', 'GET', '/api/tasks/1/')
    expect(json).toMatchObject({ next: 4 })
    expect((await tasks.as('ann', 'PUT', '/api/tasks/1/', { ...(json as object), title: 'dig it' })).status).toBe(200)
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/3/', { next: 4 })).status).toBe(409)
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/1/', { next: 2 })).status).toBe(200)
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/1/', { next: 4 })).status).toBe(409)
  })

  test('a hidden field is unknown', async () => {
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/1/', { cost: 5 })).status).toBe(400)
  })

  test('halves of two grants do not combine', async () => {
    const yaml = `version: 1
auth: { development: { ann: {} } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      kind: { type: string, max: 9 }
      text: { type: string, max: 9 }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: signed_in, may: [read, create] }
      - { to: signed_in, may: change, rows: { kind: a }, becomes: { kind: b } }
      - { to: signed_in, may: change, rows: { kind: c }, becomes: { kind: d } }
`
    const other = await startTasks({ yaml })
    try {
      for (const kind of ['a', 'c']) await other.as('ann', 'POST', '/api/notes/', { kind, text: 'x' })
      expect((await other.as('ann', 'PATCH', '/api/notes/1/', { kind: 'd' })).status).toBe(403)
      expect((await other.as('ann', 'PATCH', '/api/notes/2/', { kind: 'b' })).status).toBe(403)
      expect((await other.as('ann', 'PATCH', '/api/notes/1/', { kind: 'b' })).json).toEqual({
        id: 1,
        kind: 'b',
        text: 'x',
      })
      expect((await other.as('ann', 'PATCH', '/api/notes/2/', { kind: 'd' })).status).toBe(200)
    } finally {
      await other.close()
    }
  })

  test('preconditions hold for the record as the caller sees it', async () => {
    const { headers } = await tasks.as('ann', 'GET', '/api/tasks/1/')
    const tag = headers.get('etag') ?? ''
    // The administrator changes a field that Ann does not see.
    expect((await tasks.as('root', 'PATCH', '/api/tasks/1/', { cost: 9 })).status).toBe(200)
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/1/', { title: 'x' }, { 'if-match': tag })).status).toBe(200)
    expect((await tasks.as('ann', 'PATCH', '/api/tasks/1/', { title: 'y' }, { 'if-match': tag })).status).toBe(412)
  })
})

describe('deleting', () => {
  test('45: several records stay if one is hidden, or no grant covers it', async () => {
    const remove = async (ids: string) => (await tasks.as('ann', 'DELETE', `/api/tasks/?ids=${ids}`)).status
    expect(await remove('1,4')).toBe(404)
    expect(await remove('1,2')).toBe(403)
    expect(await stored()).toHaveLength(4)
    await tasks.database.query({ text: 'update tasks set next_id = null', values: [] })
    expect(await remove('1,3')).toBe(204)
    expect((await stored()).map(([id]) => id)).toEqual(['2', '4'])
  })

  test('is 403 of a visible record that no grant covers, 404 of a hidden one', async () => {
    expect((await tasks.as('ann', 'DELETE', '/api/tasks/2/')).status).toBe(403)
    expect((await tasks.as('ann', 'DELETE', '/api/tasks/4/')).status).toBe(404)
    expect((await tasks.as('ann', 'DELETE', '/api/tasks/?ids=1,4')).status).toBe(404)
    expect(await stored()).toHaveLength(4)
    expect((await tasks.as('ann', 'DELETE', '/api/tasks/?ids=1,3')).status).toBe(204)
    expect(await stored()).toHaveLength(2)
  })
})

describe('a bulk request names the record that no grant covers', () => {
  const rejected = { status: 403, json: { errors: { '1.id': 'no grant allows this change to this caller' } } }

  test('of a delete', async () => {
    expect(await tasks.as('ann', 'DELETE', '/api/tasks/?ids=1,2')).toMatchObject(rejected)
    expect(await stored()).toHaveLength(4)
  })

  test('of an update', async () => {
    const changes = [1, 2].map((id) => ({ id, title: 'x' }))
    expect(await tasks.as('ann', 'PATCH', '/api/tasks/', changes)).toMatchObject(rejected)
    expect((await stored()).map(([, , title]) => title)).not.toContain('x')
  })
})

describe('a caller with a limited and an unlimited grant', () => {
  test('may do what the unlimited one allows', async () => {
    const made = await tasks.as('chief', 'POST', '/api/tasks/', { project: 3, title: 'plan', cost: 2 })
    expect(made).toMatchObject({ status: 201, json: { id: 5, project: 3, cost: 2, creator: null } })
    expect(
      (
        await tasks.as('chief', 'POST', '/api/tasks/', [
          { project: 1, title: 'a' },
          { project: 3, title: 'b' },
        ])
      ).status,
    ).toBe(201)
    expect((await tasks.as('chief', 'PATCH', '/api/tasks/5/', { title: 'plan it' })).status).toBe(200)
    expect((await tasks.as('chief', 'PATCH', '/api/tasks/5/', { cost: 3 })).status).toBe(200)
    expect((await tasks.as('chief', 'PATCH', '/api/tasks/1/', { cost: 3, next: null })).status).toBe(200)
    expect((await tasks.as('chief', 'GET', '/api/tasks/5/')).json).toMatchObject({ cost: 3, title: 'plan it' })
    expect((await tasks.as('chief', 'GET', '/api/tasks/?cost=3&search=plan')).json).toHaveLength(1)
    expect((await tasks.as('chief', 'DELETE', '/api/tasks/5/')).status).toBe(204)
    expect((await tasks.as('chief', 'DELETE', '/api/tasks/?ids=6,7')).status).toBe(204)
  })
})

test('a new record that its creator may not see has no body, also if one grant covers it', async () => {
  const yaml = `version: 1
api: { prefix: "" }
auth: { development: { ann: {} } }
models:
  note:
    table: notes
    fields: { id: { type: bigint, primary_key: true }, draft: { type: boolean } }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: signed_in, may: read, rows: { draft: false } }
      - { to: signed_in, may: create, rows: { draft: true } }
`
  const notes = await startTasks({ yaml, checkResponses: false })
  try {
    const { status, json } = await notes.as('ann', 'POST', '/notes/', { draft: true })
    expect([status, json]).toEqual([201, undefined])
    expect((await notes.as('ann', 'POST', '/notes/', { draft: false })).status).toBe(403)
    expect((await notes.as('ann', 'GET', '/notes/')).json).toEqual([])
  } finally {
    await notes.close()
  }
})

test('new records that no grant covers together are 403, whatever else is wrong with them', async () => {
  const yaml = `version: 1
api: { prefix: "" }
auth: { development: { ann: {} } }
models:
  team: { table: teams, fields: { id: { type: bigint, primary_key: true } } }
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      kind: { type: string, max: 9, nullable: true }
      team: { type: belongs_to, model: team, nullable: true }
resources:
  note:
    model: note
    path: /notes/
    bulk: [create]
    access:
      - { to: signed_in, may: create, fields: [kind] }
      - { to: signed_in, may: create, fields: [team] }
`
  const other = await startTasks({ yaml, checkResponses: false })
  try {
    expect(await other.as('ann', 'POST', '/notes/', [{ kind: 'a' }, { team: 99 }])).toMatchObject({
      status: 403,
      json: { detail: 'no grant allows this change to this caller' },
    })
  } finally {
    await other.close()
  }
})

const IN_TURN_GRANTS = `[
      { to: signed_in, may: read },
      { to: signed_in, may: [create, change], rows: { kind: a }, fields: [kind], set: { owner: $sub } },
      { to: signed_in, may: [create, change], rows: { kind: b }, fields: [kind], set: { owner: shared, tenant: $tenant } },
      { to: signed_in, may: [create, change], rows: { kind: c }, fields: [kind], set: { owner: nobody } }
    ]`
const IN_TURN = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { routes: { several: anyone }, claims: { tenant: { type: integer } }, development: { ann: {}, root: { claims: { tenant: 7 } } } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      kind: { type: string, max: 9 }
      owner: { type: string, max: 9, nullable: true }
      tenant: { type: integer, nullable: true }
resources:
  note:
    model: note
    path: /notes/
    bulk: [create, partial_update]
    access: ${IN_TURN_GRANTS}
  hooked: { model: note, path: /hooked/, bulk: [create, partial_update], access: ${IN_TURN_GRANTS} }
mounts:
  - { path: /more }
  - { path: /crud, dialect: crud }
`

describe('of grants that set different values, the first that covers the write applies', () => {
  let notes: Tasks
  const hooked: unknown[] = []
  beforeAll(async () => {
    const plugin: Plugin = (app) => {
      app.hooks('hooked', {
        afterCreate: ({ id }) => void hooked.push(id),
        afterUpdate: ({ id }) => void hooked.push(id),
      })
      const note = app.resource('note')
      app.route('POST', '/several/', 'several', ({ transaction }) =>
        transaction(async ({ store, service }) => {
          const creates = ['c', 'b', 'd', 'c'].map((kind) =>
            (kind === 'd' ? service.store(note) : store(note)).create({ kind }),
          )
          await Promise.all(creates)
          return { status: 204 }
        }),
      )
    }
    notes = await startTasks({ yaml: IN_TURN, plugin, checkResponses: false })
  })
  afterAll(() => notes.close())
  beforeEach(async () => {
    hooked.length = 0
    await notes.database.query({ text: 'truncate notes restart identity', values: [] })
  })
  const owners = async () =>
    (await notes.database.query({ text: 'select owner, tenant from notes order by id', values: [] })).rows
  const send = async (who: string, method: string, path: string, body: unknown) =>
    (await notes.as(who, method, path, body)).status

  test.each(['/notes/', '/more/notes/', '/crud/notes', '/hooked/'])('to a new record at %s', async (path) => {
    for (const kind of ['a', 'b', 'c']) expect(await send('root', 'POST', path, { kind })).toBe(201)
    expect(await owners()).toEqual([
      ['root', null],
      ['shared', '7'],
      ['nobody', null],
    ])
    expect(await send('root', 'POST', path, { kind: 'd' })).toBe(403)
    // She has no tenant, so that grant does not apply to her.
    expect(await send('ann', 'POST', path, { kind: 'b' })).toBe(403)
    expect(await owners()).toHaveLength(3)
    expect(hooked).toHaveLength(path === '/hooked/' ? 3 : 0)
  })

  test.each(['/notes/', '/more/notes/', '/crud/notes/', '/hooked/'])('to a change at %s', async (path) => {
    await notes.database.query({ text: "insert into notes (kind) values ('a'), ('b'), ('c'), ('d')", values: [] })
    const at = (id: number) => `${path}${id}${path.startsWith('/crud') ? '' : '/'}`
    for (const [place, kind] of ['a', 'b', 'c'].entries())
      expect(await send('root', 'PATCH', at(place + 1), { kind })).toBe(200)
    const changed = [
      ['root', null],
      ['shared', '7'],
      ['nobody', null],
      [null, null],
    ]
    expect(await owners()).toEqual(changed)
    // Each grant covers the record before the change or after it, and none covers both.
    expect(await send('root', 'PATCH', at(1), { kind: 'c' })).toBe(403)
    expect(await send('root', 'PATCH', at(4), { kind: 'a' })).toBe(403)
    expect(await send('root', 'PATCH', at(5), { kind: 'a' })).toBe(404)
    expect(await owners()).toEqual(changed)
  })

  test('to records that are created at the same time in one transaction, and others stay', async () => {
    expect(await send('root', 'POST', '/several/', undefined)).toBe(204)
    expect((await owners()).map(([owner]) => owner).toSorted()).toEqual([null, 'nobody', 'nobody', 'shared'].toSorted())
  })

  test.each(['/notes/', '/more/notes/', '/hooked/'])('to several records at %s', async (path) => {
    const several = (...kinds: readonly string[]) => kinds.map((kind) => ({ kind }))
    const made = await notes.as('root', 'POST', path, several('c', 'c'))
    expect(made).toMatchObject({ status: 201, json: [{ owner: 'nobody' }, { owner: 'nobody' }] })
    const changes = (made.json as readonly { readonly id: number }[]).map(({ id }) => ({ id, kind: 'c' }))
    expect(await send('root', 'PATCH', path, changes)).toBe(200)
    expect(await send('root', 'POST', path, several('c', 'd'))).toBe(403)
    expect(await owners()).toHaveLength(2)
  })
})

test('one grant covers several new records, whatever their order and whatever a hook sets in some of them', async () => {
  const yaml = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { development: { ann: {} } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: string, max: 9 }
      note: { type: string, max: 9, nullable: true }
      owner: { type: string, max: 9, default: nobody }
resources:
  note:
    model: note
    path: /notes/
    bulk: [create]
    access:
      - { to: signed_in, may: [create, read], set: { owner: $sub } }
      - { to: signed_in, may: create, fields: [text] }
`
  const plugin: Plugin = (app) =>
    app.hooks('note', { beforeCreate: ({ values }) => (values['text'] === 'hook' ? { owner: 'system' } : {}) })
  const other = await startTasks({ yaml, plugin, checkResponses: false })
  try {
    const rows = [{ text: 'hook' }, { text: 'a', owner: 'nobody' }, { text: 'b', note: 'n' }] as const
    for (const places of [
      [0, 1, 2],
      [1, 0, 2],
      [2, 1, 0],
    ])
      expect(
        (
          await other.as(
            'ann',
            'POST',
            '/notes/',
            places.map((place) => rows[place]),
          )
        ).status,
      ).toBe(201)
  } finally {
    await other.close()
  }
})

test.each(['$user', '$sub'])('a grant to anyone that sets %s is for callers who have signed in', async (variable) => {
  const owner =
    variable === '$user' ? '{ type: belongs_to, model: person, nullable: true }' : '{ type: text, nullable: true }'
  const yaml = `version: 1
api: { prefix: "" }
auth: { development: { ann: {} }, user: { model: person, match: name } }
models:
  person: { fields: { id: { type: bigint, primary_key: true }, name: { type: string, max: 9, unique: true } } }
  note: { fields: { id: { type: bigint, primary_key: true }, owner: ${owner} } }
resources:
  note: { model: note, path: /notes/, access: [{ to: anyone, may: [create, read], set: { owner: ${variable} } }] }
`
  const other = await startTasks({ yaml, checkResponses: false })
  try {
    await other.database.query({ text: `insert into person (name) values ('ann')`, values: [] })
    expect((await other.as(undefined, 'POST', '/notes/', {})).status).toBe(403)
    expect(await other.as('ann', 'POST', '/notes/', {})).toMatchObject({ status: 201, json: { id: 1 } })
  } finally {
    await other.close()
  }
})

const CLOSING = `version: 1
plugins: [./plugin.mjs]
api: { prefix: "" }
auth: { development: { ann: {} }, routes: { openapi: anyone } }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 9 } } }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: signed_in, may: create }
      - { to: signed_in, may: read, rows: { title: open } }
      - { to: signed_in, may: [change, close], rows: { title: open }, becomes: { title: shut } }
`

const addClose: Plugin = (app) => {
  const notes = app.resource('note')
  app.action('note', 'close', {
    summary: 'Close a note',
    output: 'record',
    handle: async ({ context, id }) => {
      await context.store(notes).update(id, { title: 'shut' })
    },
  })
}

test('an action whose caller may not see the record afterwards has no body', async () => {
  const other = await startTasks({ yaml: CLOSING, plugin: addClose, checkResponses: false })
  try {
    expect((await other.as('ann', 'POST', '/notes/', { title: 'open' })).status).toBe(201)
    expect(await other.as('ann', 'POST', '/notes/1/close/')).toMatchObject({ status: 204, json: undefined })
    expect((await other.as('ann', 'GET', '/openapi.json')).json).toMatchObject({
      paths: { '/notes/{id}/close/': { post: { responses: { 200: {}, 204: {} } } } },
    })
    const { rows } = await other.database.query({ text: 'select title from notes', values: [] })
    expect(rows).toEqual([['shut']])
  } finally {
    await other.close()
  }
})

test('hooks, also those after the commit, act as the caller', async () => {
  const seen: unknown[] = []
  const plugin: Plugin = (app) => {
    addClose(app)
    const notes = app.resource('note')
    const look = async (context: Parameters<Parameters<typeof app.route>[3]>[0]) => {
      const { items } = await context.store(notes).list(notes.parseList('').plan)
      seen.push([context.identity?.subject, items.length])
    }
    app.hooks('note', { afterCreate: ({ context }) => look(context), afterCommit: ({ context }) => look(context) })
  }
  const other = await startTasks({ yaml: CLOSING, plugin, checkResponses: false })
  try {
    for (const [place, title] of ['shut', 'open'].entries()) {
      expect((await other.as('ann', 'POST', '/notes/', { title })).status).toBe(201)
      // The hook after the commit may come after the response.
      await waitUntil(() => seen.length >= 2 * place + 2)
    }
    expect(seen).toEqual([
      ['ann', 0],
      ['ann', 0],
      ['ann', 1],
      ['ann', 1],
    ])
  } finally {
    await other.close()
  }
})

test('hooks get the key of a record that its writer may not see', async () => {
  const records: unknown[] = []
  const keep = ({ record }: { readonly record: object }) => void records.push(record)
  const plugin: Plugin = (app) => {
    addClose(app)
    app.hooks('note', { afterCreate: keep, afterUpdate: keep })
  }
  const other = await startTasks({ yaml: CLOSING, plugin, checkResponses: false })
  try {
    expect((await other.as('ann', 'POST', '/notes/', { title: 'shut' })).json).toBeUndefined()
    expect((await other.as('ann', 'POST', '/notes/', { title: 'open' })).status).toBe(201)
    expect((await other.as('ann', 'PATCH', '/notes/2/', { title: 'shut' })).status).toBe(204)
    expect(records).toEqual([
      { id: 1n, title: 'shut' },
      { id: 2n, title: 'open' },
      { id: 2n, title: 'shut' },
    ])
  } finally {
    await other.close()
  }
})

test('a JSON value that is equal to the default may be sent, however it is written', async () => {
  const yaml = `version: 1
api: { prefix: "" }
auth: { development: { ann: {} } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: string, max: 9 }
      extra: { type: json, default: { b: 1, a: [2, null] } }
resources:
  note:
    model: note
    path: /notes/
    access: [{ to: signed_in, may: read }, { to: signed_in, may: create, fields: [text] }]
`
  const notes = await startTasks({ yaml })
  try {
    const create = async (extra: object) => (await notes.as('ann', 'POST', '/notes/', { text: 'a', extra })).status
    expect(await create({ a: [2, null], b: 1 })).toBe(201)
    for (const other of [{ a: [null, 2], b: 1 }, { b: 1 }, {}]) expect(await create(other)).toBe(403)
  } finally {
    await notes.close()
  }
})
