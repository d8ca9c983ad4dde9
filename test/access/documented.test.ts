import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { startTasks } from '../support/tasks.js'

/** The first example of the page. */
const YAML = /```yaml\n([\s\S]*?)```/.exec(readFileSync('docs/access.md', 'utf8'))?.[1] ?? ''

test('the example of docs/access.md does what the page says', async () => {
  const { as, database, close } = await startTasks({ yaml: YAML, checkResponses: false })
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
