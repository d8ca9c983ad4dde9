import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import type { Outcome } from '../../support/cli.js'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: make } = project

const config = (indexes: string, name = 'name', renamed = '') => `version: 1
models:
  person:
    table: people
    fields:
      id: { type: bigint, primary_key: true }
      ${name}: { type: string, max: 80${renamed} }
      status: { type: choice, choices: [open, done] }
      tags: { type: array, items: { type: string, max: 9 } }
      deleted_at: { type: timestamp, nullable: true }
    indexes:
      - [${name}, id]
${indexes.replaceAll('NAME', name)}`

const INDEXES = `      - { fields: [NAME, status], unique: true, ignore_case: true, where: { deleted_at: null } }
      - { fields: [NAME, id], where: { status__in: [open, done], tags__has: x } }
      - { fields: [tags], using: gin }
      - { fields: [id], using: brin }
`

const UNIQUE =
  'create unique index "people_name_status_lower_deleted_at_null_key" on "people" (lower("name"), "status")'

/** Writes a migration and applies it. */
async function apply(yaml: string): Promise<Outcome> {
  await project.write('resources.yaml', yaml)
  const planned = await run('migrate', 'plan', '--write')
  expect(planned).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  return planned
}

/** The same; no command finds a difference afterwards. */
async function migrate(yaml: string): Promise<Outcome> {
  const planned = await apply(yaml)
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'status')).toMatchObject({ code: 0 })
  expect(await run('check', '--database')).toMatchObject({ code: 0 })
  return planned
}

test('migrations create, rename and drop partial indexes and indexes of other kinds', async () => {
  await apply(config(''))
  const { stdout } = await migrate(config(INDEXES))
  expect(stdout).toContain('unique index (lower("name"), "status") where "deleted_at" is null')
  const file = await readFile(join(project.folder, 'migrations', '0002_change_people.sql'), 'utf8')
  expect(file).toContain(`${UNIQUE} where "deleted_at" is null;`)
  expect(file).toContain(
    `("name", "id") where "status" = any('{"open","done"}') and "tags" operator(pg_catalog.@>) '{"x"}';`,
  )
  expect(file).toContain('on "people" using gin ("tags");')
  const renamed = await migrate(config(INDEXES, 'title', ', renamed_from: name'))
  expect(renamed.stdout).toContain('people.people_title_status_lower_deleted_at_null_key')
  expect(renamed.stdout).not.toMatch(/^ {2}[-+]/m)
  const dropped = await migrate(config('', 'title'))
  expect(dropped.stdout).toMatch(/- drop .*_null_key .*weakens the table: it then accepts equal values/)
  expect(dropped.stdout.match(/- drop/g)).toHaveLength(4)
})

test('a changed condition rebuilds the index', async () => {
  await apply(config(`      - { fields: [name], where: { deleted_at: null } }\n`))
  const { stdout } = await migrate(config(`      - { fields: [name], where: { deleted_at__isnull: false } }\n`))
  expect(stdout).toMatch(/- drop .*deleted_at_null_idx/)
  expect(stdout).toMatch(/\+ add .*deleted_at_not_null_idx/)
})

test('a plan counts the rows that a unique index would reject', async () => {
  await apply(config(''))
  await make(`insert into people (name, status, tags) values ('Ada', 'open', '{}'), ('ada', 'open', '{}'), ('ada', 'done', '{}');
    insert into people (name, status, tags, deleted_at) values ('ADA', 'open', '{}', now())`)
  await project.write('resources.yaml', config(INDEXES))
  const { stdout } = await run('migrate', 'plan')
  expect(stdout).toMatch(
    /rejected {2}people\.people_\w+ cannot be added, because 2 of 4 rows have the same value as another: change these rows first/,
  )
})

test('a plan with a migration that changes such rows, and is not applied, is not rejected', async () => {
  await apply(config(''))
  await make(`insert into people (name, status, tags) values ('Ada', 'open', '{}'), ('ada', 'open', '{}')`)
  await project.write('migrations/0002_merge.sql', `-- up\n\nupdate people set name = 'Eve' where id > 1;\n`)
  await project.write('resources.yaml', config(INDEXES))
  const planned = await run('migrate', 'plan', '--write')
  expect(planned).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/2 of 2 rows have the same value as another/),
  })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
})

test.each([
  { of: 'a table', name: 'name', renamed: '' },
  { of: 'a table with a renamed column', name: 'label', renamed: ', renamed_from: name' },
])('a unique index of $of does not include the rows of tables that inherit from it', async ({ name, renamed }) => {
  await apply(config(''))
  await make(`create table old_people () inherits (people);
    insert into people (name, status, tags) values ('Ada', 'open', '{}');
    insert into old_people (id, name, status, tags) values (1, 'Ada', 'open', '{}'), (2, 'Ada', 'open', '{}')`)
  const { stdout } = await apply(config(INDEXES, name, renamed))
  expect(stdout).toMatch(/0 of 1 rows have the same value as another/)
})

test.each([
  {
    what: 'a kind of index that a type does not have',
    indexes: '      - { fields: [extra], using: gist }\n',
    type: 'xml',
    message: 'data type xml has no default operator class for access method "gist"',
    help: 'remove the index or the unique rule of `person.extra`',
  },
  {
    what: 'a type that does not exist',
    indexes: '',
    type: 'Intt(3)',
    message: 'type "intt" does not exist',
    help: 'correct the `column_type` of `person.extra`',
  },
  {
    what: 'a misspelt type',
    indexes: '',
    type: 'tsvectr',
    message: 'type "tsvectr" does not exist',
    help: 'correct the `column_type` of `person.extra`\n  = help: a type of PostgreSQL has a similar name: `tsvector`',
  },
])('a plan names $what, with the field', async ({ indexes, type, message, help }) => {
  const field = `      other: { type: opaque, column_type: xml, nullable: true }\n      extra: { type: opaque, column_type: ${type}, nullable: true }\n    indexes:`
  await project.write('resources.yaml', config(indexes).replace('    indexes:', field))
  const { code, stderr } = await run('migrate', 'plan')
  expect([code, stderr]).toEqual([2, `error: ${message}\n  = help: ${help}\n`])
})

const EXISTING = `create table people (id serial primary key, name varchar(80) not null, email text, deleted_at timestamptz,
    active boolean not null, status text not null check (status in ('open', 'done')), kind integer, tags text[], during tstzrange);
  create unique index people_live on people (lower(name)) where deleted_at is null;
  create index some_people on people (lower(email), id) where status = 'open' and deleted_at is not null and active = true and kind = 3;
  create index by_tags on people using gin (tags);
  create index by_time on people using gist (during);
  create index by_email on people using hash (email);
  create index by_age on people using brin (id);
  create unique index one_open on people (kind) where status = 'open';
  create index sorted on people (name desc);
  create index half on people (lower(name), email);
  create index active on people (name) where active;
  create index old on people (name) where kind > 3 or kind is null;`

test('introspect describes existing ones, and leaves the others alone', async () => {
  await make(EXISTING)
  const { code, stderr } = await run('introspect', '--manage')
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('differs') })
  const file = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  const listed = file.split('    indexes:\n')[1]?.split('\n\n')[0]?.split('\n')
  expect(listed?.toSorted()).toEqual([
    '      - { fields: [during], using: gist }',
    '      - { fields: [email, id], ignore_case: true, where: { status: open, deleted_at__isnull: false, active: true, kind: 3 } }',
    '      - { fields: [email], using: hash }',
    '      - { fields: [id], using: brin }',
    '      - { fields: [kind], unique: true, where: { status: open } }',
    '      - { fields: [name], unique: true, ignore_case: true, where: { deleted_at: null } }',
    '      - { fields: [tags], using: gin }',
  ])
  const left = [...stderr.matchAll(/^left {2}people\.(\w+): stays as it is/gm)].map(([, name]) => name)
  expect(left).toEqual(['active', 'half', 'old', 'sorted'])
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'status')).toMatchObject({ code: 0 })
})
