import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { MAX_CONFIG_BYTES } from '../../../src/config/yaml/decode.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { introspect } from '../../../src/migrations/introspect/introspect.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, watchDatabase } from '../../support/database.js'
import { projectPerTest } from '../../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

test('the file of a large database is accepted by the next commands', async () => {
  const columns = Array.from(
    { length: 300 },
    (_, at) => `measured_value_${at} numeric(12, 2) check (measured_value_${at} >= 0)`,
  )
  const tables = Array.from(
    { length: 40 },
    (_, at) => `create table measurements_of_station_${at} (id bigint primary key, ${columns.join(', ')})`,
  )
  await given(tables.join(';\n'))
  expect(await run('introspect')).toMatchObject({ code: 0 })
  const { size } = await stat(join(project.folder, 'resources.yaml'))
  expect(size).toBeGreaterThan(1024 * 1024)
  expect(await run('check')).toMatchObject({ code: 0 })
  expect(await run('check', '--database')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})

test('no statement describes more than a thousand columns, so that it ends in time on a busy server', async () => {
  const columns = Array.from({ length: 300 }, (_, at) => `c${at} integer`).join()
  const database = await openTestDatabase(
    Array.from({ length: 7 }, (_, at) => `create table t${at} (id integer primary key, ${columns})`).join(';'),
  )
  try {
    const { watched, sent } = watchDatabase(database)
    const described = () =>
      sent
        .splice(0)
        .filter(({ text }) => text.includes('format_type') && text.includes('jsonb_array_elements_text'))
        .map(({ values }) => (JSON.parse(values.at(-1) ?? '') as readonly string[]).length)
    const { text } = await introspect(watched, { file: 'resources.yaml', directory: project.folder })
    expect(described()).toEqual([3, 3, 1])
    expect(await schemaDifferences(specOf(text), watched)).toEqual([])
    expect(described()).toEqual([3, 3, 1])
  } finally {
    await database.close()
  }
})

test('a file that would be larger than a configuration may be is not written', async () => {
  await given('create table books (id bigint primary key)')
  const text = `version: 1\ndatabase: { managed: false }\n#${'-'.repeat(MAX_CONFIG_BYTES - 100)}\n`
  await project.write('resources.yaml', text)
  expect(await run('introspect')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /resources\.yaml would have \d+ bytes, and a configuration has at most 4194304\n.*Introspect fewer tables, for example each schema in a folder of its own: --schema, --tables/,
    ),
  })
  expect((await stat(join(project.folder, 'resources.yaml'))).size).toBe(text.length)
})
