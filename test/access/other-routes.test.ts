import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import express from 'express'
import { callerOf, type Plugin } from '../../src/index.js'
import { talk } from '../support/wire.js'
import { startTasks, type Tasks, TASKS_YAML } from '../support/tasks.js'

/** The changes that hooks were called for. */
const hooked: string[] = []

const plugin: Plugin = (app) => {
  const task = app.resource('task')
  const project = app.resource('project')
  const titlesOf = async (context: Parameters<Parameters<typeof app.route>[3]>[0]) =>
    (await context.store(task).list(task.parseList('').plan)).items
  app.route('GET', '/titles/', 'titles', async (context) => ({ status: 200, body: await titlesOf(context) }))
  app.route('GET', '/found/', 'found', async (context) => ({
    status: 200,
    text: (await context.documents(task).list(task.parseList(context.search).plan)).items,
  }))
  app.route('GET', '/found/{id}/', 'found-one', async (context) => {
    const selection = task.parseSelection(context.search)
    return {
      status: 200,
      text: (await context.documents(task).retrieve(BigInt(context.params['id'] ?? ''), selection)) ?? 'null',
    }
  })
  app.replace('project', 'list', ({ generated }) => generated({ request: project.parseList({ ordering: 'tenant' }) }))
  app.route('GET', '/service/', 'service', async (context) => ({
    status: 200,
    body: {
      own: (await titlesOf(context)).length,
      all: (await titlesOf(context.service)).length,
      who: context.identity?.subject ?? null,
    },
  }))
  app.route('GET', '/knex/', 'knex', async ({ knex }) => ({ status: 200, body: await knex('tasks').count() }))
  app.route('GET', '/models/', 'models', async ({ models }) => ({ status: 200, body: await models['task']?.query() }))
  app.route('GET', '/all/', 'all', async ({ service }) => ({
    status: 200,
    body: await service.knex('tasks').select('id'),
  }))
  app.route('GET', '/unnamed/', 'unnamed', () => ({ status: 200, body: 'reached' }))
  app.action('task', 'finish', {
    summary: 'Finish a task',
    output: 'record',
    handle: async ({ context, id }) => {
      await context.store(task).update(id, { status: 'done' })
    },
  })
  app.action('task', 'nudge', {
    summary: 'Nudge a task',
    handle: async ({ context, id }) => {
      await context.service.store(task).update(id, { title: 'nudged' })
    },
  })
  app.action('task', 'peek', { summary: 'Peek', method: 'GET', handle: () => undefined })
  app.mount('/files/', (request, response) => void response.end(`mounted ${request.url}`))
  app.mount('/open/', (_request, response) => void response.end('open'))
  app.mount('/open/staff/', (_request, response) => void response.end('staff'))
  app.mount('/who/', (request, response) => void response.end(JSON.stringify(callerOf(request)?.subject ?? null)))
  app.mount(
    '/express/',
    express.Router().get('/who', (request, response) => void response.json(callerOf(request) ?? null)),
  )
  app.mount('/admin/', (_request, response) => void response.end('admin'))
  app.mount('/admin/login/', (_request, response) => void response.end('login'))
  app.mount('/secret/', (_request, response) => void response.end('secret'))
  app.hooks('task', {
    beforeUpdate: ({ id }) => void hooked.push(`update ${String(id)}`),
    beforeDestroy: ({ id }) => void hooked.push(`destroy ${String(id)}`),
    beforeCreate: ({ values }) => (values['title'] === 'move' ? { project: 3n } : { cost: 3 }),
  })
}

const YAML = TASKS_YAML.replace('version: 1', 'version: 1\nplugins: [./plugin.mjs]')
  .replace(
    'explore: anyone }',
    'explore: anyone, titles: [member, admin], found: [member, admin], found-one: member, service: signed_in, knex: anyone, models: anyone, all: admin, /files/: member, /who/: anyone, /express/: anyone, /open/: anyone, /open/staff/: admin, /admin/: admin, /admin/login/: anyone }',
  )
  .replace('may: change\n', 'may: [change, finish, nudge, peek]\n')
  .replace('status: [exact, in] }', 'status: [exact, in], next.title: [exact], next.cost: [exact] }')
  .replace('    path: /projects/\n', '    path: /projects/\n    orderable: [tenant]\n')
  .replace('rows: { id__in: $my_projects } }', 'rows: { id__in: $my_projects }, fields: [id, name] }')

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks({ yaml: YAML, plugin, checkResponses: false })
})
afterAll(async () => {
  await tasks.close()
})
beforeEach(() => tasks.reset())

const status = async (...given: Parameters<Tasks['as']>) => (await tasks.as(...given)).status
const statusOf = (name: string, path: string) => status(name, 'GET', path)

describe('routes of plugins', () => {
  test('only who is named may request them, and nobody where nobody is named', async () => {
    expect(await status(undefined, 'GET', '/api/titles/')).toBe(401)
    expect(await status('eve', 'GET', '/api/titles/')).toBe(403)
    expect(await status('ann', 'GET', '/api/titles/')).toBe(200)
    expect(await status('root', 'GET', '/api/unnamed/')).toBe(403)
  })

  test('stores act as the caller: its rows, with the fields that it sees', async () => {
    expect((await tasks.as('ann', 'GET', '/api/titles/')).json).toEqual([
      { id: 1, project: 1, title: 'dig', status: 'open', next: 4 },
      { id: 2, project: 1, title: 'sow', status: 'done', next: null },
      { id: 3, project: 2, title: 'paint', status: 'open', next: 2 },
    ])
  })

  test.each([
    ['ordering=cost', 'order records by `cost`'],
    ['ordering=title,-cost', 'order records by `cost`'],
    ['next.cost=8', 'filter records by `next.cost`'],
  ])('queries that a plugin parses by the whole resource cannot ask about hidden values: %s', async (query, what) => {
    const { status, json } = await tasks.as('ann', 'GET', `/api/found/?${query}`)
    expect([status, (json as { detail: string }).detail]).toEqual([400, `this caller cannot ${what}`])
    expect(await statusOf('root', `/api/found/?${query}`)).toBe(200)
  })

  test('queries that a plugin parses by the whole resource find and show visible related records alone', async () => {
    const found = async (query: string) => (await tasks.as('ann', 'GET', `/api/found/?${query}`)).json
    expect(await found('cost=5')).toEqual([])
    expect(await found('next.title=build')).toEqual([])
    expect(await found('next.title=sow')).toMatchObject([{ id: 3 }])
    const expanded = [{ id: 1, expanded: { next: null, project: { id: 1, name: 'garden' } } }, {}, { id: 3 }]
    expect(await found('expand=next,project')).toMatchObject(expanded)
    const one = (await tasks.as('ann', 'GET', '/api/found/1/?expand=next,project')).json
    expect(one).toMatchObject(expanded[0] ?? {})
    expect(JSON.stringify([await found('expand=next,project'), one])).not.toMatch(/tenant|cost|build/)
  })

  test('a replacement cannot order a list by a hidden field', async () => {
    expect(await statusOf('ann', '/api/projects/')).toBe(400)
    expect(await statusOf('root', '/api/projects/')).toBe(200)
  })

  test('`service` is unlimited, and `knex` and `models` are rejected without it', async () => {
    expect((await tasks.as('ann', 'GET', '/api/service/')).json).toEqual({ own: 3, all: 4, who: 'ann' })
    expect((await tasks.as('root', 'GET', '/api/all/')).json).toHaveLength(4)
    for (const name of ['knex', 'models']) {
      expect(await status('ann', 'GET', `/api/${name}/`)).toBe(500)
      expect(JSON.stringify(tasks.api.logged)).toContain('route')
    }
  })
})

describe('actions', () => {
  test('need a grant by their name, and act as the caller', async () => {
    expect(await status('carl', 'POST', '/api/tasks/1/finish/')).toBe(403)
    expect(await status('ann', 'POST', '/api/tasks/4/finish/')).toBe(404)
    // It is done already, and its grant is for open ones.
    expect(await status('ann', 'POST', '/api/tasks/2/finish/')).toBe(403)
    expect((await tasks.as('ann', 'POST', '/api/tasks/1/finish/')).json).toEqual({
      id: 1,
      project: 1,
      title: 'dig',
      status: 'done',
      next: 4,
    })
  })
})

describe('actions that act for the service', () => {
  test.each([
    ['POST', 'nudge'],
    ['GET', 'peek'],
  ])('need a grant whose rows cover the record: %s %s', async (method, action) => {
    const run = (name: string, id: number) => status(name, method, `/api/tasks/${id}/${action}/`)
    expect(await run('ann', 1)).toBe(204)
    // It is done, and the grant is for open ones.
    expect(await run('ann', 2)).toBe(403)
    expect(await run('ann', 4)).toBe(404)
    expect(await run('root', 2)).toBe(204)
    expect(await run('root', 3)).toBe(404)
    expect(await run('chief', 2)).toBe(204)
  })

  test('change nothing without it', async () => {
    expect((await tasks.as('ann', 'POST', '/api/tasks/2/nudge/')).json).toMatchObject({
      detail: 'no grant allows this caller to run the action on this record',
    })
    const { rows } = await tasks.database.query({ text: 'select title from tasks where id = 2', values: [] })
    expect(rows).toEqual([['sow']])
  })
})

describe('hooks', () => {
  test('may set fields that no grant names; the record after the write decides', async () => {
    expect(await status('ann', 'POST', '/api/tasks/', { project: 1, title: 'rake' })).toBe(201)
    const { rows } = await tasks.database.query({ text: 'select cost from tasks where id = 5', values: [] })
    expect(rows).toEqual([['3']])
    expect(await status('ann', 'POST', '/api/tasks/', { project: 1, title: 'move' })).toBe(403)
  })
})

describe('hooks of changes that no grant covers', () => {
  test.each([
    ['PATCH', '/api/tasks/2/', { title: 'x' }],
    ['PATCH', '/api/tasks/2/', {}],
    ['PATCH', '/crud/tasks/2', { title: 'x' }],
    ['PUT', '/crud/tasks/2', { title: 'x' }],
    ['PATCH', '/api/tasks/', [{ id: 2, title: 'x' }]],
    ['DELETE', '/api/tasks/2/', undefined],
    ['DELETE', '/crud/tasks/2', undefined],
    ['DELETE', '/api/tasks/?ids=2', undefined],
  ])('do not run: %s %s %j', async (method, path, body) => {
    hooked.length = 0
    expect(await status('ann', method, path, body)).toBe(403)
    expect(hooked).toEqual([])
  })

  test.each(['/api/tasks/1/', '/api/tasks/?ids=1'])('run if a grant covers the record: %s', async (path) => {
    hooked.length = 0
    expect(await status('ann', 'PATCH', '/api/tasks/1/', { title: 'x' })).toBe(200)
    expect(await status('ann', 'DELETE', path)).toBe(204)
    expect(hooked).toEqual(['update 1', 'destroy 1'])
  })
})

describe('mounted routers', () => {
  test.each([
    { name: 'ann', who: 'ann' },
    { name: undefined, who: null },
  ])('know their caller: $name', async ({ name, who }) => {
    expect((await tasks.as(name, 'GET', '/who/')).json).toBe(who)
    const { json } = await tasks.as(name, 'GET', '/express/who')
    expect(json).toEqual(who === null ? null : expect.objectContaining({ subject: who, roles: ['member'] }))
  })

  test('need a grant by their path', async () => {
    expect((await tasks.api.fetch('/files/x', { headers: { authorization: 'Dev ann' } })).status).toBe(200)
    expect((await tasks.api.fetch('/files/x')).status).toBe(401)
    expect((await tasks.api.fetch('/files/x', { headers: { authorization: 'Dev eve' } })).status).toBe(403)
    expect((await tasks.api.fetch('/secret/', { headers: { authorization: 'Dev root' } })).status).toBe(403)
  })

  test.each([
    ...['/open/staff/x', '/open/staff', '/open/%73taff/x', '/open//staff/x', '/open/x/%2e%2e/staff/x', '/open/STAFF/x'],
    ...['/open/staff%2fx', '/open/staff\\x', '/open/staff%5cx', '/open/staff/x#/../..', '/open/staff/x#%'],
  ])('are protected by their own rule from a router above: %s', async (path) => {
    const { url } = tasks.api
    const from = async (authorization?: string) => {
      const named = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`
      return (await talk(url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${named}\r\n`, { answers: 1 })).answers[0]
    }
    expect([(await from())?.status, (await from('Dev ann'))?.status]).toEqual([401, 403])
    expect((await from('Dev root'))?.status).toBe(200)
  })

  test('are reached below a router that the caller may not request', async () => {
    const textOf = async (path: string) => (await tasks.api.fetch(path)).text()
    expect([await textOf('/admin/login/'), await textOf('/open/staffs'), await textOf('/open/x?/../staff/')]).toEqual([
      'login',
      'open',
      'open',
    ])
    expect((await tasks.api.fetch('/admin/x')).status).toBe(401)
  })

  test('say that responses vary with the caller', async () => {
    const { headers } = await tasks.api.fetch('/files/x', { headers: { authorization: 'Dev ann' } })
    expect(headers.get('vary')).toBe('authorization')
  })
})

describe('around a rule', () => {
  test.each(['/crud/tasks/4', '/api/tasks/4/', '/api/tasks/4'])('GET and HEAD %s hide the row', async (path) => {
    expect(await status('ann', 'GET', path)).toBe(404)
    expect(await status('ann', 'HEAD', path)).toBe(404)
    expect(await status(undefined, 'GET', path)).toBe(401)
  })

  test('a dialect has the same rows and knows no hidden field', async () => {
    expect((await tasks.as('ann', 'GET', '/crud/tasks')).json).toHaveLength(3)
    expect(await status('ann', 'GET', '/crud/tasks?filter=cost%7C%7C%24gt%7C%7C5')).toBe(400)
    expect((await tasks.as('ann', 'PATCH', '/crud/tasks/3', { status: 'archived' })).status).toBe(403)
  })

  test('pages show what the caller may see', async () => {
    const page = async (name: string) =>
      (
        await tasks.api.fetch('/explore/api/tasks/', { headers: { authorization: `Dev ${name}`, accept: 'text/html' } })
      ).text()
    expect(await page('ann')).not.toContain('build')
    expect(await page('root')).toContain('build')
  })
})

describe('parts of records', () => {
  test('have no route for callers who see too little to ask for them', async () => {
    const yaml = `version: 1
auth: { development: { ann: {}, bob: {} }, roles: { names: [boss] } }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, kind: { type: string, max: 9 } } }
resources:
  note:
    model: note
    path: /notes/
    distinct: [kind]
    access: [{ to: signed_in, may: list, fields: [id] }, { to: anyone, may: create }]
`
    const other = await startTasks({ yaml, checkResponses: false })
    try {
      expect((await other.as('ann', 'POST', '/api/notes/', { kind: 'a' })).status).toBe(201)
      expect((await other.as('ann', 'GET', '/api/notes/')).json).toEqual([{ id: 1 }])
      expect((await other.as('ann', 'GET', '/api/notes/partial/?distinct=kind')).status).toBe(404)
      expect((await other.as('ann', 'GET', '/api/notes/?distinct=kind')).status).toBe(400)
    } finally {
      await other.close()
    }
  })
})

describe('what describes the API', () => {
  test('52: OPTIONS and OpenAPI have what the caller may do, and the fields that it sees', async () => {
    expect(await status(undefined, 'OPTIONS', '/api/tasks/')).toBe(401)
    const { json, headers } = await tasks.as('ann', 'OPTIONS', '/api/tasks/')
    expect(headers.get('allow')).toBe('GET, HEAD, POST, PATCH, DELETE, OPTIONS')
    expect(JSON.stringify(json)).not.toContain('cost')
    const sendOnly = await tasks.as('carl', 'OPTIONS', '/api/tasks/')
    expect(sendOnly.headers.get('allow')).toBe('POST, OPTIONS')
    expect(Object.keys((sendOnly.json as { readonly fields: object }).fields)).toEqual(['project', 'title'])
    const document = async (name: string | undefined) => (await tasks.as(name, 'GET', '/openapi.json')).json as OpenApi
    expect(Object.keys((await document(undefined)).paths)).toEqual(['/api/knex/', '/api/models/'])
    const own = await document('ann')
    expect(Object.keys(own.paths['/api/tasks/'] ?? {})).toEqual(['get', 'post', 'patch', 'delete'])
    expect(JSON.stringify(own)).not.toContain('cost')
    expect(Object.keys((await document('carl')).paths['/api/tasks/'] ?? {})).toEqual(['post'])
    expect(JSON.stringify(await document('root'))).toContain('cost')
  })
})

test.each([
  { may: 'partial_update', operations: ['partial_update'] },
  { may: 'update', operations: ['update'] },
  { may: 'change', operations: ['update', 'partial_update'] },
])('OPTIONS lists only the changes that a grant allows: $may', async ({ may, operations }) => {
  const yaml = `version: 1
auth: { development: { ann: {} } }
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, kind: { type: string, max: 9 } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: signed_in, may: ${may} }] }
`
  const other = await startTasks({ yaml, checkResponses: false })
  try {
    expect((await other.as('ann', 'OPTIONS', '/api/notes/1/')).json).toMatchObject({ operations })
  } finally {
    await other.close()
  }
})

test.each([
  { may: '[read, change]', bulk: ['partial_update'], ordering: ['kind'] },
  { may: '[create, update]', bulk: ['create'], ordering: undefined },
  { may: 'all', bulk: ['create', 'partial_update', 'destroy'], ordering: ['kind'] },
  { may: 'read', bulk: undefined, ordering: ['kind'] },
])('OPTIONS lists what a grant allows on several records: $may', async ({ may, bulk, ordering }) => {
  const yaml = `version: 1
auth: { development: { ann: {} } }
models:
  note:
    table: notes
    fields: { id: { type: bigint, primary_key: true }, kind: { type: string, max: 9 } }
    indexes: [[kind, id]]
resources:
  note:
    model: note
    path: /notes/
    bulk: [create, partial_update, destroy]
    orderable: [kind]
    access: [{ to: signed_in, may: ${may} }]
`
  const other = await startTasks({ yaml, checkResponses: false })
  try {
    const described = (await other.as('ann', 'OPTIONS', '/api/notes/')).json as Readonly<Record<string, unknown>>
    expect([described['bulk'], described['bulk_max'], described['ordering']]).toEqual([bulk, bulk && 100, ordering])
  } finally {
    await other.close()
  }
})

test('OpenAPI has members that only some records show as optional', async () => {
  const shownTo = async (name: string) => {
    const { components } = (await tasks.as(name, 'GET', '/openapi.json')).json as OpenApi
    return Object.values(components.schemas).find(
      ({ properties = {}, required = [] }) => 'creator' in properties && required.includes('id'),
    )?.required
  }
  expect(await shownTo('root')).toContain('cost')
  expect(await shownTo('both')).toEqual(expect.arrayContaining(['title', 'status']))
  expect(await shownTo('both')).not.toContain('cost')
})

test.each(['/openapi.json', '/explore/', '/docs/'])('OPTIONS of %s names its methods', async (path) => {
  for (const name of [undefined, 'ann']) {
    const answer = await tasks.as(name, 'OPTIONS', path)
    expect([answer.status, answer.headers.get('allow'), answer.json]).toEqual([204, 'GET, HEAD, OPTIONS', undefined])
  }
})

test('52: a preflight request without a credential describes no resource', async () => {
  for (const path of ['/api/tasks/', '/api/tasks/1/', '/crud/tasks', '/crud/tasks/1']) {
    const response = await tasks.api.fetch(path, {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'GET' },
    })
    expect([path, response.status, await response.text()]).toEqual([path, 204, ''])
  }
})

interface OpenApi {
  readonly paths: Readonly<Record<string, object>>
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: object; readonly required?: readonly string[] }>>
  }
}

describe('idempotency keys', () => {
  test('belong to their caller', async () => {
    const body = { project: 1, title: 'once' }
    const headers = { 'idempotency-key': 'one' }
    const first = await tasks.as('ann', 'POST', '/api/tasks/', body, headers)
    expect((await tasks.as('ann', 'POST', '/api/tasks/', body, headers)).json).toEqual(first.json)
    const other = await tasks.as('root', 'POST', '/api/tasks/', body, headers)
    expect([first.status, other.status]).toEqual([201, 201])
    expect(other.headers.get('location')).not.toBe(first.headers.get('location'))
  })
})
