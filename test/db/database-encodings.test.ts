import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { BOOKS, makeProject, runInHost, startServe } from '../support/cli.js'
import { envOf, openTestDatabase, type TestDatabase, testDatabaseKind } from '../support/database.js'

// An embedded database is always in UTF-8.
const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

const WORDS = `version: 1
models:
  word:
    table: words
    managed: false
    fields:
      word: { type: string, max: 5, primary_key: true }
      note: { type: text, nullable: true }
resources:
  word: { model: word, path: /words/, filterable: [note], bulk: [create] }
`
const LACKS = 'A text has a character that the encoding of the database lacks'

onServer('a database in LATIN1', () => {
  let database: TestDatabase
  let api: Api
  beforeAll(async () => {
    const ddl = `create table words (word varchar(5) primary key, note text); insert into words values ('abc', 'o')`
    database = await openTestDatabase(ddl, 'LATIN1')
    api = await startApi(WORDS, { database })
  })
  afterAll(async () => {
    await api.close()
    await database.close()
  })

  const send = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) }
    const response = await api.fetch(`/api/words/${path}`, init)
    const text = await response.text()
    return { status: response.status, ...(JSON.parse(text || '{}') as object) }
  }

  test('characters that it has are stored, and measured as characters', async () => {
    expect(await send('POST', '', { word: 'ééééé', note: 'ß' })).toEqual({ status: 201, word: 'ééééé', note: 'ß' })
    expect(await send('GET', encodeURI('ééééé/'))).toMatchObject({ status: 200, note: 'ß' })
    expect(await (await api.fetch(encodeURI('/api/words/?note=ß'))).json()).toHaveLength(1)
  })

  test.each([
    { method: 'GET' },
    { method: 'DELETE' },
    { method: 'PATCH', body: { note: 'n' } },
    { method: 'PUT', body: { note: 'n' } },
  ])('$method of a key with another character finds no record', async ({ method, body }) => {
    expect(await send(method, encodeURI('я/'), body)).toMatchObject({ status: 404 })
  })

  test('other characters in a body are 400, and nothing is stored', async () => {
    const rejected = { status: 400, type: '/problems/validation', detail: LACKS }
    expect(await send('POST', '', { word: 'new', note: 'я' })).toMatchObject(rejected)
    expect(await send('POST', '', { word: 'я', note: 'n' })).toMatchObject(rejected)
    expect(await send('PATCH', 'abc/', { note: 'я' })).toMatchObject(rejected)
    expect(
      await send('POST', '', [
        { word: 'new', note: 'n' },
        { word: 'newer', note: 'я' },
      ]),
    ).toMatchObject({ status: 400 })
    expect(await send('GET', 'new/')).toMatchObject({ status: 404 })
    expect(await send('GET', 'abc/')).toMatchObject({ status: 200, note: 'o' })
  })

  test('other characters in a filter are 400', async () => {
    expect(await send('GET', encodeURI('?note=я'))).toMatchObject({
      status: 400,
      type: '/problems/invalid-query',
      detail: `${LACKS}, in a filter of \`note\``,
    })
  })
})

onServer('a database in SQL_ASCII', () => {
  test('doctor and serve warn that it does not know its characters', async () => {
    const database = await openTestDatabase(undefined, 'SQL_ASCII')
    const project = await makeProject({
      'resources.yaml': BOOKS.replace('models:', 'database: { managed: false }\nmodels:'),
    })
    await database.query({
      text: 'create table books (id bigserial primary key, title varchar(200) not null)',
      values: [],
    })
    const at = { cwd: project.folder, env: { PORT: '0', ...envOf(database) } }
    const { stdout } = await runInHost(['doctor'], at)
    const serving = await startServe([], at)
    const warning = await serving.logged('unknown_encoding')
    await serving.stop()
    await project.remove()
    await database.close()
    expect(stdout).toMatch(/^warn +encoding +the encoding of the database is SQL_ASCII: /m)
    expect(warning).toMatchObject({
      level: 'warn',
      msg: expect.stringContaining('createdb --template template0 --encoding UTF8'),
    })
  })
})
