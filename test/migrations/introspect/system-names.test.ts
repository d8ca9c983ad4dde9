import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { startApi } from '../../support/api.js'
import { openTestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

const TABLES = `create table public.pg_class (id bigint primary key, title text);
  create table public.notes (id bigint primary key, class bigint references public.pg_class)`

test('a table named like a system catalogue keeps its schema', async () => {
  await given(TABLES)
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const text = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  expect(text).toContain('table: "public.pg_class"')
  expect(text).toMatch(/class: +\{ type: belongs_to, model: pg_class/)
  expect(text).not.toContain('public.notes')
  expect(await run('introspect', '--update')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('nothing to change'),
  })
  const { code, stdout, stderr } = await run('check', '--database')
  expect([code, `${stdout}${stderr}`]).toEqual([0, expect.not.stringMatching(/SC409|missing/)])
})

test.each([
  ['a column', ''],
  ['a relation', 'create index notes_class_idx on public.notes (class)'],
])('migrations do not create it, and %s refers to it', async (kind, index) => {
  await given(`${TABLES}; ${index}`)
  const { code, stderr } = await run('introspect', '--manage')
  const line = 'public.pg_class: migrations do not create it: a system catalogue has its name; no plan changes it'
  expect([code, stderr]).toEqual([0, expect.stringContaining(line)])
  const text = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  expect(text).toContain('table: "public.pg_class"\n    managed: false')
  expect(/^ +class: +\{ type: belongs_to, model: pg_class/m.test(text)).toBe(kind === 'a relation')
  expect(await run('check', '--database')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan')).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing') })
})

test('its records are served', async () => {
  const database = await openTestDatabase('')
  await runSql(database, TABLES)
  const yaml = (table: string) => `version: 1
database: { managed: false }
models:
  class: { table: ${table}, fields: { id: { type: bigint, primary_key: true, key: client }, title: { type: text } } }
resources:
  class: { model: class, path: /classes/ }
`
  const api = await startApi(yaml('public.pg_class'), { database })
  try {
    expect((await api.send('POST', '/api/classes/', { id: 1, title: 'first' })).status).toBe(201)
    expect(await (await api.fetch('/api/classes/')).json()).toEqual([{ id: 1, title: 'first' }])
    expect(api.logged.filter(({ event }) => event === 'schema_drift')).toEqual([])
  } finally {
    await api.close()
    await database.close()
  }
})
