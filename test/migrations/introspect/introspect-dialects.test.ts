import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql } = project

const TABLES = `create table codes (code text primary key, id integer not null);
  create table events (id bigint, day date, note text, primary key (id, day));
  create table books ("Id" bigint primary key, code text references codes);
  create table words (id bigint, word text);
  create table id (a integer, b integer, primary key (a, b));
  create table uses (code text primary key, a integer, b integer, foreign key (a, b) references id)`

const WRITTEN: readonly RegExp[] = [
  /\n {6}code: +\{ type: text, .*primary_key: true \}\n {6}column_id: \{ type: integer, .*column: id \}\n/,
  /\n {4}primary_key: \[column_id, day\]\n/,
  /\n {6}id: +\{ type: bigint, column: Id, primary_key: true/,
  /\n {6}id: +\{ type: bigint, nullable: true \}\n/,
  /\n {6}id_by_a_b: \{ model: id, fields: \[a, b\] \}\n/,
]

const textOf = () => readFile(join(project.folder, 'resources.yaml'), 'utf8')

test.each([
  ['of the API', 'database: { managed: false }\napi: { dialect: page }\n', []],
  ['of a mount', 'database: { managed: false }\nmounts:\n  - { path: /admin, dialect: crud }\n', []],
  ['and managed tables', 'api: { dialect: json-server }\n', ['--manage']],
])(
  'introspect names no field `id` that is not the key, in a project with a dialect %s',
  async (_title, yaml, options) => {
    await sql(TABLES)
    await project.write('resources.yaml', `version: 1\n${yaml}`)
    expect(await run('introspect', ...options)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'left  codes.id: its field is column_id, because the dialect shows the key as id; it can have any other name with `column: id`',
      ),
    })
    const text = await textOf()
    for (const line of WRITTEN) expect(text).toMatch(line)
    expect(await run('check', '--database')).toMatchObject({ code: 0 })
  },
)

test('introspect --update names a new column `id` likewise', async () => {
  await sql('create table codes (code text primary key)')
  await project.write('resources.yaml', 'version: 1\ndatabase: { managed: false }\napi: { dialect: page }\n')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  await sql('alter table codes add id integer')
  expect(await run('introspect', '--update')).toMatchObject({ code: 0 })
  expect(await textOf()).toContain('      column_id: { type: integer, column: id, nullable: true }\n')
  expect(await run('introspect', '--update')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to') })
})

test.each([
  [
    'a resource with a dialect, in a plain API',
    '',
    'dialect: page',
    'column_id: { type: integer, column: id, nullable: true }',
  ],
  [
    'a plain resource, in an API with a dialect',
    'api: { dialect: page }',
    'dialect: plain',
    'id: { type: integer, nullable: true }',
  ],
])('introspect --update names a new column `id` for %s', async (_title, api, dialect, field) => {
  await sql('create table codes (code text primary key)')
  const yaml = `version: 1
database: { managed: false }
${api}
models:
  code:
    table: codes
    fields:
      code: { type: text, primary_key: true }
resources:
  code: { model: code, path: /codes/, ${dialect} }
`
  await project.write('resources.yaml', yaml)
  await sql('alter table codes add id integer')
  expect(await run('introspect', '--update')).toMatchObject({ code: 0 })
  expect(await textOf()).toContain(`      ${field}\n`)
  expect(await run('introspect', '--update')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to') })
})

test('without a dialect, fields keep the name `id`', async () => {
  await sql('create table codes (code text primary key, id integer)')
  await project.write('resources.yaml', 'version: 1\ndatabase: { managed: false }\napi: { dialect: plain }\n')
  expect(await run('introspect')).toMatchObject({ code: 0 })
  expect(await textOf()).toMatch(/\n {6}id: +\{ type: integer, nullable: true \}\n/)
})
