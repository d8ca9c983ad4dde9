import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'

const YAML = `
version: 1
api: { prefix: "" }
models:
  person:
    managed: false
    table: people
    fields:
      code: { type: string, primary_key: true, key: client, collation: ci }
      name: { type: text, collation: ci }
      mood: { type: string }
      note: { type: text, nullable: true }
      alias: { type: text }
resources:
  people:
    model: person
    path: /people/
    url: true
    filterable:
      name: [exact, iexact, contains, startswith, endswith, icontains, istartswith]
      mood: [exact, in, iexact, contains, startswith, endswith, icontains, istartswith]
      note: [icontains]
      alias: [iexact]
    orderable: [name, mood]
    search: [name, mood]
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const text of [
    `create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
    `create type mood as enum ('Happy', 'sad')`,
    `create table people (code varchar(20) collate ci primary key, name text collate ci not null, mood mood not null, note text collate ci, alias text collate "und-x-icu" not null)`,
    `insert into people values ('A', 'Ada', 'Happy', 'a', 'Ö'), ('b/é', 'ÉMILE', 'sad', 'b', 'Ü')`,
  ])
    await api.database.query({ text, values: [] })
})
afterAll(() => api.close())

const list = async (query: string) => {
  const response = await api.fetch(`/people/?${query}`)
  const body = await response.json()
  return response.status === 200 ? (body as { code: string }[]).map(({ code }) => code) : body
}

describe('texts in a column whose collation ignores case', () => {
  test.each<[string, string[]]>([
    ['name__iexact=aDA', ['A']],
    ['name__contains=da', ['A']],
    ['name__contains=DA', []],
    ['name__startswith=Ad', ['A']],
    ['name__startswith=ad', []],
    ['name__endswith=da', ['A']],
    ['name__icontains=DA', ['A']],
    ['name__icontains=m%C3%AFl', []],
    ['name__istartswith=%C3%A9m', ['b/é']],
    ['name__istartswith=%25', []],
    ['search=EMILE', []],
    ['search=%C3%A9mile', ['b/é']],
  ])('are found by ?%s', async (query, found) => {
    expect(await list(query)).toEqual(found)
  })

  test('can be keys with links', async () => {
    const response = await api.fetch('/people/?ordering=name')
    expect((await response.json()) as object[]).toEqual([
      expect.objectContaining({ code: 'A', url: expect.stringMatching(/\/people\/A\/$/) }),
      expect.objectContaining({ code: 'b/é', url: expect.stringMatching(/\/people\/b%2F%C3%A9\/$/) }),
    ])
    expect((await api.send('POST', '/people/', { code: 'c d', name: 'Bo', mood: 'sad', alias: '' })).status).toBe(201)
    expect((await api.fetch('/people/c%20d/', { method: 'DELETE' })).status).toBe(204)
  })
})

test('a filter that such a column cannot have is an invalid query if the field has no collation', async () => {
  expect(await list('note__icontains=a')).toMatchObject({ status: 400, type: expect.stringContaining('invalid-query') })
})

test('case is ignored as the column does, so that an index on its lower case serves the filter', async () => {
  expect(await list('alias__iexact=%C3%BC')).toEqual(['b/é'])
})

describe('the labels of an enum', () => {
  test.each<[string, string[]]>([
    ['mood=Happy', ['A']],
    ['mood__iexact=happy', ['A']],
    ['mood__contains=app', ['A']],
    ['mood__startswith=h', []],
    ['mood__endswith=ad', ['b/é']],
    ['mood__icontains=HAPP', ['A']],
    ['mood__istartswith=SA', ['b/é']],
    ['search=SAD', ['b/é']],
    ['search=HAPPY%20ada', ['A']],
    ['ordering=-mood', ['b/é', 'A']],
  ])('are found by ?%s', async (query, found) => {
    expect(await list(query)).toEqual(found)
  })
})
