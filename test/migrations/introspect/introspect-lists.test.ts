import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { schemaDifferences, seed } from '../../../src/internal.js'
import { type Introspected, introspect } from '../../../src/migrations/introspect/introspect.js'
import { type Api, startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { sendBackAll } from '../../support/round-trip.js'

const SQL = `
  create type mood as enum ('sad', 'it''s', 'A b');
  create table days (id serial primary key, mood mood, moods mood[] not null default '{sad}', tags text[], spans interval[], hosts inet[], sizes real[]);
  create index on days using gin (moods);
  create index on days using gin (tags);
  create index on days using gin (hosts) where id > 0;
  insert into days (moods, tags, spans, hosts, sizes) values
    ('{sad,A b}', '{a,b}', '{1 day,-00:30}', '{10.0.0.1,::1/64}', '{0.1,1e-45}'),
    ('{"it''s"}', '{c}', null, null, null);
`

describe.each([{ manage: true }, { manage: false }])(
  'lists of an existing table (made by migrations: $manage)',
  (options) => {
    let folder: string
    let database: TestDatabase
    let scratch: TestDatabase
    let api: Api
    let found: Introspected
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'lists-'))
      database = await openTestDatabase('')
      scratch = await openTestDatabase('')
      await runSql(database, SQL)
      found = await introspect(database, { file: 'resources.yaml', directory: folder, scratch, ...options })
      api = await startApi(found.text, { database })
    })
    afterAll(async () => {
      await api.close()
      await database.close()
      await scratch.close()
      await rm(folder, { recursive: true, force: true })
    })

    const idsOf = async (query: string) => {
      const response = await api.fetch(`/api/days/?${query}`)
      const body = (await response.json()) as readonly { readonly id: number }[]
      return response.status === 200 ? body.map(({ id }) => id) : [response.status]
    }

    test('have the items of an enum, and filters where an inverted index has all rows', async () => {
      expect(found.text).toContain(
        'moods: { type: array, items: { type: choice, choices: [sad, "it\'s", "A b"], nullable: true }',
      )
      expect(found.text).toContain(
        '    filterable:\n      moods: [has, contains, overlaps]\n      tags: [has, contains, overlaps]\n',
      )
      expect(found.remaining).toEqual([])
      expect(await schemaDifferences(specOf(found.text), database)).toEqual([])
    })

    test.each([
      ['moods__has=sad', [1]],
      ['moods__has=ok', [400]],
      ['moods__contains=sad,A b', [1]],
      ["moods__overlaps=it's,sad", [1, 2]],
      ['tags__has=c', [2]],
      ['tags__overlaps=a,z', [1]],
    ])('are found by %s', async (query, ids) => {
      expect(await idsOf(query)).toEqual(ids)
    })

    test('change, and stay the same if they are sent back', async () => {
      await sendBackAll(api, '/api/days/')
      const sent = { moods: ['A b'], tags: [], spans: ['PT36H'], hosts: ['2001:DB8::1'], sizes: [0.1, 3] }
      const made = await api.send('POST', '/api/days/', sent)
      expect([made.status, await made.json()]).toEqual([201, { ...sent, id: 3, mood: null, hosts: ['2001:db8::1'] }])
      const wrong = await api.send('PATCH', '/api/days/3/', { moods: ['ok'] })
      expect([wrong.status, await wrong.json()]).toMatchObject([400, { errors: { moods: expect.anything() } }])
    })

    test('are seeded', async () => {
      const file = join(folder, 'days.ndjson')
      for (const [index, text] of [
        '"mood":"sad","moods":["it\'s"],"spans":["P1D"]',
        '"mood":"A b","moods":[]',
      ].entries()) {
        await writeFile(file, `{"id":9,${text}}\n`)
        const { errors, resources } = await seed(database, {
          spec: specOf(found.text),
          file,
          dryRun: false,
          resource: 'days',
          onProgress: () => {},
        })
        expect([errors, [...resources.values()]]).toEqual([[], [{ created: 1 - index, updated: index, unchanged: 0 }]])
      }
      const { rows } = await database.query({
        text: 'select mood::text, moods::text, spans::text from days where id = 9',
        values: [],
      })
      expect(rows).toEqual([['A b', '{}', '{"1 day"}']])
    })
  },
)
