import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks, type Tasks, TASKS_YAML } from '../support/tasks.js'

// Ann sees tasks 1 to 3 without `cost` and `creator`.
const YAML = TASKS_YAML.replace('version: 1', 'version: 1\nplugins: [./plugin.mjs]')
  .replace('explore: anyone }', 'explore: anyone, report: admin }')
  .replace('{ path: /crud, dialect: crud }', '{ path: /crud, dialect: crud }\n  - { path: /more }')
  .replace('    bulk: [create', '    export: true\n    bulk: [create')

let replacing = () => Promise.resolve()
const plugin: Plugin = (app) => {
  app.authenticate('spoken', ({ headers }) => {
    const said = headers['x-caller']
    return said === undefined ? undefined : (JSON.parse(String(said)) as { subject: string })
  })
  app.route('GET', '/report/', 'report', () => ({ status: 200, body: 'secret' }))
  app.action('task', 'finish', { summary: 'Finish', handle: () => ({ status: 200, body: 'secret' }) })
  app.action('task', 'look', { method: 'GET', summary: 'Look', output: 'record', handle: () => undefined })
  app.hooks('task', {
    beforeCreate: async ({ values }) => {
      if (values['title'] === 'reload') await replacing()
    },
  })
}

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks({ yaml: YAML, plugin, checkResponses: false })
})
afterAll(() => tasks.close())
beforeEach(() => tasks.reset())

const stored = async () => {
  const text = 'select project_id, title, creator from tasks order by id'
  return (await tasks.database.query({ text, values: [] })).rows
}
const send = async (method: string, path: string, body?: unknown) => (await tasks.as('ann', method, path, body)).status
const page = async (path: string, headers: Readonly<Record<string, string>>) => {
  const response = await tasks.api.fetch(`/explore${path}`, { headers: { accept: 'text/html', ...headers } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
const ANN = { authorization: 'Dev ann' }

describe('several records in a dialect', () => {
  const create = (...bulk: readonly object[]) => tasks.as('ann', 'POST', '/crud/tasks/bulk', { bulk })

  test('26: created with another owner have their own', async () => {
    const { status } = await create(...['a', 'b'].map((title) => ({ project: 1, title, creator: 'bob' })))
    expect(status).toBe(201)
    expect((await stored()).slice(4).map(([, , creator]) => creator)).toEqual(['ann', 'ann'])
  })

  test('29: a hidden field is unknown', async () => {
    expect((await create({ project: 1, title: 'a', cost: 5 })).status).toBe(400)
  })

  test('40 and 45: with one that refers to a hidden record, nothing is done', async () => {
    const problems = []
    for (const next of [4, 99]) {
      const { status, json } = await create({ project: 1, title: 'a' }, { project: 1, title: 'b', next })
      const { request_id: _, ...problem } = json as Readonly<Record<string, unknown>>
      problems.push({ status, ...problem })
    }
    expect(problems[0]?.status).toBe(409)
    expect(problems[0]).toEqual(problems[1])
    expect((await create({ project: 1, title: 'a' }, { project: 3, title: 'b' })).status).toBe(409)
    expect(await stored()).toHaveLength(4)
  })
})

describe('33: cursors in Explore', () => {
  test.each(['/api/tasks/', '/more/tasks/'])('show visible records alone at %s', async (path) => {
    const query = '?page_size=3&ordering=title'
    const link = (await tasks.as('chief', 'GET', path + query)).headers.get('link') ?? ''
    const cursor = /cursor=([\w-]+)/.exec(link)?.[1] ?? ''
    expect(cursor).not.toBe('')
    const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as readonly string[]
    for (const end of [parts.slice(-2), ['', '0'], ['a', '9']]) {
      const altered = Buffer.from(JSON.stringify([...parts.slice(0, -2), ...end])).toString('base64url')
      const { text } = await page(`${path}${query}&page=2&cursor=${altered}`, ANN)
      expect(text).not.toMatch(/>build|>shed|cost|creator/)
    }
  })
})

test('34: pages of Explore count visible records alone', async () => {
  for (const path of ['/api/tasks/', '/more/tasks/', '/crud/tasks'])
    expect((await page(path, ANN)).text).toMatch(/\b3 (?:records|of 3)|of 3\b/)
})

test('39 and 53: pages of Explore have no tag and are not stored', async () => {
  for (const path of ['/api/tasks/1/', '/more/tasks/1/', '/crud/tasks/1']) {
    const { status, headers } = await page(path, ANN)
    expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([200, null, 'no-store'])
  }
})

describe('47: without a grant', () => {
  // Mounts and dialects have no actions.
  test.each(['/api/tasks/1/', '/more/tasks/1/', '/crud/tasks/1/'])('no action runs at %s', async (path) => {
    for (const [method, action] of [
      ['POST', 'finish/'],
      ['GET', 'look/'],
    ] as const) {
      const nobody = await tasks.api.fetch(path + action, { method })
      const ann = await tasks.api.fetch(path + action, { method, headers: ANN })
      expect([nobody.status, ann.status]).toEqual(path.startsWith('/api') ? [401, 403] : [404, 404])
      expect((await nobody.text()) + (await ann.text())).not.toContain('secret')
    }
  })

  test.each(['/api/report/', '/api/tasks/1/look/', '/api/tasks/1/finish/'])(
    'the page of %s shows no response',
    async (path) => {
      expect((await page(path, ANN)).text).not.toMatch(/secret|>dig|"title"/)
    },
  )
})

test('48: pages and bulk requests of callers are their own, however requests mix', async () => {
  const titles = ['dig', 'sow', 'paint', 'build']
  const seen = async (name: string, path: string) => {
    const { text } = await page(path, { authorization: `Dev ${name}` })
    return titles.filter((title) => text.includes(`>${title}<`))
  }
  const requests = ['ann', 'bob', 'root', 'away', 'chief', 'lost'].flatMap((name) =>
    ['/api/tasks/', '/more/tasks/', '/crud/tasks'].map((path) => [name, path] as const),
  )
  const alone: unknown[] = []
  for (const [name, path] of requests) alone.push(await seen(name, path))
  expect(new Set(alone.map((each) => JSON.stringify(each))).size).toBeGreaterThan(3)
  expect(await Promise.all(requests.map(([name, path]) => seen(name, path)))).toEqual(alone)
})

describe('49: claims with values made to break statements', () => {
  const say = (path: string, caller: object, init: RequestInit = {}) =>
    tasks.api.fetch(path, {
      ...init,
      headers: { 'x-caller': JSON.stringify(caller), 'content-type': 'application/json', accept: 'application/json' },
    })
  const SUBJECTS = ["'; drop table tasks; --", "ann' or '1'='1", '$1', '%', 'ann\\', '"ann"']
  const TENANTS = ['7', '7 or true', [7], { id: 7 }, 2 ** 53, 7.5, 2 ** 40, true, null]

  test.each(['/api/tasks/', '/more/tasks/', '/crud/tasks', '/api/tasks/export.json', '/api/tasks/?search=i'])(
    'are values, or conditions that do not hold, at %s',
    async (path) => {
      const callers = [
        ...SUBJECTS.map((subject) => ({ subject, roles: ['member'] })),
        ...TENANTS.map((tenant) => ({ subject: 'root', roles: ['admin'], claims: { tenant } })),
      ]
      for (const caller of callers) {
        const response = await say(path, caller)
        const found = (await response.json()) as unknown[] | { readonly data: unknown[] }
        const records = Array.isArray(found) ? found : found.data
        expect([caller, response.status, records]).toEqual([caller, 200, []])
      }
    },
  )

  test('find nothing on pages', async () => {
    for (const subject of SUBJECTS) {
      const response = await tasks.api.fetch('/explore/api/tasks/', {
        headers: { 'x-caller': JSON.stringify({ subject, roles: ['member'] }), accept: 'text/html' },
      })
      expect(await response.text()).not.toMatch(/>dig|>build/)
    }
  })

  test('are values of records', async () => {
    for (const [place, subject] of SUBJECTS.entries()) {
      const several = place % 2 === 1
      const record = { project: 1, title: 'x' }
      const path = ['/api/tasks/', '/more/tasks/', '/crud/tasks'][place % 3] ?? ''
      const body = JSON.stringify(several && path !== '/crud/tasks' ? [record] : record)
      const caller = { subject, roles: ['member', 'boss'] }
      await tasks.database.query({ text: 'insert into users (subject) values ($1)', values: [subject] })
      await tasks.database.query({
        text: 'insert into memberships (user_id, project_id) select id, 1 from users where subject = $1',
        values: [subject],
      })
      expect((await say(path, { ...caller, roles: ['member'] }, { method: 'POST', body })).status).toBe(201)
      expect((await stored()).at(-1)).toEqual(['1', 'x', subject])
    }
  })
})

describe('51: rules that are replaced during a request', () => {
  afterEach(() => tasks.api.replace(YAML))

  const record = (title: string) => ({ project: 1, title })
  test.each<readonly [string, (title: string) => unknown]>([
    ['/more/tasks/', record],
    ['/crud/tasks', record],
    ['/api/tasks/', (title) => [record(title)]],
    ['/more/tasks/', (title) => [record(title)]],
    ['/crud/tasks/bulk', (title) => ({ bulk: [record(title)] })],
  ])('apply to the next one at %s', async (path, bodyOf) => {
    const yaml = YAML.replace(
      'may: create\n        rows: { project__in: $my_projects }',
      'may: create\n        rows: { project: 2 }',
    )
    expect(yaml).not.toBe(YAML)
    replacing = () => tasks.api.replace(yaml)
    expect(await send('POST', path, bodyOf('reload'))).toBe(201)
    expect(await send('POST', path, bodyOf('later'))).toBe(403)
  })
})

test('52: OPTIONS at a mount and in a dialect has what the caller may do', async () => {
  for (const path of ['/more/tasks/', '/more/tasks/1/', '/crud/tasks', '/crud/tasks/1']) {
    expect(await send('OPTIONS', path)).toBe(200)
    expect(JSON.stringify((await tasks.as('ann', 'OPTIONS', path)).json)).not.toMatch(/cost|creator/)
    expect(JSON.stringify((await tasks.as('root', 'OPTIONS', path)).json)).toContain('cost')
    expect((await tasks.as(undefined, 'OPTIONS', path)).status).toBe(401)
    const { headers } = await tasks.as('carl', 'OPTIONS', path)
    expect(headers.get('allow') ?? '').not.toMatch(/GET|PATCH|DELETE/)
  }
})
