import { describe, expect, test } from '@jest/globals'
import { AUTH, GRANTS, verify, yamlWith } from '../support/verified.js'

test.each([
  ['writes need an entity tag and a key', '    concurrency: required\n    idempotency: required\n', ''],
  [
    'links to other pages have another origin',
    '    pagination: { page_size: 1 }\n',
    'api: { public_url: https://api.example }',
  ],
])(
  'a service has no difference where %s',
  async (_what, resource, more) => {
    const yaml = yamlWith(GRANTS, more).replace('    path: /tasks/\n', `    path: /tasks/\n${resource}`)
    const { code, requests, differences } = await verify(yaml)
    expect({ code, differences }).toEqual({ code: 0, differences: [] })
    expect(requests).toBeGreaterThan(100)
  },
  120_000,
)

test.each([
  { tables: 'all tables belong', managed: '' },
  { tables: 'a table to which others refer belongs', managed: 'managed: true' },
])(
  'a service has no difference where $tables to another program',
  async ({ managed }) => {
    const yaml = yamlWith(GRANTS, 'database: { managed: false }')
      .replace('    table: tasks\n', `    table: ${managed === '' ? 'sales.tasks' : 'tasks'}\n    ${managed}\n`)
      .replace('default: open', managed === '' ? 'default: { function: database }' : 'default: open')
      .replace(
        'title: {',
        `${managed === '' ? 'slug: { type: text, generated: true }\n      mood: { type: text, nullable: true, collation: only_there }\n      ' : ''}title: {`,
      )
      .replace('path: /projects/, access: [', 'path: /projects/, access: [{ to: member, may: [read, destroy] }, ')
    const { code, requests, differences, empty } = await verify(yaml)
    expect({ code, differences, empty }).toEqual({ code: 0, differences: [], empty: [] })
    expect(requests).toBeGreaterThan(100)
  },
  120_000,
)

test('a service has no difference where `set` stores the text `none`', async () => {
  const yaml = yamlWith(
    '- { to: member, may: read }\n      - { to: member, may: [create, update], set: { title: none } }',
  )
  const { code, differences } = await verify(yaml)
  expect({ code, differences }).toEqual({ code: 0, differences: [] })
})

test('a service has no difference where numbers have more digits than JavaScript keeps', async () => {
  const yaml = yamlWith(
    `- { to: member, may: all, rows: { size__gt: "9223372036854775806" } }
      - { to: member, may: all, rows: { price: "1.2345678901234567891" } }`,
  ).replace(
    'status:',
    'size: { type: bigint }\n      price: { type: decimal, precision: 30, scale: 20 }\n      status:',
  )
  expect(await verify(yaml)).toMatchObject({ code: 0, differences: [], idle: [], empty: [] })
})

test('a service has no difference where only the database can decide a condition', async () => {
  const yaml = yamlWith(
    `- { to: member, may: read, rows: { due__lte: '2026-01-01T00:00:00Z' } }
      - { to: member, may: read, rows: { status: open } }`,
  ).replace('      status: {', '      due: { type: timestamp, nullable: true }\n      status: {')
  const { code, differences } = await verify(yaml)
  expect({ code, differences }).toEqual({ code: 0, differences: [] })
})

test('a service has no difference where only the database can decide who belongs to a set', async () => {
  const auth = `auth:
  roles: { names: [member] }
  claims: { tenant: { type: integer } }
  user: { model: person, match: subject }
  sets: { mine: { of: membership.project, rows: { person: $user, since__lte: '2030-01-01T00:00:00Z' } } }`
  const models = `models:
  person:
    table: people
    fields: { id: { type: bigint, primary_key: true }, subject: { type: string, max: 100, unique: true } }
  membership:
    table: memberships
    fields:
      id: { type: bigint, primary_key: true }
      person: { type: belongs_to, model: person }
      project: { type: belongs_to, model: project }
      since: { type: timestamp }`
  const access = '- { to: member, may: [read, change], rows: { project__in: $mine } }'
  const { code, differences } = await verify(yamlWith(access).replace(AUTH, auth).replace('models:', models))
  expect({ code, differences }).toEqual({ code: 0, differences: [] })
})

test.each([
  { x: 'type: date', rule: 'x__gte: "2024-01-01"' },
  { x: 'type: uuid', rule: 'x: "11111111-1111-1111-1111-111111111111"' },
  { x: 'type: integer, minimum: 0, maximum: 10', rule: 'x__lte: 10' },
  { x: 'type: integer, minimum: 1000', rule: 'x__gt: 1000' },
  { x: 'type: decimal, precision: 5, scale: 2, minimum: 1', rule: 'x__gte: "1"' },
  { x: 'type: string, max: 3', rule: 'x: abc' },
  { x: 'type: string, min: 5, max: 6', rule: 'x: abcde' },
  { x: 'type: text, pattern: "^[0-9]{3}-[a-z]+$"', rule: 'n: 1' },
  { x: 'type: text, pattern: "^(?:[^a-z]{2}|x?y*)$"', rule: 'n: 1' },
  { x: 'type: array, items: { type: integer }', rule: 'n: 1' },
  { x: 'type: array, items: { type: integer }, nullable: true', rule: 'n: 1' },
  { x: 'type: array, items: { type: date }, min: 2, max: 2', rule: 'n: 1' },
  { x: 'type: array, items: { type: text, pattern: "^[0-9]{3}$", nullable: true }', rule: 'n: 1' },
  { x: 'type: json', rule: 'n: 1' },
  { x: 'type: float, minimum: 5', rule: 'n: 1' },
  { x: 'type: interval', rule: 'n: 1' },
  { x: 'type: inet', rule: 'n: 1' },
  { x: 'type: binary', rule: 'n: 1' },
  { x: 'type: email', rule: 'x: ann@example.com' },
  { x: 'type: timestamp, auto: on_create', rule: 'n: 1' },
  { x: 'type: timestamp, auto: on_update', rule: 'n: 1' },
  { x: 'type: timestamp, default: { function: now }', rule: 'n: 1' },
  { x: 'type: timestamp, auto: on_update', rule: 'x__gte: "2024-01-01T00:00:00Z"' },
])(
  'a service has no difference with { $x } and { $rule }',
  async ({ x, rule }) => {
    const { code, empty, requests, differences } = await verify(`version: 1
auth: { roles: { names: [member] } }
models:
  thing:
    table: things
    fields: { id: { type: bigint, primary_key: true }, x: { ${x} }, n: { type: integer } }
resources:
  thing: { model: thing, path: /things/, access: [{ to: member, may: all, rows: { ${rule} } }] }
`)
    expect({ code, empty, differences }).toEqual({ code: 0, empty: [], differences: [] })
    expect(requests).toBeGreaterThan(20)
  },
  120_000,
)

test('a field without a known value is named', async () => {
  const { code, empty } = await verify(`version: 1
auth: { roles: { names: [member] } }
models:
  thing:
    table: things
    fields: { id: { type: bigint, primary_key: true }, x: { type: string, max: 3, pattern: "^[0-9]+-[a-z]{2}-[a-z]$" } }
resources:
  thing: { model: thing, path: /things/, access: [{ to: member, may: all }] }
`)
  const reason = 'no value is known that the rules of `x` allow; a `default` would be one'
  expect({ code, empty }).toEqual({ code: 1, empty: [{ model: 'thing', reason }] })
})

describe('a field with a collation of its own', () => {
  const yaml = yamlWith(GRANTS).replace('title: { type: string, max: 20', 'title: { type: text, collation: own')

  test('is named if no migration creates it', async () => {
    await expect(verify(yaml)).rejects.toThrow(
      /task\.title has the collation own, which an empty database does not have\n.*Create the collation in a migration/,
    )
  })
})

test('a view may come before the one that it reads', async () => {
  const views = `  most:
    view: select status, max(stats)::integer as stats from stats group by status
    primary_key: [status]
    fields: { status: { type: text }, stats: { type: integer } }
  stats:
    view: select status, count(*)::integer as stats, 'most' as most from tasks group by status
    primary_key: [status]
    fields: { status: { type: text }, stats: { type: integer }, most: { type: text } }
resources:`
  expect(await verify(yamlWith(GRANTS).replace('resources:', views))).toMatchObject({ code: 0, differences: [] })
})

test('a service has no difference with the records of a view', async () => {
  const view = `  stats:
    view: select id as task_id, status, char_length(title) as length from tasks
    primary_key: [task]
    fields: { task: { type: belongs_to, model: task }, status: { type: text }, length: { type: integer } }
resources:
  stats:
    model: stats
    path: /stats/
    read_only: true
    access: [{ to: member, may: read, rows: { status: open } }]`
  const { code, differences } = await verify(yamlWith(GRANTS).replace('resources:', view))
  expect({ code, differences }).toEqual({ code: 0, differences: [] })
})

test('a view that fails on the records is named, and everything else is compared', async () => {
  const view = `  codes:
    view: select id, title::integer as code from tasks
    primary_key: [task]
    fields: { task: { type: belongs_to, model: task, column: id }, code: { type: integer } }
resources:
  codes: { model: codes, path: /codes/, read_only: true, access: [{ to: member, may: read }] }`
  const { code, requests, differences, empty } = await verify(yamlWith(GRANTS).replace('resources:', view))
  const reason = 'invalid input syntax for type integer: "a"'
  expect({ code, differences, empty }).toEqual({ code: 1, differences: [], empty: [{ model: 'codes', reason }] })
  expect(requests).toBeGreaterThan(0)
})

test('a condition that no caller notices is reported with its line', async () => {
  const yaml = yamlWith(`- { to: member, may: read }\n      - { to: member, may: read, rows: { status: open } }`)
  const line = yaml.split('\n').findIndex((each) => each.includes('rows: { status: open }')) + 1
  const { code, idle } = await verify(yaml)
  expect({ code, idle }).toEqual({
    code: 0,
    idle: [{ line, condition: 'status: open', reason: 'changes nothing: other grants cover the same' }],
  })
})

test('a plugin that acts around the rules is a difference, and exit code 1', async () => {
  const plugin = `export default (app) => {
  app.replace('task', 'retrieve', async ({ context, id }) => ({
    status: 200,
    body: (await context.service.knex('tasks').where({ id: String(id) }).select('id', 'title'))[0] ?? {},
  }))
}`
  const { code, differences } = await verify(yamlWith(GRANTS, 'plugins: [./plugin.mjs]'), { plugin })
  expect(code).toBe(1)
  expect(differences.map(({ request }) => request)).toContainEqual(expect.stringMatching(/^GET .*\/tasks\/\d+\/$/))
})
