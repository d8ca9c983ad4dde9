import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

describe('a part of a relation to a key with an enum', () => {
  const plan = async (field: string) => {
    const file = join(project.folder, 'resources.yaml')
    const item = `models:
  item:
    table: items
    fields: { id: { type: bigint, primary_key: true }, a: { type: integer }, c: ${field} }
    relations: { kind: { model: kinds, fields: [a, c] } }
`
    await writeFile(file, (await readFile(file, 'utf8')).replace(/^models:\n/m, item))
    return run('migrate', 'plan', '--write', 'items')
  }
  const KINDS = `create type state as enum ('new', 'old'); create table kinds (a integer, code state, primary key (a, code));`

  test('has the enum if it is new', async () => {
    await given(KINDS)
    expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
    expect(await plan('{ type: choice, choices: [old, new], default: new }')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('+ add  items  table (id, a, c)'),
    })
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
    expect(await run('check', '--database')).toMatchObject({ code: 0 })
    await given(`insert into kinds values (1, 'new'); insert into items (a) values (1)`)
  })

  test.each(['{ type: string, max: 9 }', '{ type: choice, choices: [new] }'])(
    'is rejected with other rules: %s',
    async (field) => {
      await given(KINDS)
      expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
      expect(await plan(field)).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(
          /items\.c is (?:text|character varying\(9\)) and cannot refer to kinds\.code, which is the enum state: write `type: choice` and `choices: \[new, old\]` in the field `c` of the model `item`/,
        ),
      })
    },
  )

  test('is rejected if its column exists with another type', async () => {
    await given(
      `${KINDS} create table items (id bigint primary key, a integer not null, c text not null check (c in ('new', 'old')))`,
    )
    expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
    const file = join(project.folder, 'resources.yaml')
    const text = await readFile(file, 'utf8')
    await writeFile(
      file,
      text.replace(
        /( +c: .*), collation: default \}\n/,
        '$1 }\n    relations: { kind: { model: kinds, fields: [a, c] } }\n',
      ),
    )
    expect(await run('migrate', 'plan', '--write', 'relation')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        'items.c is text and cannot refer to kinds.code, which is the enum state: write a migration by hand that gives the column this enum',
      ),
    })
  })
})

test('a part of a relation whose key gets other choices, and becomes a text, needs the same choices', async () => {
  await given(`create type state as enum ('new', 'old'); create table kinds (a integer, code state, primary key (a, code));
    create table items (id bigint primary key, a integer, c state, foreign key (a, c) references kinds);
    insert into kinds values (1, 'new'); insert into items values (1, 1, 'new')`)
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
  const file = join(project.folder, 'resources.yaml')
  const text = await readFile(file, 'utf8')
  const fresh = text.replace(/(code: .*)\[new, old\]/, '$1[new, fresh]')
  await writeFile(file, fresh)
  expect(await run('migrate', 'plan', '--write', 'fresh')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(
      'items.c is the enum state and cannot refer to kinds.code, which is text: write `choices: [new, fresh]` in the field `c` of the model `items`\n',
    ),
  })
  await writeFile(file, fresh.replaceAll('[new, old]', '[new, fresh]'))
  expect(await run('migrate', 'plan', '--write', 'fresh')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'down')).toMatchObject({ code: 0 })
})

test('an existing text cannot become a relation to a key with an enum', async () => {
  await given(
    `create type mood as enum ('sad', 'ok'); create table moods (id mood primary key); create table days (id serial primary key, mood text)`,
  )
  expect(await run('introspect', '--manage')).toMatchObject({ code: 0 })
  const file = join(project.folder, 'resources.yaml')
  const text = await readFile(file, 'utf8')
  await writeFile(
    file,
    text.replace(/^( +)mood: .*\n/m, '$1mood: { type: belongs_to, model: moods, column: mood, nullable: true }\n'),
  )
  expect(await run('migrate', 'plan', '--write', 'relation')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(
      'days.mood is text and cannot refer to moods.id, which is the enum mood: write a migration by hand',
    ),
  })
  const byHand =
    '-- up\nalter table days alter mood type mood using mood::mood;\n-- down\nalter table days alter mood type text;\n'
  await project.write('migrations/0002_enum.sql', byHand)
  expect(await run('migrate', 'plan', '--write', 'relation')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
})
