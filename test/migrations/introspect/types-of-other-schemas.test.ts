import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { introspect } from '../../../src/internal.js'
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
