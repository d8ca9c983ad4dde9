import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { startTasks } from '../support/tasks.js'

/** The examples of docs/access.md. */
const [TENANTS = '', OWNERS = '', MACHINES = ''] = [
  ...readFileSync('docs/access.md', 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g),
].map(([, yaml = '']) => yaml)

test('the example of tenants in docs/access.md does what the page says', async () => {
  const { as, database, close } = await startTasks({ yaml: TENANTS, checkResponses: false })
  const run = (text: string) => database.query({ text, values: [] })
  try {
    await run("insert into users (subject) values ('ann')")
    await run("insert into projects (tenant, name) values (7, 'garden'), (8, 'house')")
    await run('insert into memberships (user_id, project_id) values (1, 1)')
    await run("insert into tasks (project_id, title) values (2, 'paint')")
    const made = await as('ann', 'POST', '/api/tasks/', { project: 1, title: 'dig', creator: 'eve' })
    expect(made).toMatchObject({
      status: 201,
      json: { id: 2, project: 1, title: 'dig', status: 'open', creator: 'ann' },
    })
    expect(made.json).not.toHaveProperty('cost')
    expect((await as('ann', 'GET', '/api/tasks/')).json).toHaveLength(1)
    expect((await as('root', 'GET', '/api/tasks/')).json).toMatchObject([{ title: 'dig', cost: 0 }])
    expect((await as('ann', 'GET', '/api/tasks/1/')).status).toBe(404)
    expect((await as('ann', 'PATCH', '/api/tasks/2/', { status: 'done' })).status).toBe(200)
    expect((await as('ann', 'PATCH', '/api/tasks/2/', { status: 'open' })).status).toBe(403)
    expect((await as(undefined, 'GET', '/api/tasks/')).status).toBe(401)
    expect((await as(undefined, 'GET', '/openapi.json')).status).toBe(200)
  } finally {
    await close()
  }
})

test('the example of owners: everybody reads what is published, and authors write their own posts', async () => {
  const { as, close } = await startTasks({ yaml: OWNERS, checkResponses: false })
  try {
    const made = await as('ann', 'POST', '/api/posts/', { text: 'Hello', owner: 'bob' })
    expect(made).toMatchObject({ status: 201, json: { id: 1, draft: true, owner: 'ann' } })
    expect((await as(undefined, 'POST', '/api/posts/', { text: 'Hello' })).status).toBe(401)
    for (const name of [undefined, 'bob']) expect((await as(name, 'GET', '/api/posts/')).json).toEqual([])
    expect((await as('bob', 'PATCH', '/api/posts/1/', { text: 'Mine' })).status).toBe(404)
    expect((await as('ann', 'PATCH', '/api/posts/1/', { owner: 'bob' })).status).toBe(403)
    expect((await as('ann', 'PATCH', '/api/posts/1/', { draft: false })).status).toBe(200)
    const published = { id: 1, text: 'Hello', draft: false }
    for (const name of [undefined, 'bob']) expect((await as(name, 'GET', '/api/posts/')).json).toEqual([published])
    expect((await as('ann', 'GET', '/api/posts/')).json).toEqual([{ ...published, owner: 'ann' }])
    expect((await as('bob', 'DELETE', '/api/posts/1/')).status).toBe(403)
    expect((await as('ann', 'DELETE', '/api/posts/1/')).status).toBe(204)
  } finally {
    await close()
  }
})

test('the example of machines: meters send readings that only the dashboard shows', async () => {
  const { as, database, close } = await startTasks({ yaml: MACHINES, checkResponses: false })
  try {
    const made = await as('meter', 'POST', '/api/readings/', { value: 7, source: 'other' })
    expect([made.status, made.json]).toEqual([201, undefined])
    const { rows } = await database.query({ text: 'select source, value from readings', values: [] })
    expect(rows).toEqual([['meter', '7']])
    expect((await as('board', 'GET', '/api/readings/')).json).toEqual([{ value: 7, taken_at: expect.any(String) }])
    expect((await as('meter', 'GET', '/api/readings/')).status).toBe(403)
    expect((await as('board', 'POST', '/api/readings/', { value: 7 })).status).toBe(403)
    expect((await as(undefined, 'GET', '/api/readings/')).status).toBe(401)
  } finally {
    await close()
  }
})
