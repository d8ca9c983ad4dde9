import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks, TASKS_YAML, type Tasks } from '../support/tasks.js'

const plugin: Plugin = (app) => {
  app.action('task', 'archive', { summary: 'Archive', handle: () => undefined })
}

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks({ yaml: `${TASKS_YAML}plugins: [./plugin.mjs]\n`, plugin, checkResponses: false })
  await tasks.reset()
  const changes = [`insert into users (subject) values ('both')`, `insert into memberships values (default, 3, 2)`]
  for (const text of changes) await tasks.database.query({ text, values: [] })
})
afterAll(() => tasks.close())

/** The dialogs of a page that change its record, and the fields of the edit. */
async function offered(caller: string, path: string): Promise<string> {
  const response = await tasks.api.fetch(`/explore${path}`, { headers: { authorization: `Dev ${caller}` } })
  expect(response.status).toBe(200)
  const html = await response.text()
  const dialogs = [...html.matchAll(/<dialog id="(edit|delete|action-\w+)"/g)].map(([, id]) => id)
  const fields = [...html.matchAll(/ id="edit-(\w+)" name=/g)].map(([, field]) => field)
  return [...dialogs, ...fields].join(' ')
}

test.each([
  [
    'every change, where a grant has no condition',
    'chief',
    2,
    'edit action-archive delete project title status cost creator next',
  ],
  ['an edit and a delete of a record that rules cover', 'ann', 1, 'edit delete title status next'],
  ['neither, where the rules exclude the record', 'ann', 2, ''],
  ['what a claim allows', 'root', 2, 'edit action-archive delete project title status cost creator next'],
  ['the fields of a grant that covers the record', 'both', 3, 'edit title status next'],
  [
    'the fields of all grants that cover the record',
    'both',
    1,
    'edit action-archive delete project title status cost creator next',
  ],
])('the page of a record offers %s', async (_what, caller, id, expected) => {
  expect(await offered(caller, `/api/tasks/${id}/`)).toBe(expected)
  expect(await offered(caller, `/crud/tasks/${id}/`)).toBe(expected.replace('action-archive ', ''))
})

test('the service rejects changes that the page does not offer', async () => {
  for (const [method, body] of [['PATCH', { title: 'x' }], ['DELETE']] as const)
    expect((await tasks.as('ann', method, '/api/tasks/2/', body)).status).toBe(403)
  expect((await tasks.as('both', 'PATCH', '/api/tasks/3/', { cost: 1 })).status).toBe(403)
  expect((await tasks.as('both', 'PATCH', '/api/tasks/3/', { title: 'x' })).status).toBe(200)
})
