import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { introspect } from '../../../src/migrations/introspect/introspect.js'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'

const SQL = `
  create extension if not exists pg_trgm;
  create table articles (id bigint primary key, title text not null, body text not null, note text);
  create index on articles using gin (title gin_trgm_ops, body gin_trgm_ops);
  create index on articles using gin (note gin_trgm_ops) where id > 0;
  create table scans (id bigint primary key, page text not null);
  insert into articles values (1, 'Emma', 'a novel', null), (2, 'Ulysses', 'about Emma', 'Emma');
  insert into scans select n, (select string_agg(md5((n * 1000 + m)::text), '') from generate_series(1, 1000) m) from generate_series(1, 120) n;
`

let folder: string
let database: TestDatabase
let api: Api
let text: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'searches-'))
  database = await openTestDatabase('')
  await database.loadExtensions?.(['pg_trgm'])
  await runSql(database, SQL)
  await database.query({ text: 'analyze', values: [] })
  ;({ text } = await introspect(database, { file: 'resources.yaml', directory: folder, manage: false }))
  api = await startApi(text, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

test('introspection searches the texts that a trigram index over all rows finds', async () => {
  expect(text).toContain('    path: /articles/\n    search: [title, body]\n')
  const found = (await (await api.fetch('/api/articles/?search=emma')).json()) as readonly { readonly id: number }[]
  expect(found.map(({ id }) => id)).toEqual([1, 2])
})

test('introspection limits pages of wide rows to a megabyte', async () => {
  const [, usual, most] =
    /path: \/scans\/\n {4}pagination: \{ page_size: (\d+), max_page_size: (\d+) \}/.exec(text) ?? []
  expect(Number(usual)).toBe(10)
  expect(Number(most)).toBeGreaterThan(25)
  expect(Number(most)).toBeLessThanOrEqual(33)
  expect(text).toContain('    path: /articles/\n    search: [title, body]\n')
  const records = (await (await api.fetch('/api/scans/?page_size=100')).json()) as readonly unknown[]
  expect(records).toHaveLength(Number(most))
})
