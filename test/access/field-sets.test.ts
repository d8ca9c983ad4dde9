import { expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks } from '../support/tasks.js'

const AUTH = 'auth: { roles: { names: [member] }, development: { ann: { roles: [member] } } }'

test('grants of many computed fields show the computed fields that all of them show', async () => {
  const numbers = Array.from({ length: 33 }, (_, at) => at)
  const yaml = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
${AUTH}
models:
  item: { table: items, fields: { id: { type: bigint, primary_key: true }, state: { type: integer } } }
resources:
  item:
    model: item
    path: /items/
    computed:
      all: { from: [state], type: integer }
${numbers.map((at) => `      c${at}: { from: [state], type: integer }`).join('\n')}
    access:
${numbers.map((at) => `      - { to: member, may: read, rows: { state: ${at} }, fields: [id, ${at === 0 ? '' : 'state, '}all, c${at}] }`).join('\n')}
`
  const plugin: Plugin = (app) => {
    for (const name of ['all', ...numbers.map((at) => `c${at}`)])
      app.compute('item', name, ({ state }) => state as number)
  }
  const items = await startTasks({ yaml, plugin, checkResponses: false })
  await items.database.query({ text: 'insert into items (state) values (0), (7), (40)', values: [] })
  const { status, json } = await items.as('ann', 'GET', '/items/')
  await items.close()
  expect([status, json]).toEqual([
    200,
    [
      { id: 1, all: 0 },
      { id: 2, state: 7, all: 7 },
    ],
  ])
})

test.each([
  { field: 'note: { type: json, nullable: true }', one: '{ a: 1 }', two: '{ a: 2 }', stored: { a: 2 } },
  {
    field: 'note: { type: array, items: { type: string, max: 9 }, max: 9, nullable: true }',
    one: '[a, b]',
    two: '["a,b"]',
    stored: ['a,b'],
  },
])('a record has the value that its own grant sets: $two', async ({ field, one, two, stored }) => {
  const items = await startTasks({
    yaml: `version: 1
api: { prefix: "" }
${AUTH}
models:
  item: { fields: { id: { type: bigint, primary_key: true }, state: { type: choice, choices: [open, done] }, ${field} } }
resources:
  item:
    model: item
    path: /items/
    access:
      - { to: member, may: read }
      - { to: member, may: [create, change], rows: { state: open }, set: { note: ${one} } }
      - { to: member, may: [create, change], rows: { state: done }, set: { note: ${two} } }
`,
  })
  const made = await items.as('ann', 'POST', '/items/', { state: 'done' })
  const changed = await items.as('ann', 'PATCH', made.headers.get('location') ?? '', { state: 'done' })
  await items.close()
  expect([made.status, made.json]).toEqual([201, { id: expect.any(Number), state: 'done', note: stored }])
  expect([changed.status, changed.json]).toEqual([200, { id: expect.any(Number), state: 'done', note: stored }])
})
