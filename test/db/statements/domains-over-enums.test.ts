import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { runSql } from '../../support/existing.js'
import { projectPerTest } from '../../support/project-per-test.js'

// The names need quotes, one type is in another schema, and one domain is over another. PostgreSQL takes no foreign key of such a column.
const SQL = `
  create schema kept;
  create type kept."Mood's" as enum ('sad', 'ok', 'happy');
  create domain "Feeling" as kept."Mood's" default 'ok' check (value::text <> 'x');
  create domain kept.felt as "Feeling" not null;
  create domain feelings as kept."Mood's"[];
  create table moods (name kept.felt primary key, note text);
  create table days (mood "Feeling", nth integer, felt kept.felt, past feelings, also "Feeling"[], other "Feeling" unique, primary key (nth, felt));
`
const ROWS = `
  delete from days; delete from moods;
  insert into moods values ('sad', 'low'), ('happy', 'high'), ('ok', null);
  insert into days values ('sad', 1, 'happy', '{sad,ok}', '{happy}', 'sad'), ('happy', 2, 'sad', '{}', '{}', null), (null, 3, 'ok', null, null, 'ok');
`
const MOOD = 'type: choice, choices: [sad, ok, happy]'
const YAML = `version: 1
api: { prefix: "" }
database: { managed: false }
auth: { roles: { names: [member, guest] }, claims: { mood: { type: string } }, sets: { high: { of: mood.name, rows: { note: high } } }, development: { ann: { roles: [member] }, bob: { roles: [guest], claims: { mood: sad } } } }
mounts: [{ path: /json-server, dialect: json-server }]
models:
  mood: { table: moods, fields: { name: { ${MOOD}, primary_key: true, key: client }, note: { type: text, nullable: true } } }
  day:
    table: days
    primary_key: [nth, felt]
    fields:
      mood: { type: belongs_to, model: mood, column: mood, nullable: true }
      nth: { type: integer }
      felt: { type: text, max: 9 }
      past: { type: array, items: { ${MOOD}, nullable: true }, nullable: true }
      also: { type: array, items: { ${MOOD}, nullable: true }, nullable: true }
      other: { ${MOOD}, nullable: true, unique: true }
resources:
  mood:
    model: mood
    path: /moods/
    bulk: [create, partial_update, destroy]
    filterable: { name: [exact, ne, in, not_in, isnull], note: [exact] }
    orderable: [name]
    pagination: { style: cursor, page_size: 1, max_page_size: 9 }
    access: [{ to: member, may: all }, { to: guest, may: [read, change], rows: { name: $mood } }]
  day:
    model: day
    path: /days/
    bulk: [create, partial_update, destroy]
    filterable: { mood: [exact, in, ne], felt: [exact, contains, iexact, in], past: [has, contains, overlaps], also: [has], other: [exact, isnull], mood.note: [exact], mood.name: [exact] }
    search: [felt]
    distinct: [felt, other]
    orderable: [felt, other, mood]
    nulls: { other: last, mood: last }
    pagination: { style: cursor, page_size: 1, max_page_size: 9 }
    expand: { mood: { resource: mood } }
    access: [{ to: member, may: all }, { to: guest, may: [read, change], rows: { mood__in: $high } }, { to: guest, may: create, rows: { other: $mood, mood.note: high } }]
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  await runSql(api.database, SQL)
})
beforeEach(() => runSql(api.database, ROWS))
afterAll(() => api.close())

const as = (caller: string) => ({ headers: { authorization: `Dev ${caller}` } })
const get = async (path: string, caller = 'ann') => {
  const response = await api.fetch(path, as(caller))
  return { status: response.status, body: (await response.json()) as unknown, link: response.headers.get('link') }
}
const nths = async (query: string, caller?: string) => {
  const { status, body } = await get(`/days/?page_size=9&ordering=felt&${query}`, caller)
  return status === 200 ? (body as { nth: number }[]).map(({ nth }) => nth) : { status, body }
}

describe('a column of a domain over an enum', () => {
  test.each([
    { query: 'felt=ok', found: [3] },
    { query: 'felt__in=ok,sad', found: [2, 3] },
    { query: 'felt__contains=a', found: [2, 1] },
    { query: 'felt__iexact=SAD', found: [2] },
    { query: 'search=PP', found: [1] },
    { query: 'other=sad', found: [1] },
    { query: 'other__isnull=false', found: [3, 1] },
    { query: 'mood=sad', found: [1] },
    { query: 'mood__in=sad,happy', found: [2, 1] },
    { query: 'mood__ne=sad', found: [2, 3] },
    { query: 'mood.note=high', found: [2] },
    { query: 'mood.name=sad', found: [1] },
    { query: 'past__has=ok', found: [1] },
    { query: 'past__contains=sad,ok', found: [1] },
    { query: 'past__overlaps=happy,ok', found: [1] },
    { query: 'also__has=happy', found: [1] },
    { query: 'expand=mood', found: [2, 3, 1] },
  ])('can be compared: ?$query', async ({ query, found }) => {
    expect(await nths(query)).toEqual(found)
  })

  test.each([
    { query: 'name=sad', found: ['sad'] },
    { query: 'name__ne=sad', found: ['ok', 'happy'] },
    { query: 'name__in=sad,happy', found: ['sad', 'happy'] },
    { query: 'name__not_in=sad,happy', found: ['ok'] },
  ])('can be compared where it is the key: ?$query', async ({ query, found }) => {
    const { body } = await get(`/moods/?page_size=9&${query}`)
    expect(body).toEqual(found.map((name) => expect.objectContaining({ name })))
  })

  test.each([
    { path: '/moods/?ordering=name', found: ['sad', 'ok', 'happy'] },
    { path: '/moods/?ordering=-name', found: ['happy', 'ok', 'sad'] },
    { path: '/days/?ordering=other', found: [1, 3, 2] },
    { path: '/days/?ordering=-mood,felt', found: [2, 1, 3] },
  ])('orders pages: $path', async ({ path, found }) => {
    const seen: unknown[] = []
    let next: string | undefined = path
    while (next !== undefined && seen.length < 9) {
      const page = await get(next)
      seen.push(...(page.body as { nth?: number; name?: string }[]).map(({ nth, name }) => nth ?? name))
      next = /<(?:https?:\/\/[^/]+)?([^>]+)>; rel="next"/.exec(page.link ?? '')?.[1]
    }
    expect(seen).toEqual(found)
  })

  test('can be the key of records that are read, changed and deleted', async () => {
    const read = await api.fetch('/moods/sad/', as('ann'))
    expect(await read.json()).toEqual({ name: 'sad', note: 'low' })
    const tag = read.headers.get('etag') ?? ''
    const change = { ...as('ann').headers, 'if-match': tag }
    expect((await api.send('PATCH', '/moods/sad/', { note: 'new' }, change)).status).toBe(200)
    expect((await api.send('PATCH', '/moods/sad/', { note: 'old' }, change)).status).toBe(412)
    expect((await api.send('PATCH', '/days/1/happy/', { mood: 'ok' }, as('ann').headers)).status).toBe(200)
    expect(await nths('mood=ok')).toEqual([1])
    expect((await api.send('DELETE', '/days/1/happy/', undefined, as('ann').headers)).status).toBe(204)
    expect((await api.send('DELETE', '/days/?ids=2/sad,3/ok', undefined, as('ann').headers)).status).toBe(204)
    expect((await api.send('DELETE', '/moods/?ids=sad,ok', undefined, as('ann').headers)).status).toBe(204)
    expect((await get('/moods/sad/')).status).toBe(404)
  })

  test('can be a part of the ids of a dialect', async () => {
    const { status, body } = await get('/json-server/days?id=1~happy&id=3~ok&id=3~sad')
    expect([status, (body as { id: string }[]).map(({ id }) => id).toSorted()]).toEqual([200, ['1~happy', '3~ok']])
  })

  test('rejects values that are taken', async () => {
    const send = async (path: string, body: unknown) => {
      const response = await api.send('POST', path, body, as('ann').headers)
      return [response.status, await response.text()]
    }
    const day = { nth: 4, felt: 'ok', mood: 'sad', other: 'sad' }
    expect(await send('/days/', day)).toEqual([409, expect.stringContaining('Other is taken')])
    expect(await send('/days/', [{ ...day, nth: 5, other: 'happy' }, day])).toEqual([
      409,
      expect.stringContaining('Other is'),
    ])
    expect(await send('/moods/', { name: 'ok', note: null })).toEqual([409, expect.stringContaining('Name is taken')])
  })

  test('can be compared by access rules', async () => {
    expect((await get('/moods/?page_size=9', 'bob')).body).toEqual([{ name: 'sad', note: 'low' }])
    expect(await nths('', 'bob')).toEqual([2])
    const send = async (method: string, path: string, body: unknown) =>
      (await api.send(method, path, body, as('bob').headers)).status
    expect(await send('PATCH', '/moods/sad/', { note: 'high' })).toBe(200)
    expect(await send('PATCH', '/moods/ok/', { note: 'x' })).toBe(404)
    expect(await send('PATCH', '/days/2/sad/', { mood: 'happy', other: null })).toBe(200)
    await runSql(api.database, 'update days set other = null')
    expect(await send('POST', '/days/', { nth: 4, felt: 'ok', mood: 'sad', other: 'sad' })).toBe(201)
    expect(await send('POST', '/days/', { nth: 5, felt: 'ok', mood: 'sad', other: 'ok' })).toBe(403)
  })
})

describe('the commands', () => {
  const project = projectPerTest()

  test('introspect, seed and dump tables with columns of domains over enums', async () => {
    await project.sql(`${SQL}${ROWS}
      insert into days select 'ok', n, felt::kept.felt, null, null, null from generate_series(101, 240) n, unnest(array['sad', 'ok']) felt;
      create table notes (id integer primary key, feeling "Feeling", hidden "Feeling" not null)`)
    expect(await project.run('introspect')).toMatchObject({ code: 0 })
    const introspected = await project.run('introspect', '--print')
    expect(introspected.stdout).toMatch(/hidden: +\{ type: choice, choices: \[sad, ok, happy\], default: ok \}/)
    const dumped = await project.run('dump', 'days')
    expect(dumped).toMatchObject({ code: 0, stdout: expect.stringContaining('"felt":"happy"') })
    expect(dumped.stdout.trimEnd().split('\n')).toHaveLength(283)
    await project.write(
      'more.yaml',
      'days:\n  - { nth: 1, felt: happy, mood: ok }\n  - { nth: 7, felt: ok, mood: sad, other: null }\n',
    )
    expect(await project.run('seed', 'more.yaml')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('created 1, updated 1, unchanged 0'),
    })
    await project.write('taken.yaml', 'days:\n  - { nth: 9, felt: ok, other: sad }\n')
    expect(await project.run('seed', 'taken.yaml')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('other: Other is taken by another record (nth 1, felt happy)'),
    })
    for (const command of [
      ['check', '--database'],
      ['migrate', 'plan', '--exit-code'],
      ['introspect', '--update'],
    ])
      expect(await project.run(...command)).toMatchObject({ code: 0 })
  })
})
