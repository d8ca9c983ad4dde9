import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { startTasks, type Tasks, TASKS_YAML } from '../support/tasks.js'

// Ann sees tasks 1 to 3 without `cost` and `creator`; task 4, which task 1 names as its next, is hidden from her.
const YAML = TASKS_YAML.replace('version: 1', 'version: 1\nplugins: [./plugin.mjs]')
  .replace('except: [cost, creator]', 'except: [cost, creator, weight]')
  .replace(
    '    sparse_fields: true',
    '    computed: { weight: { from: [cost], type: integer } }\n    sparse_fields: true',
  )
  .replace('explore: anyone }', 'explore: anyone, report: admin, /files/: admin }')
  .replace('{ path: /crud, dialect: crud }', '{ path: /crud, dialect: crud }\n  - { path: /more }')
  .replace('    bulk: [create', '    export: true\n    bulk: [create')

const plugin: Plugin = (app) => {
  app.compute('task', 'weight', ({ cost }) => Number(cost) * 2)
  app.authenticate('spoken', ({ headers }) => {
    const said = headers['x-caller']
    return said === undefined ? undefined : (JSON.parse(String(said)) as { subject: string })
  })
  app.route('GET', '/report/', 'report', () => ({ status: 200, body: 'secret' }))
  app.mount('/files/', (_request, response) => void response.end('secret'))
  app.action('task', 'finish', { summary: 'Finish', handle: () => ({ status: 200, body: 'secret' }) })
  app.replace('project', 'destroy', () => ({ status: 200, body: 'secret' }))
}

let tasks: Tasks
beforeAll(async () => {
  tasks = await startTasks({ yaml: YAML, plugin, checkResponses: false })
})
afterAll(() => tasks.close())
beforeEach(() => tasks.reset())

const get = (name: string, path: string, headers?: Readonly<Record<string, string>>) =>
  tasks.as(name, 'GET', path, undefined, headers)
const ANN = { headers: { authorization: 'Dev ann' } }
const idsOf = (json: unknown) => (json as readonly { readonly id: number }[]).map(({ id }) => id).toSorted()
/** The same list at the prefix, at a mount, and in a dialect. */
const LISTS = ['/api/tasks/', '/more/tasks/', '/crud/tasks'] as const
const RECORDS = ['/api/tasks/', '/more/tasks/', '/crud/tasks/'] as const
const page = async (name: string, path: string) => {
  const headers = { authorization: `Dev ${name}`, accept: 'text/html' }
  const response = await tasks.api.fetch(`/explore${path}`, { headers })
  return { status: response.status, text: await response.text() }
}
const crud = (condition: object) => `s=${encodeURIComponent(JSON.stringify(condition))}`

describe.each(['/api/tasks/', '/more/tasks/'])('at %s', (path) => {
  test.each([
    ['29', 'cost=5'],
    ['29', 'cost__gt=5'],
    ['30', 'cost__isnull=true'],
    ['30', 'creator__in=bob'],
    ['31', 'ordering=cost'],
    ['31', 'ordering=-cost,title'],
    ['29', 'distinct=cost'],
    ['36', 'fields=id,cost'],
    ['37', 'fields=weight'],
  ])('%s: a hidden field cannot be asked about: %s', async (_attack, query) => {
    const hidden = await get('ann', `${path}?${query}`)
    const unknown = await get('ann', `${path}?${query.replaceAll(/cost|creator|weight/g, 'nosuch')}`)
    expect([hidden.status, unknown.status]).toEqual([400, 400])
    const shown = await page('ann', `${path}?${query}`)
    expect(shown.status).toBe((await page('ann', `${path}?nosuch=5`)).status)
    expect(shown.text).not.toMatch(/>(?:dig|sow|paint|build)</)
  })

  test.each(['csv', 'json'])('29, 34 and 37: a download as %s has visible records and fields alone', async (form) => {
    const download = (query: string) => tasks.api.fetch(`${path}export.${form}${query}`, ANN)
    const text = await (await download('?ordering=title')).text()
    expect(['dig', 'paint', 'sow', 'build'].filter((title) => text.includes(title))).toEqual(['dig', 'paint', 'sow'])
    expect(text).not.toMatch(/cost|creator|weight|bob/)
    for (const query of ['?cost=5', '?ordering=cost', '?fields=id,cost']) {
      const { status } = await download(query)
      expect([query, status]).toEqual([query, 400])
    }
  })

  test('30 and 34: pages search and count visible records alone', async () => {
    expect((await page('ann', `${path}?search=bob`)).text).not.toMatch(/>(?:sow|build)</)
    const { text } = await page('ann', path)
    expect(text).toContain('paint')
    expect(text).not.toMatch(/cost|creator|weight|>build/i)
  })

  test('52: forms of pages have the fields that the caller may set, and no others', async () => {
    const named = (text: string, form: string) =>
      [...text.matchAll(new RegExp(`id="${form}-\\w+" name="(\\w+)"`, 'g'))].map(([, name]) => name)
    const forms = async (name: string) => [
      named((await page(name, path)).text, 'create'),
      named((await page(name, `${path}1/`)).text, 'edit'),
    ]
    expect(await forms('ann')).toEqual([
      ['project', 'title', 'next'],
      ['title', 'status', 'next'],
    ])
    const all = ['project', 'title', 'status', 'cost', 'creator', 'next']
    expect(await forms('root')).toEqual([all, all])
  })

  test('30: a search by a hidden field finds nothing', async () => {
    expect((await get('ann', `${path}?search=bob`)).json).toEqual([])
    expect((await get('ann', `${path}?search=dig`)).json).toHaveLength(1)
  })

  test('36 and 37: hidden and computed members are absent', async () => {
    for (const query of ['', '?fields=id,title'])
      expect(JSON.stringify((await get('ann', path + query)).json)).not.toMatch(/cost|creator|weight/)
    // A computed field has a grant of its own, whatever it is computed from.
    expect((await get('root', `${path}1/`)).json).toMatchObject({ cost: 5, weight: 10 })
    expect((await get('ann', `${path}1/?fields=cost`)).status).toBe(400)
  })

  test('35: a hidden related record is null, also in a list, and its key only where granted', async () => {
    const one = await get('ann', `${path}1/?expand=next`)
    expect(one.json).toMatchObject({ next: 4, expanded: { next: null } })
    expect(JSON.stringify((await get('ann', `${path}?expand=next,project`)).json)).not.toMatch(
      /build|shed|tenant":8.*bob/,
    )
  })

  test('33: cursors of another caller, or altered, show own records alone', async () => {
    const first = await get('chief', `${path}?page_size=3&ordering=title`)
    const cursor = /cursor=([\w-]+)/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect(cursor).not.toBe('')
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as readonly string[]
    const cursors = [
      cursor,
      ...['', 'a', 'build', 'zzz'].flatMap((title) =>
        ['0', '3', '9'].map((id) => {
          const altered = [...place.slice(0, -2), title, id]
          return Buffer.from(JSON.stringify(altered)).toString('base64url')
        }),
      ),
    ]
    const seen = new Set<number>()
    for (const each of cursors) {
      const { status, json } = await get('ann', `${path}?page=2&page_size=3&ordering=title&cursor=${each}`)
      if (status !== 200) expect(status).toBe(400)
      else for (const id of idsOf(json)) seen.add(id)
    }
    expect([...seen].toSorted().filter((id) => ![1, 2, 3].includes(id))).toEqual([])
  })

  test('34: counts and links are of visible records', async () => {
    const { headers } = await get('ann', `${path}?page_size=1`)
    expect(headers.get('x-total-count')).toBe('3')
    expect(headers.get('link')).toContain('page=3')
    expect(headers.get('link')).not.toContain('page=4')
    expect((await get('ann', `${path}?page=4&page_size=1`)).json).not.toMatchObject([{ id: 4 }])
  })
})

describe('32: in a dialect', () => {
  test.each([
    [crud({ cost: 5 })],
    [crud({ cost: { $gt: 0 } })],
    [crud({ creator: { $isnull: true } })],
    ['filter=cost%7C%7C%24gt%7C%7C5'],
    ['sort=cost,ASC'],
  ])('no parameter asks about a hidden field: %s', async (query) => {
    const hidden = await get('ann', `/crud/tasks?${query}`)
    const unknown = await get('ann', `/crud/tasks?${query.replaceAll(/cost|creator/g, 'nosuch')}`)
    expect(hidden.status).toBe(unknown.status)
    expect(hidden.status).toBe(400)
  })

  test('lists and counts have visible records alone', async () => {
    const { json } = await get('ann', '/crud/tasks?limit=2&page=1')
    expect(json).toMatchObject({ total: 3, pageCount: 2 })
    expect(JSON.stringify(json)).not.toMatch(/cost|weight|build/)
  })
})

describe('38: conditions on a hidden record', () => {
  test.each(RECORDS)('at %s are 404 for each method, with the right tag too', async (path) => {
    const tag = (await get('root', '/api/tasks/4/')).headers.get('etag') ?? ''
    for (const match of [tag, '*', '"0"']) {
      expect((await get('ann', `${path}4/`, { 'if-none-match': match })).status).toBe(404)
      expect((await get('ann', `${path}4/`, { 'if-match': match })).status).toBe(404)
      const headers = { 'if-match': match }
      expect((await tasks.as('ann', 'PATCH', `${path}4/`, { title: 'x' }, headers)).status).toBe(404)
      expect((await tasks.as('ann', 'DELETE', `${path}4/`, undefined, headers)).status).toBe(404)
    }
  })
})

test('39: tags do not depend on hidden fields, so they cannot be guessed from tags', async () => {
  const tags = async () =>
    Promise.all(
      ['/api/tasks/1/', '/more/tasks/1/', '/api/tasks/1/?fields=id,title', '/crud/tasks/1'].map(async (path) =>
        (await get('ann', path)).headers.get('etag'),
      ),
    )
  const before = await tags()
  await tasks.database.query({ text: "update tasks set cost = 77, creator = 'eve' where id = 1", values: [] })
  expect(await tags()).toEqual(before)
  await tasks.database.query({ text: "update tasks set title = 'delve' where id = 1", values: [] })
  for (const [index, tag] of (await tags()).entries()) if (tag !== null) expect(tag).not.toBe(before[index])
})

test('34: a long list is counted, and not estimated, for callers who do not see all of it', async () => {
  const yaml = YAML.replace('pagination: { count: exact }', 'pagination: { count: capped }')
  const counting: Plugin = (app) => {
    const task = app.resource('task')
    app.route('GET', '/total/', 'total', async (context) => {
      const { total } = await context.documents(task).list(task.parseList('page_size=1').plan)
      return { status: 200, body: total }
    })
  }
  const other = await startTasks({
    plugin: counting,
    yaml: yaml
      .replace(/ {4}computed: .*\n/, '')
      .replace(', weight]', ']')
      .replace('report: admin, /files/: admin', 'total: member'),
    checkResponses: false,
  })
  try {
    await other.reset()
    const text = `insert into tasks (project_id, title) select case when n <= 10100 then 1 else 3 end, 't' from generate_series(1, 12000) n`
    await other.database.query({ text, values: [] })
    await other.database.query({ text: 'analyze tasks', values: [] })
    const seen = async (name: string) => {
      const { headers } = await other.as(name, 'GET', '/api/tasks/?page_size=1')
      return [headers.get('x-total-count'), headers.get('x-total-count-estimated')]
    }
    expect(await seen('ann')).toEqual(['10103', null])
    expect(await seen('chief')).toEqual([expect.any(String), 'true'])
    expect((await other.as('ann', 'GET', '/api/total/')).json).toEqual({ rows: 10103, estimated: false })
    expect((await other.as('chief', 'GET', '/api/total/')).json).toMatchObject({ estimated: true })
  } finally {
    await other.close()
  }
})

describe('46: around a rule', () => {
  test.each([
    '/api/tasks/4/',
    '/api/tasks/4',
    '/api//tasks/4/',
    '/api/tasks/%34/',
    '/more/tasks/4/',
    '/crud/tasks/4',
    '/crud/tasks/4/',
  ])('no method and no spelling of %s shows the record', async (path) => {
    for (const method of ['GET', 'HEAD']) expect((await tasks.as('ann', method, path)).status).toBe(404)
    expect((await page('ann', path)).text).not.toContain('build')
  })

  test.each(LISTS)('%s and its page have the same records', async (path) => {
    const { json } = await get('ann', path)
    expect(idsOf(Array.isArray(json) ? json : (json as { data: unknown }).data)).toEqual([1, 2, 3])
    expect((await page('ann', path)).text).not.toMatch(/build|>8</)
  })
})

test('47: actions, replacements, routes of plugins and mounted routers need a grant', async () => {
  const requests = [
    ['POST', '/api/tasks/1/finish/'],
    ['DELETE', '/api/projects/1/'],
    ['DELETE', '/more/projects/1/'],
    ['DELETE', '/crud/projects/1'],
    ['GET', '/api/report/'],
    ['GET', '/files/x'],
  ] as const
  for (const [method, path] of requests) {
    const nobody = await tasks.api.fetch(path, { method })
    const ann = await tasks.api.fetch(path, { method, headers: { authorization: 'Dev ann' } })
    expect([path, nobody.status, ann.status]).toEqual([path, 401, 403])
    expect((await nobody.text()) + (await ann.text())).not.toContain('secret')
  }
})

describe('48: the statements of one caller', () => {
  test('are not those of another with the same roles and other claims, however requests mix', async () => {
    const requests = Array.from({ length: 84 }, (_, index) => {
      const name = ['ann', 'bob', 'root', 'away', 'chief', 'lost'][index % 6] ?? ''
      const others = ['?search=i', '?ordering=-title', '3/', 'export.json'].map((end) => `/api/tasks/${end}`)
      const path = [...LISTS, ...others][index % 7] ?? ''
      return { name, path }
    })
    const read = async ({ name, path }: (typeof requests)[number]): Promise<unknown> => {
      const { status, json } = await get(name, path)
      // Few exports run at once.
      if (status === 503 && path.includes('export')) return read({ name, path })
      return status === 200 ? json : status
    }
    const alone = new Map<string, unknown>()
    for (const each of requests) alone.set(`${each.name} ${each.path}`, await read(each))
    const mixed = await Promise.all(requests.map(read))
    for (const [index, { name, path }] of requests.entries())
      expect([name, path, mixed[index]]).toEqual([name, path, alone.get(`${name} ${path}`)])
  })
})

describe('49: claims with values made to break statements', () => {
  const say = (caller: object) => tasks.api.fetch('/api/tasks/', { headers: { 'x-caller': JSON.stringify(caller) } })

  test.each([["'; drop table tasks; --"], ["ann' or '1'='1"], ['$1'], ['%'], ['ann\\'], ['"ann"']])(
    'the subject %s is a value',
    async (subject) => {
      const response = await say({ subject, roles: ['member'] })
      expect([response.status, await response.json()]).toEqual([200, []])
    },
  )

  test.each<readonly [string, unknown]>([
    ['a text', '7'],
    ['SQL', '7 or true'],
    ['a list', [7]],
    ['a mapping', { id: 7 }],
    ['a number above 2^53', 2 ** 53],
    ['a fraction', 7.5],
    ['a number that no integer holds', 2 ** 40],
    ['true', true],
    ['null', null],
  ])('a tenant that is %s shows nothing', async (_what, tenant) => {
    const response = await say({ subject: 'root', roles: ['admin'], claims: { tenant } })
    expect([response.status, await response.json()]).toEqual([200, []])
  })

  test('rejects a subject that contains NUL', async () => {
    const response = await say({ subject: 'a\0b', roles: ['member'] })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(
      ((await (await say({ subject: 'root', roles: ['admin'], claims: { tenant: 7 } })).json()) as []).length,
    ).toBe(3)
  })
})
