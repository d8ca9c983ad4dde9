import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run } = project

const SQL = `create table people ("Id" serial primary key, "displayName" varchar(40) not null unique, display_name text,
  "order" integer not null check ("order" > 0), "odd "" name.x" text, "HTTPCode" integer, "1st" boolean,
  "createdBy" integer references people, "managerId" integer references people, boss integer references people on delete set null,
  unique ("createdBy", "order"));
  create index on people ("displayName", "order");`

test('introspect names fields after columns of any name, and the next plan is empty', async () => {
  await project.sql(SQL)
  expect(await run('introspect', '--manage', '--read-only')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      'left  people.displayName: its field is display_name_2, because display_name is taken;',
    ),
  })
  expect(await readFile(join(project.folder, 'resources.yaml'), 'utf8')).toContain(`    fields:
      id:             { type: integer, column: Id, primary_key: true }
      display_name_2: { type: string, max: 40, collation: default, column: displayName, unique: true }
      display_name:   { type: text, collation: default, nullable: true }
      order:          { type: integer, minimum: 1 }
      odd_name_x:     { type: text, collation: default, column: "odd \\" name.x", nullable: true }
      http_code:      { type: integer, column: HTTPCode, nullable: true }
      column_1st:     { type: boolean, column: "1st", nullable: true }
      created_by:     { type: belongs_to, model: people, column: createdBy, nullable: true }
      manager:        { type: belongs_to, model: people, column: managerId, nullable: true }
      boss:           { type: belongs_to, model: people, on_delete: set_null, column: boss, nullable: true }
    indexes:
      - { fields: [created_by, order], unique: true }
      - [display_name_2, order]
`)
  expect(await run('check')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'status')).toMatchObject({ code: 0 })
})

test('introspect --keep-names names fields like their columns, where a field can have the name, and so does --update', async () => {
  await project.sql(SQL)
  expect(await run('introspect', '--keep-names')).toMatchObject({ code: 0 })
  await project.sql('alter table people add "nickName" text; create table pets ("petId" integer primary key)')
  expect(await run('introspect', '--update', '--keep-names')).toMatchObject({ code: 0 })
  expect(await readFile(join(project.folder, 'resources.yaml'), 'utf8')).toContain(`    fields:
      Id:           { type: integer, primary_key: true }
      displayName:  { type: string, max: 40, unique: true }
      display_name: { type: text, nullable: true }
      order:        { type: integer, minimum: 1 }
      odd_name_x:   { type: text, column: "odd \\" name.x", nullable: true }
      HTTPCode:     { type: integer, nullable: true }
      column_1st:   { type: boolean, column: "1st", nullable: true }
      createdBy:    { type: belongs_to, model: people, column: createdBy, nullable: true }
      managerId:    { type: belongs_to, model: people, column: managerId, nullable: true }
      boss:         { type: belongs_to, model: people, on_delete: set_null, column: boss, nullable: true }
      nickName: { type: text, nullable: true }
    indexes:
      - { fields: [createdBy, order], unique: true }
      - [displayName, order]
`)
  expect(await run('check', '--database')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await run('introspect', '--manage', '--keep-names', '--force')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'status')).toMatchObject({ code: 0 })
})

test('a changed `column` renames the column, with its former name in `renamed_from`', async () => {
  await project.sql(
    `create table people (id serial primary key, "Old.Name" text); insert into people ("Old.Name") values ('Ada')`,
  )
  expect(await run('introspect', '--manage', '--no-resources')).toMatchObject({ code: 0 })
  const file = join(project.folder, 'resources.yaml')
  const before = await readFile(file, 'utf8')
  await project.write('resources.yaml', before.replace('column: "Old.Name"', 'column: newName'))
  expect(await run('migrate', 'plan')).toMatchObject({ stdout: expect.stringContaining('renamed_from: "Old.Name"') })
  await project.write('resources.yaml', before.replace('column: "Old.Name"', 'column: newName, renamed_from: Old.Name'))
  expect(await run('migrate', 'plan', '--write')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('> rename  people.newName  was Old.Name'),
  })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  await project.onDatabase(async (connection) => {
    const { rows } = await connection.query({ text: 'select "newName" from people', values: [] })
    expect(rows).toEqual([['Ada']])
  })
})

test('introspect spells letters that are not ASCII', async () => {
  await project.sql(
    'create table "Übersicht" ("Größe" integer primary key, "ŒuvreId" integer, "smørTemperatur" integer, "Łódź" text)',
  )
  expect(await run('introspect', '--no-resources')).toMatchObject({ code: 0 })
  const text = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  expect(text).toContain('  ubersicht:\n')
  for (const name of ['grosse', 'oeuvre_id', 'smor_temperatur', 'lodz'])
    expect(text).toMatch(new RegExp(`^ +${name}: `, 'm'))
})

test('introspect names fields after columns whose names need a prefix and have the greatest length', async () => {
  const column = `1${'a'.repeat(62)}`
  await project.sql(`create table people (id serial primary key, "${column}" text, "${column.slice(0, 60)}" text)`)
  expect(await run('introspect', '--no-resources')).toMatchObject({ code: 0 })
  expect(await run('check')).toMatchObject({ code: 0 })
  expect(await readFile(join(project.folder, 'resources.yaml'), 'utf8')).toContain(column)
})

test.each([
  ['a managed table, of an unmanaged model', 'managed: false', '', ['--manage']],
  ['an unmanaged table, of a managed model', 'managed: true', 'database: { managed: false }', []],
])(
  'the advice for a foreign key of %s names the field of the unique column',
  async (_title, managed, database, options) => {
    await project.sql(`create table authors (id bigint primary key, isni_code varchar(20) not null unique);
    create table books (id bigint primary key, author varchar(20) references authors (isni_code))`)
    await project.write(
      'resources.yaml',
      `version: 1
${database}
models:
  author:
    table: authors
    ${managed}
    fields:
      id: { type: bigint, primary_key: true, key: client }
      isni: { type: string, max: 20, unique: true, column: isni_code }
`,
    )
    expect(await run('introspect', ...options)).toMatchObject({
      stderr: expect.stringContaining(
        'if it has a field: `type: belongs_to, model: author, references: isni, column: author` in this field',
      ),
    })
  },
)

test('the advice for a foreign key of two columns to a managed model does not name an update, which would leave it out', async () => {
  await project.sql(`create table shops (id bigint primary key, land varchar(2) not null, nr integer not null, unique (land, nr));
    create table sales (id bigint primary key, land varchar(2), nr integer, foreign key (land, nr) references shops (land, nr))`)
  const yaml = `version: 1
database: { managed: false }
models:
  shop:
    table: shops
    managed: true
    fields:
      id: { type: bigint, primary_key: true, key: client }
`
  await project.write('resources.yaml', yaml)
  const place = 'sales.sales_land_nr_fkey: no relation: the table shops has no model, or one that was there before'
  expect(await run('introspect')).toMatchObject({
    stderr: expect.stringContaining(`${place}; once it has one, declare the relation under \`relations\``),
  })
  await project.write('resources.yaml', yaml.replace('managed: true', 'managed: false'))
  expect(await run('introspect')).toMatchObject({
    stderr: expect.stringContaining(`${place}; once it has one: snippetctl introspect --update`),
  })
})
