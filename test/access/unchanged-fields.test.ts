import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { testDatabaseKind } from '../support/database.js'
import { startTasks, type Tasks } from '../support/tasks.js'

// Members may change titles alone, and see everything but the pin.
const YAML = `version: 1
api: { prefix: "" }
auth: { roles: { names: [member] }, development: { ann: { roles: [member] } } }
models:
  plan:
    table: plans
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 20 }
      span: { type: interval }
      price: { type: decimal }
      fee: { type: decimal, precision: 6, scale: 2 }
      code: { type: text }
      tags: { type: array, items: { type: decimal } }
      extra: { type: json }
      at: { type: timestamp }
      day: { type: date, nullable: true }
      pin: { type: string, max: 4, write_only: true }
resources:
  plan:
    model: plan
    path: /plans/
    bulk: [partial_update]
    access:
      - { to: member, may: read }
      - { to: member, may: change, fields: [title] }
`

let plans: Tasks
beforeAll(async () => {
  plans = await startTasks({ yaml: YAML })
  // The embedded database has no such collations.
  const collation = `create collation nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    alter table plans alter code type text collate nocase`
  if (testDatabaseKind() === 'postgres') await plans.database.query({ text: collation, values: [] })
})
afterAll(() => plans.close())
beforeEach(async () => {
  const fill = `truncate plans restart identity;
    insert into plans (title, span, price, fee, code, tags, extra, at, pin)
    values ('a', '1 month', 1.50, 2.5, 'Ann', '{1.0,2}', '{"n": 1.0, "more": {"a": [1]}}', '2026-01-02 03:04:05.6Z', '4711')`
  await plans.database.query({ text: fill, values: [] })
})

const read = async () => (await plans.as('ann', 'GET', '/plans/1/')).json as Record<string, unknown>
const change = async (body: object) => {
  const { status, json } = await plans.as('ann', 'PATCH', '/plans/1/', body)
  return { status, errors: Object.keys((json as { errors?: object }).errors ?? {}) }
}

describe('a field that no grant for the change names', () => {
  test('may be sent back as it was read, with any change of other fields', async () => {
    const before = await read()
    expect(await change({ ...before, title: 'b' })).toEqual({ status: 200, errors: [] })
    expect(await read()).toEqual({ ...before, title: 'b' })
    expect(await change({ fee: '2.5' })).toEqual({ status: 200, errors: [] })
  })

  test.each([
    ['span', 'P30D'],
    ['price', '1.5000'],
    ['code', 'ANN'],
    ['tags', ['1', '2.00']],
    ['extra', { n: 2 }],
    ['extra', { more: null }],
    ['day', '2026-01-01'],
  ])('cannot be changed to another value, even if PostgreSQL calls it equal: %s', async (name, value) => {
    const before = await read()
    expect(await change({ [name]: value })).toEqual({ status: 403, errors: [name] })
    expect(await change({ title: 'b', [name]: value })).toEqual({ status: 403, errors: [name] })
    expect(await read()).toEqual(before)
  })

  test('is unknown if responses never have it, so that no value can be guessed', async () => {
    const [right, wrong] = [await change({ pin: '4711' }), await change({ pin: '0000' })]
    expect(right).toEqual({ status: 400, errors: ['pin'] })
    expect(wrong).toEqual(right)
  })
})
