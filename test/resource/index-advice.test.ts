import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, explainRead, loadApplication } from '../../src/internal.js'
import { ddlOf, specOf } from '../support/config.js'
import { openTestDatabase } from '../support/database.js'

const YAML = `version: 1
models:
  person:
    table: people
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 80 }
      email: { type: string, max: 80 }
      status: { type: string, max: 9 }
      deleted_at: { type: timestamp, nullable: true }
      seen_at: { type: timestamp, nullable: true }
      tags: { type: array, items: { type: string, max: 9 }, max: 5 }
      marks: { type: array, items: { type: string, max: 9 }, max: 5 }
    indexes:
      - { fields: [name, id], where: { status: open } }
      - { fields: [email, id], where: { deleted_at: null, status__in: [open, done] } }
      - { fields: [status, name, id], where: { status: archived } }
      - { fields: [name], ignore_case: true }
      - { fields: [email], ignore_case: true, where: { status: open } }
      - { fields: [tags], using: gin }
      - [seen_at, id]
resources:
  person:
    model: person
    path: /people/
    filterable: { name: [exact, iexact], email: [exact, iexact], status: [exact, in], deleted_at: [isnull], tags: [has, overlaps], marks: [has, contains] }
    orderable: [name, seen_at]
    nulls: { seen_at: first }
`

let database: Database
let folder: string
let app: Extract<Awaited<ReturnType<typeof loadApplication>>, { ok: true }>['app']

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  await writeFile(join(folder, 'resources.yaml'), YAML)
  const loaded = await loadApplication({ file: join(folder, 'resources.yaml'), env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics))
  app = loaded.app
})

afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

async function adviceOf(query: string) {
  const resource = app.resources[0]
  if (!resource) throw new Error('no resource')
  const read = { plan: resource.parseList(query).plan }
  return (await explainRead({ resource, links: app.routes, read }, database)).advice
}

test.each([
  ['status=open&ordering=name', true],
  ['status=open&name=Ada', true],
  ['email=x&deleted_at__isnull=true&status__in=open,done', true],
  ['status=archived&ordering=name', true],
  ['ordering=name', false],
  ['status=done&ordering=name', false],
  ['email=x&deleted_at__isnull=true', false],
  ['email=x&deleted_at__isnull=false&status__in=open,done', false],
])('a partial index serves a list only if the list has its conditions: %s', async (query, served) => {
  expect(await adviceOf(query)).toMatchObject({ served })
})

test('an index serves an order with nulls first, because it is read in two parts', async () => {
  expect(await adviceOf('ordering=seen_at')).toMatchObject({ served: true, fields: [] })
})

test.each([
  ['name__iexact=ada', []],
  ['email__iexact=ada', ['email']],
])('an index over all rows that ignores case serves `iexact`: %s', async (query, ignoreCase) => {
  expect(await adviceOf(query)).toMatchObject({ unserved: [], ignoreCase })
})

test.each([
  ['tags__has=a&tags__overlaps=a,b', []],
  ['marks__has=a&marks__contains=a,b', ['marks']],
])('a GIN index serves comparisons of items: %s', async (query, gin) => {
  expect(await adviceOf(query)).toMatchObject({ unserved: [], gin })
})
