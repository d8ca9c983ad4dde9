import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openDatabase } from '../../src/db/open.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../support/database.js'
import { makeProject, type Project, runInHost } from '../support/cli.js'
import { TASK_ROWS, TASKS_YAML } from '../support/tasks.js'

let project: Project
let database: TestDatabase | undefined
beforeAll(async () => {
  project = await makeProject({ 'resources.yaml': TASKS_YAML })
  database = await openOnlyOnServer()
})
afterAll(async () => {
  await database?.close()
  await project.remove()
})

const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder, env: envOf(database) })
const lineOf = (text: string) => TASKS_YAML.split('\n').findIndex((line) => line.includes(text)) + 1
const ANN = '{"sub":"ann","roles":["member"]}'

describe('the matrix', () => {
  test('has every grant with its rows, fields and line', async () => {
    const { code, stdout } = await run('access')
    expect(code).toBe(0)
    expect(stdout).toContain(`    update, partial_update  line ${lineOf('may: change') - 1}\n`)
    expect(stdout).toContain('      rows     project__in: $my_projects, status: open')
    expect(stdout).toContain('      becomes  project__in: $my_projects, status__in: [open, done]')
    expect(stdout).toContain('      fields   all but cost, creator')
    expect(stdout).toContain('      set      creator: $sub')
    expect(stdout).toContain(`  openapi: anyone  line ${lineOf('routes: {')}`)
  })

  test('is JSON with one entry for each resource, caller and operation', async () => {
    const { grants, denied, routes } = JSON.parse((await run('access', '--json')).stdout)
    expect(grants).toContainEqual({
      resource: 'task',
      path: '/api/tasks/',
      to: 'member',
      operation: 'destroy',
      rows: 'creator: $sub',
      fields: 'all',
      set: [],
      line: lineOf('may: destroy'),
    })
    expect(denied).toEqual([])
    expect(routes).toContainEqual({ name: 'explore', to: ['anyone'], line: lineOf('routes: {') })
  })
})

test('a request for an action is explained by the grants of the action and of everything', async () => {
  const other = await makeProject({
    'resources.yaml': TASKS_YAML.replace('version: 1', 'version: 1\nplugins: [./plugin.mjs]').replace(
      'may: destroy,',
      'may: [destroy, finish],',
    ),
    'plugin.mjs': "export default (app) => app.action('task', 'finish', { summary: 'Finish', handle() {} })",
  })
  const explain = async (caller: string) => {
    const { code, stdout } = await runInHost(['access', '--as', caller, 'POST', '/api/tasks/1/finish/'], {
      cwd: other.folder,
    })
    return [code, stdout]
  }
  expect(await explain(ANN)).toEqual([0, expect.stringContaining('rows  creator: $sub')])
  expect(await explain('{"sub":"root","roles":["boss"]}')).toEqual([0, expect.stringContaining('to boss')])
  expect(await explain('{"sub":"carl","roles":["clerk"]}')).toEqual([1, expect.stringContaining('denied: 403')])
  await other.remove()
})

test('the input of an action is no part of its explanation, and a stored record decides', async () => {
  const other = await makeProject({
    'resources.yaml': `version: 1
plugins: [./plugin.mjs]
auth: { roles: { names: [member] }, user: { model: person, match: subject } }
models:
  person:
    table: people
    fields: { id: { type: bigint, primary_key: true }, subject: { type: string, max: 20, unique: true } }
  task:
    table: tasks
    fields: { id: { type: bigint, primary_key: true }, person: { type: belongs_to, model: person, nullable: true } }
resources:
  task:
    model: task
    path: /tasks/
    access:
      - { to: member, may: [read, finish] }
      - { to: signed_in, may: read, rows: { person: $user } }
      - { to: signed_in, may: finish, rows: { id: 7 } }
`,
    'plugin.mjs':
      "export default (app) => app.action('task', 'finish', { summary: 'Finish', input: { days: { type: 'integer' } }, handle() {} })",
    'migrations/0001_tasks.sql': `-- up
create table people (id bigint generated always as identity primary key, subject text not null);
create table tasks (id bigint generated always as identity primary key, person_id bigint);
insert into tasks (id) overriding system value values (1), (7);
`,
  })
  const project = { cwd: other.folder, env: envOf(undefined) }
  await runInHost(['migrate', 'up'], project)
  const explain = async (caller: string, ...request: readonly string[]) =>
    (await runInHost(['access', '--as', caller, ...request], project)).stdout
  const finish = (id: number) => ['POST', `/api/tasks/${id}/finish/`, '--data', '{"days":1}'] as const
  expect(await explain(ANN, ...finish(1))).toMatch(
    /\nallowed for records that a grant covers\n {2}line \d+ {2}to member\n {2}line \d+ {2}to signed_in\n/,
  )
  expect(await explain(ANN, ...finish(1), '--database')).toMatch(/\nallowed\n/)
  expect(await explain(ANN, ...finish(2), '--database')).toMatch(/\ndenied: 404\n/)
  // The records exist, and the caller cannot see them, although a grant allows the action on one of them.
  for (const id of [1, 7])
    expect(await explain('{"sub":"eve"}', ...finish(id), '--database')).toMatch(/\ndenied: 404\n/)
  expect(await explain(ANN, 'GET', '/api/tasks/1/', '--database')).toContain(
    "person: $user  fails: no person has the caller's subject as `subject`",
  )
  await other.remove()
})

test('a change of records that no grant lets the caller retrieve is explained as not found', async () => {
  const yaml = TASKS_YAML.replace('version: 1', 'version: 1\nplugins: [./plugin.mjs]').replace(
    'may: change',
    'may: [update, finish]',
  )
  const blind = await makeProject({
    'resources.yaml': yaml.replaceAll(/may: (?:read|all|\[read)/g, (may) => may.replace(/read|all/, 'list')),
    'plugin.mjs': "export default (app) => app.action('task', 'finish', { summary: 'Finish', handle() {} })",
  })
  for (const [method, path] of [
    ['PUT', '/api/tasks/1/'],
    ['POST', '/api/tasks/1/finish/'],
  ] as const) {
    const { code, stdout } = await runInHost(['access', '--as', ANN, method, path], {
      cwd: blind.folder,
      env: envOf(undefined),
    })
    expect([code, stdout.split('\n').slice(1, 3)]).toEqual([
      1,
      ['denied: 404', '  no grant to `retrieve` shows the caller the record'],
    ])
  }
  await blind.remove()
})

describe('a request', () => {
  test.each([
    ['of a role without a grant', '{"sub":"eve"}', 'GET', '/api/tasks/', 1, 'denied: 403'],
    ['of nobody', '{}', 'GET', '/api/tasks/', 1, 'denied: 401'],
    ['for a list', ANN, 'GET', '/api/tasks/', 0, 'allowed for records that a grant covers'],
    [
      'with a claim of another type',
      '{"sub":"x","roles":["admin"],"tenant":"7"}',
      'GET',
      '/api/tasks/1/',
      1,
      'denied: 404',
    ],
    [
      'for a list with a filter on a hidden field',
      ANN,
      'GET',
      '/api/tasks/?cost=5',
      1,
      expect.stringMatching(/^denied: 400: .*`cost`/),
    ],
    ['for a list with a filter', ANN, 'GET', '/api/tasks/?title=dig', 0, 'allowed for records that a grant covers'],
    [
      'for a filter whose value has a question mark',
      ANN,
      'GET',
      '/api/tasks/?title=why?&cost=5',
      1,
      expect.stringMatching(/^denied: 400: .*`cost`/),
    ],
    [
      'for hidden parts of a record',
      ANN,
      'GET',
      '/api/tasks/1/?fields=cost',
      1,
      expect.stringMatching(/^denied: 400: .*cost/),
    ],
  ])('%s', async (_name, as, method, path, code, verdict) => {
    const outcome = await run('access', '--as', as, method, path)
    expect(outcome.stdout.split('\n')[1]).toEqual(verdict)
    expect(outcome.code).toBe(code)
  })

  test('names the condition that fails, with its line', async () => {
    const { stdout } = await run('access', '--as', '{"sub":"x","roles":["admin"]}', 'GET', '/api/tasks/1/')
    const line = lineOf('may: all, rows: { project.tenant')
    expect(stdout).toContain(
      `  line ${line}  to admin\n    line ${line}  rows  project.tenant: $tenant  fails: the caller has no such value`,
    )
    expect(stdout).toContain('to member, which the caller is not')
  })

  test('that creates a record is explained with the defaults of its fields', async () => {
    const other = await makeProject({
      'resources.yaml': `version: 1
auth: { roles: { names: [member] } }
models:
  task:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: text }
      status: { type: choice, choices: [open, done], default: open }
resources:
  task: { model: task, path: /tasks/, access: [{ to: member, may: create, rows: { status: done } }] }
`,
    })
    const { code, stdout } = await runInHost(
      ['access', '--as', ANN, 'POST', '/api/tasks/', '--data', '{"title":"x"}'],
      { cwd: other.folder },
    )
    await other.remove()
    expect(code).toBe(1)
    expect(stdout).toContain('rows  status: done  fails')
  })

  test('is rejected without a route, an identity or JSON', async () => {
    expect((await run('access', '--as', ANN, 'GET', '/nowhere')).code).toBe(2)
    expect((await run('access', 'GET', '/api/tasks/')).code).toBe(2)
    expect((await run('access', '--as', 'ann', 'GET', '/api/tasks/')).code).toBe(2)
    expect(await run('access', '--as', '{"sub":"ann","claims":{"tenant":1}}', 'GET', '/api/tasks/')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--as has `claims`, which is neither `sub` nor `roles` nor a claim'),
    })
  })

  test.each([
    {
      option: '--as',
      given: ['{"sub":"ann","roles":[],"tenant":9007199254740993}', 'GET', '/api/tasks/'],
      flaw: 'compared exactly',
    },
    {
      option: '--as',
      given: ['{"sub":"ann","roles":[],"tenants":[3,9007199254740994]}', 'GET', '/api/tasks/'],
      flaw: 'compared exactly',
    },
    {
      option: '--data',
      given: ['{"cost":9007199254740993}', '--as', ANN, 'POST', '/api/tasks/'],
      flaw: 'represented exactly',
    },
  ])('is rejected if `$option` has a number that cannot be $flaw', async ({ option, given, flaw }) => {
    expect(await run('access', option, ...given)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${option} has a number that cannot be ${flaw}`),
    })
  })
})

test('`--diff` says that a folder is not a file', async () => {
  await project.write('older/resources.yaml', TASKS_YAML)
  expect(await run('access', '--diff', 'older')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'cannot read `older`: it is a folder\n  = help: name a file in it: older/resources.yaml',
    ),
  })
})

test('an older configuration shows what became wider, and `--allow-wider` allows it', async () => {
  await project.write('old.yaml', TASKS_YAML.replace('except: [cost, creator]', 'except: [cost, creator, title]'))
  const { code, stdout } = await run('access', '--diff', 'old.yaml')
  expect(code).toBe(1)
  const line = lineOf('except: [cost, creator]')
  expect(stdout).toContain(
    `task.list:member widens\n  new  resources.yaml:${line}  to member; rows project__in: $my_projects; `,
  )
  expect(stdout).toContain(`\n  old  old.yaml:${line}  to member; rows project__in: $my_projects; `)
  const names = ['--allow-wider=task.list:member', '--allow-wider=task.retrieve:member']
  expect(await run('access', '--diff', 'old.yaml', ...names)).toMatchObject({
    code: 0,
    stdout: 'access does not widen\n',
  })
  expect((await run('access', '--diff', 'old.yaml', '--allow-wider=task.destroy:clerk')).code).toBe(2)
  const { wider } = JSON.parse((await run('access', '--diff', 'old.yaml', '--json')).stdout)
  expect(wider).toHaveLength(2)
  expect(wider[0]).toMatchObject({ what: 'task.list:member', line, before: [{ line }] })
})

test('grants that read the same in one line of a file are shown once', async () => {
  const withAccess = (grant: string) => `version: 1
auth: { keys: true, roles: { names: [member] } }
models: { note: { fields: { id: { type: bigint, primary_key: true }, text: { type: string, max: 9 } } } }
resources: { note: { model: note, path: /notes/, access: [${grant}, ${grant}] } }
`
  await project.write('repeated-old.yaml', withAccess('{ to: member, may: list, rows: { text: x } }'))
  await project.write('repeated.yaml', withAccess('{ to: member, may: list }'))
  expect(await run('access', '--config', 'repeated.yaml', '--diff', 'repeated-old.yaml')).toMatchObject({
    code: 1,
    stdout: `note.list:member widens
  new  repeated.yaml:4  to member; fields all
  old  repeated-old.yaml:4  to member; rows text: x; fields all
1 grant or setting may widen access; allow one by --allow-wider=note.list:member
`,
  })
})

describe('a request for a stored record', () => {
  const runAll = async (statements: readonly string[]) => {
    const directory = join(project.folder, '.snippetctl', 'pg')
    const opened = database ?? (await openDatabase({ url: undefined, directory }, {}))
    for (const text of statements) await opened.query({ text, values: [] })
    if (!database) await opened.close()
  }

  beforeAll(async () => {
    expect((await run('migrate', 'plan', '--write', 'first')).code).toBe(0)
    expect((await run('migrate', 'up')).code).toBe(0)
    await runAll(TASK_ROWS)
  })

  test.each([
    ['that is seen', 'GET', '/api/tasks/1/', undefined, 0, 'allowed: 200'],
    ['that is hidden', 'GET', '/api/tasks/4/', undefined, 1, 'denied: 404'],
    ['that may change', 'PATCH', '/api/tasks/1/', '{"title":"x"}', 0, 'allowed: 200'],
    ['that may not change any more', 'PATCH', '/api/tasks/2/', '{"title":"x"}', 1, 'denied: 403'],
    ['that may not become so', 'PATCH', '/api/tasks/1/', '{"status":"archived"}', 1, 'denied: 403'],
    ['with a field that no grant names', 'PATCH', '/api/tasks/1/', '{"project":2}', 1, 'denied: 403'],
  ])('%s', async (_name, method, path, data, code, verdict) => {
    const outcome = await run('access', '--as', ANN, method, path, '--database', ...(data ? ['--data', data] : []))
    expect(outcome.stdout.split('\n')[1]).toBe(verdict)
    expect(outcome.code).toBe(code)
  })

  test('that is hidden from a caller whose subject cannot be that of a user', async () => {
    await project.write('numbered.yaml', TASKS_YAML.replace('match: subject', 'match: id'))
    const numbered = ['GET', '/api/tasks/1/', '--database', '--config', 'numbered.yaml']
    const { code, stdout } = await run('access', '--as', ANN, ...numbered)
    expect([code, stdout.split('\n')[1]]).toEqual([1, 'denied: 404'])
  })

  test('says what the record has in place of the value of a condition', async () => {
    const { stdout } = await run(
      'access',
      '--as',
      ANN,
      'PATCH',
      '/api/tasks/2/',
      '--database',
      '--data',
      '{"title":"x"}',
    )
    const line = lineOf('status: open }')
    expect(stdout).toContain(`    line ${line}  rows  status: open  fails: the value is done`)
    expect(stdout).toContain(`    line ${line}  rows  project__in: $my_projects  holds`)
  })
  test('finds the caller among thousands of members, and does not decide where it cannot read them all', async () => {
    await runAll([
      "insert into users (subject) select 'u' || n from generate_series(1, 1100) n",
      "insert into memberships (user_id, project_id) select id, 1 from users where subject like 'u%' order by id",
    ])
    const decision = async (path: string, ...args: readonly string[]) => {
      const asked = ['--as', '{"sub":"u1100","roles":["member"]}', 'GET', path, '--database', ...args]
      return (await run('access', ...asked)).stdout.split('\n')[1]
    }
    expect(await decision('/api/tasks/1/')).toBe('allowed: 200')
    const memberships = `  membership: { model: membership, path: /memberships/, access: [{ to: member, may: read, rows: { project__in: $my_projects } }] }\n`
    const related = TASKS_YAML.replace('rows: { user: $user }', 'rows: { user.subject: $sub }')
    await project.write('related.yaml', related.replace('resources:\n', `resources:\n${memberships}`))
    for (const path of ['/api/tasks/1/', '/api/memberships/7/'])
      expect(await decision(path, '--config', 'related.yaml')).toBe('allowed for records that a grant covers')
  })
})
