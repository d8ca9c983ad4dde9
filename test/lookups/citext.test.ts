import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { runSql } from '../support/existing.js'
import { projectPerTest } from '../support/project-per-test.js'

const TABLE = `create extension if not exists citext;
create table people (id serial primary key, name citext not null default 'Nobody', nick citext unique, tags citext[], constraint short check (length(name) < 9))`

const project = projectPerTest()

describe('a column of the type citext', () => {
  test.each([[[]], [['--manage']]])('is a text for introspect %j, and nothing differs', async (options) => {
    await project.sql(TABLE)
    expect(await project.run('introspect', ...options)).toMatchObject({ code: 0 })
    const file = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
    expect(file).toMatch(
      /name: +\{ type: text, (?:default: Nobody|generated: true|default: \{ function: database \}) \}/,
    )
    expect(file).toMatch(/nick: +\{ type: text, nullable: true, unique: true \}/)
    expect(file).toMatch(/tags: +\{ type: array, items: \{ type: text, nullable: true \}, nullable: true \}/)
    expect(await project.run('check', '--database')).toMatchObject({
      code: 0,
      stdout: expect.not.stringContaining('warning'),
    })
    expect(await project.run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  })
})

const YAML = `
version: 1
api: { prefix: "" }
models:
  person:
    managed: false
    table: people
    fields:
      id: { type: integer, primary_key: true }
      name: { type: text, max: 30 }
      nick: { type: string, max: 20, nullable: true, unique: true }
      tags: { type: array, items: { type: text }, nullable: true }
resources:
  people:
    model: person
    path: /people/
    filterable:
      name: [exact, ne, in, not_in, iexact, contains, startswith, endswith, icontains, istartswith]
      tags: [has, contains, overlaps]
    orderable: [name]
    distinct: [name]
    search: [name, nick]
    pagination: { style: cursor, page_size: 2 }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  await runSql(
    api.database,
    `${TABLE}; insert into people (name, nick, tags) values ('Ada', 'A', '{Red}'), ('bo', null, null), ('Cy', 'c', '{}')`,
  )
})
afterAll(() => api.close())

describe('filters on a column of the type citext', () => {
  test.each<[string, string[]]>([
    ['name=ADA', ['Ada']],
    ['name__ne=ADA', ['bo', 'Cy']],
    ['name__in=ADA,BO', ['Ada', 'bo']],
    ['name__not_in=ADA,BO', ['Cy']],
    ['name__iexact=aDA', ['Ada']],
    ['name__contains=DA', []],
    ['name__startswith=Ad', ['Ada']],
    ['name__endswith=DA', []],
    ['name__icontains=DA', ['Ada']],
    ['name__istartswith=B', ['bo']],
    ['search=AD', ['Ada']],
    ['tags__has=RED', ['Ada']],
    ['tags__overlaps=RED,blue', ['Ada']],
    ['ordering=name', ['Ada', 'bo', 'Cy']],
    ['ordering=-name', ['Cy', 'bo', 'Ada']],
  ])('ignore case as PostgreSQL does: ?%s', async (query, found) => {
    const response = await api.fetch(`/people/?page_size=9&${query}`)
    expect(response.status).toBe(200)
    expect(((await response.json()) as { name: string }[]).map(({ name }) => name).toSorted()).toEqual(found.toSorted())
  })

  test('a value that differs only in case is taken', async () => {
    const response = await api.send('POST', '/people/', { name: 'Di', nick: 'a', tags: [] })
    expect(response.status).toBe(409)
  })
})
