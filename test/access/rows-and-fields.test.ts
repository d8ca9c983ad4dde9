import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase, watchDatabase } from '../support/database.js'
import { startTasks, TASK_ROWS, type Tasks, TASKS_YAML } from '../support/tasks.js'

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks()
})
afterAll(async () => {
  await tasks.close()
})
beforeEach(() => tasks.reset())

const titles = (json: unknown) => (json as readonly { readonly title: string }[]).map(({ title }) => title)

describe('reading', () => {
  test('shows the rows of a grant, without the fields that it excepts', async () => {
    const { status, json, headers } = await tasks.as('ann', 'GET', '/api/tasks/')
    expect(status).toBe(200)
    expect(json).toEqual([
      { id: 1, project: 1, title: 'dig', status: 'open', next: 4 },
      { id: 2, project: 1, title: 'sow', status: 'done', next: null },
      { id: 3, project: 2, title: 'paint', status: 'open', next: 2 },
    ])
    expect(headers.get('x-total-count')).toBe('3')
  })

  test('shows each row with the fields of all grants that cover it', async () => {
    await tasks.database.query({ text: "insert into users (subject) values ('both')", values: [] })
    await tasks.database.query({ text: 'insert into memberships (user_id, project_id) values (3, 2)', values: [] })
    const { json } = await tasks.as('both', 'GET', '/api/tasks/')
    expect(json).toEqual([
      { id: 1, project: 1, title: 'dig', status: 'open', cost: 5, creator: 'ann', next: 4 },
      { id: 2, project: 1, title: 'sow', status: 'done', cost: 6, creator: 'bob', next: null },
      { id: 3, project: 2, title: 'paint', status: 'open', next: 2 },
      { id: 4, project: 3, title: 'build', status: 'open', cost: 8, creator: 'bob', next: null },
    ])
    expect((await tasks.as('both', 'GET', '/api/tasks/3/')).json).toEqual({
      id: 3,
      project: 2,
      title: 'paint',
      status: 'open',
      next: 2,
    })
  })

  test('a hidden row is 404, as a missing one', async () => {
    for (const path of ['/api/tasks/4/', '/api/tasks/99/']) {
      expect((await tasks.as('ann', 'GET', path)).status).toBe(404)
      expect((await tasks.as('ann', 'PATCH', path, { title: 'x' }, { 'if-match': '"0"' })).status).toBe(404)
    }
  })

  test('nobody signed in is 401, a role without a grant 403', async () => {
    const nobody = await tasks.as(undefined, 'GET', '/api/tasks/')
    expect(nobody.status).toBe(401)
    expect(nobody.headers.get('www-authenticate')).toBe('Bearer realm="API"')
    expect((await tasks.as('eve', 'GET', '/api/tasks/')).status).toBe(403)
    expect((await tasks.as('carl', 'GET', '/api/tasks/')).status).toBe(403)
    const wrong = await tasks.as('nobody', 'GET', '/api/tasks/')
    expect(wrong.status).toBe(401)
    expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test('callers with the same roles and other claims see their own rows, however their requests mix', async () => {
    const seen = async (name: string) => titles((await tasks.as(name, 'GET', '/api/tasks/?ordering=title')).json)
    const names = Array.from({ length: 20 }, (_, index) => (index % 3 === 0 ? 'away' : 'root'))
    const answers = await Promise.all(names.map(seen))
    for (const [index, name] of names.entries())
      expect(answers[index]).toEqual(name === 'away' ? ['paint'] : ['build', 'dig', 'sow'])
  })

  test('a claim that is absent or of another type shows nothing', async () => {
    expect((await tasks.as('root', 'GET', '/api/tasks/')).json).toHaveLength(3)
    expect((await tasks.as('lost', 'GET', '/api/tasks/')).json).toEqual([])
    expect((await tasks.as('lost', 'GET', '/api/tasks/1/')).status).toBe(404)
    expect((await tasks.as('odd', 'GET', '/api/tasks/')).json).toEqual([])
  })
})

test('rules are part of the one statement that reads or writes', async () => {
  const { watched, sent } = watchDatabase(await openTestDatabase(ddlOf(specOf(TASKS_YAML))))
  const api = await startApi(TASKS_YAML, { database: watched, checkResponses: false })
  try {
    for (const text of TASK_ROWS) await watched.query({ text, values: [] })
    // The service looks for triggers of a table before the first create.
    await api.send('POST', '/api/tasks/', { project: 1, title: 'first' }, { authorization: 'Dev ann' })
    const requests = [
      ['GET', '/api/tasks/', 200],
      ['GET', '/api/tasks/1/', 200],
      ['GET', '/api/tasks/4/', 404],
      ['GET', '/crud/tasks', 200],
      ['POST', '/api/tasks/', 201, { project: 1, title: 'a' }],
      ['PATCH', '/api/tasks/1/', 200, { title: 'b', next: null }],
      ['DELETE', '/api/tasks/1/', 204],
    ] as const
    for (const [method, path, expected, body] of requests) {
      sent.length = 0
      const { status } = await api.send(method, path, body, { authorization: 'Dev ann' })
      expect([method, path, status, sent.length]).toEqual([method, path, expected, 1])
    }
  } finally {
    await api.close()
    await watched.close()
  }
})

test('lists do not show what only single records show, nor the reverse', async () => {
  const yaml = `version: 1
auth: { development: { ann: {} } }
models:
  note:
    table: notes
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 9 }
      text: { type: string, max: 9 }
resources:
  note:
    model: note
    path: /notes/
    access:
      - { to: anyone, may: list, fields: [id, title] }
      - { to: anyone, may: retrieve, rows: { title: a }, fields: [text] }
      - { to: signed_in, may: create }
`
  const other = await startTasks({ yaml, checkResponses: false })
  try {
    for (const title of ['a', 'b']) {
      const made = await other.as('ann', 'POST', '/api/notes/', { title, text: 'x' })
      expect(made).toMatchObject({ status: 201, ...(title === 'a' && { json: { text: 'x' } }) })
    }
    expect((await other.as(undefined, 'GET', '/api/notes/')).json).toEqual([
      { id: 1, title: 'a' },
      { id: 2, title: 'b' },
    ])
    expect((await other.as(undefined, 'GET', '/api/notes/1/')).json).toEqual({ text: 'x' })
    expect((await other.as(undefined, 'GET', '/api/notes/2/')).status).toBe(404)
  } finally {
    await other.close()
  }
})

describe('hidden values cannot be queried', () => {
  test.each([
    'cost=5',
    'cost__gt=5',
    'cost__isnull=true',
    'ordering=cost',
    'distinct=cost',
    'fields=cost',
    'creator=ann',
  ])('%s is an unknown parameter or value', async (query) => {
    expect((await tasks.as('ann', 'GET', `/api/tasks/?${query}`)).status).toBe(400)
  })

  test('a search finds nothing by a hidden field', async () => {
    expect((await tasks.as('ann', 'GET', '/api/tasks/?search=bob')).json).toEqual([])
    expect((await tasks.as('root', 'GET', '/api/tasks/?search=bob')).json).toHaveLength(2)
  })

  test('a filter finds only rows that show its field', async () => {
    await tasks.database.query({ text: "insert into users (subject) values ('both')", values: [] })
    await tasks.database.query({ text: 'insert into memberships (user_id, project_id) values (3, 2)', values: [] })
    expect(titles((await tasks.as('both', 'GET', '/api/tasks/?cost__gt=0')).json)).toEqual(['dig', 'sow', 'build'])
    expect(titles((await tasks.as('both', 'GET', '/api/tasks/?search=ann')).json)).toEqual(['dig'])
    expect((await tasks.as('both', 'GET', '/api/tasks/?distinct=cost')).json).toEqual([
      { cost: 5 },
      { cost: 6 },
      { cost: 8 },
    ])
    expect((await tasks.as('both', 'GET', '/api/tasks/?ordering=cost')).status).toBe(400)
  })

  test('a related record that the caller may not retrieve is null', async () => {
    const { json } = await tasks.as('ann', 'GET', '/api/tasks/1/?expand=next,project')
    expect(json).toMatchObject({ expanded: { next: null, project: { name: 'garden' } } })
    const other = await tasks.as('ann', 'GET', '/api/tasks/3/?expand=next')
    expect(other.json).toMatchObject({ expanded: { next: { id: 2, title: 'sow' } } })
    expect(JSON.stringify(other.json)).not.toContain('cost')
  })
})
