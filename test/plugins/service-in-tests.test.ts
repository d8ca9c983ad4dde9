import { join } from 'node:path'
import { afterEach, expect, test } from '@jest/globals'
import { startTestService, type TestService } from '../../src/testing.js'
import { BOOKS, makeProject, type Project } from '../support/cli.js'
import { openOnlyOnServer, type TestDatabase } from '../support/database.js'

const BOOKS_TABLE = `-- up
create table "books" ("id" bigint generated always as identity, "title" varchar(100) collate "C" not null,
  constraint "books_pkey" primary key ("id"));
-- down
drop table "books";
`

let project: Project
const opened: (TestService | TestDatabase)[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
  await project.remove()
})

async function start(files: Readonly<Record<string, string>>): Promise<TestService> {
  project = await makeProject(files)
  return again()
}

async function again(): Promise<TestService> {
  const database = await openOnlyOnServer()
  const service = startTestService({ file: join(project.folder, 'resources.yaml'), databaseUrl: database?.url })
  if (database) opened.push(database)
  opened.unshift(await service)
  return service
}

const create = (service: TestService, title: string) =>
  service.fetch('/api/books/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title }),
  })

test('serves the file and its migrations, each service with its own records', async () => {
  const service = await start({ 'resources.yaml': BOOKS, 'migrations/0001_books.sql': BOOKS_TABLE })
  expect((await create(service, 'Emma')).status).toBe(201)
  expect(await (await service.fetch('/api/books/?title=Emma')).json()).toEqual([{ id: 1, title: 'Emma' }])
  expect((await service.database.query({ text: 'select 1 from "books"', values: [] })).rows.length).toBe(1)
  expect(await (await (await again()).fetch('/api/books/')).json()).toEqual([])
})

test('does not start with errors in the file, and reports their positions', async () => {
  const broken = start({ 'resources.yaml': BOOKS.replace('filterable:', 'filtrable:') })
  await expect(broken).rejects.toThrow(/resources\.yaml:\d+:\d+[^]*filtrable/)
})

test('does not start if a migration fails', async () => {
  const broken = start({ 'resources.yaml': BOOKS, 'migrations/0001_books.sql': '-- up\ncreate tabel "books" ();\n' })
  await expect(broken).rejects.toThrow(/0001_books/)
})
