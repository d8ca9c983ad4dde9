import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const YAML = `
version: 1
api: { prefix: "" }
models:
  task:
    managed: false
    table: tasks
    fields:
      id: { type: integer, primary_key: true, key: client }
      priority: { type: choice, choices: [high, low, mid] }
resources:
  tasks:
    model: task
    path: /tasks/
    orderable: [priority]
    pagination: { style: cursor, page_size: 1 }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const text of [
    `create type priority as enum ('low', 'mid', 'high')`,
    'create table tasks (id integer primary key, priority priority not null)',
    `insert into tasks values (1, 'mid'), (2, 'high'), (3, 'low'), (4, 'mid')`,
  ])
    await api.database.query({ text, values: [] })
})
afterAll(() => api.close())

test.each([
  { ordering: 'priority', ids: [3, 1, 4, 2] },
  { ordering: '-priority', ids: [2, 4, 1, 3] },
])('choices of an enum have its order, also across pages: $ordering', async ({ ordering, ids }) => {
  const found: unknown[] = []
  let next: string | undefined = `/tasks/?ordering=${ordering}`
  while (next !== undefined && found.length < 9) {
    const response = await api.fetch(next)
    const [task] = (await response.json()) as { id: number }[]
    found.push(task?.id)
    next = /<(?:https?:\/\/[^/]+)?([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
  }
  expect(found).toEqual(ids)
})
