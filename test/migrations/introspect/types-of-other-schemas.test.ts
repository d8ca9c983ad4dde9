import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { introspect } from '../../../src/internal.js'
import { projectPerTest } from '../../support/project-per-test.js'
import { openTestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'

const SQL = `
  create schema "The moods";
  create schema moods;
  create type "The moods"."Mood" as enum ('sad', 'ok');
  create type moods.mood as enum ('sad', 'ok');
  create table days (
    id integer primary key,
    mood moods.mood not null default 'ok',
    moods moods.mood[] not null default '{sad,ok}',
    other "The moods"."Mood" not null default 'sad'
  );
`

test('defaults of enums in other schemas are values', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'types-'))
  const database = await openTestDatabase('')
  const scratch = await openTestDatabase('')
  await runSql(database, SQL)
  const { text } = await introspect(database, { file: 'resources.yaml', directory: folder, scratch })
  await database.close()
  await scratch.close()
  await rm(folder, { recursive: true })
  const lines = text.split('\n').map((line) => line.trim().replace(/: +/, ': '))
  expect(lines.slice(7, 10)).toEqual([
    'mood: { type: choice, choices: [sad, ok], default: ok }',
    'moods: { type: array, items: { type: choice, choices: [sad, ok], nullable: true }, default: [sad, ok] }',
    'other: { type: choice, choices: [sad, ok], default: sad }',
  ])
})

const project = projectPerTest()

test('columns of enums of other schemas have no field where migrations create the table, and the plan is empty', async () => {
  await project.sql(`${SQL}
    create type tone as enum ('low', 'high');
    create table tones (tone tone primary key, mood moods.mood);
    create table kinds (mood moods.mood primary key);
    create table notes (mood moods.mood primary key, note text);
    create table prices (product integer, mood moods.mood, amount integer, primary key (product, mood))`)
  const { code, stderr } = await project.run('introspect', '--manage')
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('differs')])
  expect(stderr).toContain('days.mood: no field: no field has the type moods.mood; nothing can be added')
  expect(stderr).toContain('days.mood is not recorded: moods.mood is a type that only this database has')
  for (const table of ['notes', 'prices'])
    expect(stderr).toContain(
      `${table}: records can only be listed: the primary key cannot be used: mood has no field; nothing can be added`,
    )
  const text = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
  expect(text).toContain('tone: { type: choice, choices: [low, high], primary_key: true }')
  expect(await project.run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
  expect(await project.run('check', '--database')).toMatchObject({ code: 0 })
})

test('types that migrations do not create are named, without the functions that come with them', async () => {
  await project.sql(`create type span as range (subtype = float8); create type spot as (x integer, y integer);
    create domain year as integer; create table rooms (id integer primary key, size integer)`)
  const { code, stderr } = await project.run('introspect', '--manage')
  expect([code, stderr.split('\n').filter((line) => line.includes('ignored'))]).toEqual([
    0,
    ['domain year', 'type span', 'type spot'].map(
      (what) => `left  ${what} is ignored; create it in other databases yourself`,
    ),
  ])
})
