import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { Database } from '../../src/db/database.js'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'
import { CREATE_ROLE, DROP_ROLE, openAsRole, ROLE } from '../support/roles.js'

const FIELDS = 'fields: { id: { type: bigint, primary_key: true, key: client }, title: { type: text } }'
const ALL = 'operations: [list, create, retrieve, update, partial_update, destroy], bulk: [partial_update, destroy]'
const VIEWS = ['grouped', 'paired', 'joined', 'materialised']
const NAMES = [...VIEWS, 'removable', 'readable']
const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
database: { managed: false }
models:
${NAMES.map((name) => `  ${name}: { table: ${name}, ${FIELDS} }`).join('\n')}
resources:
${NAMES.map((name) => `  ${name}: { model: ${name}, path: /${name}/, ${ALL} }`).join('\n')}
mounts:
  - { path: /json-server, dialect: json-server }
`

const SQL = `${CREATE_ROLE}
  create table books (id bigint primary key, title text not null);
  create view grouped as select id, max(title) as title from books group by id;
  create view paired as select distinct id, title from books;
  create view joined as select b.id, coalesce(o.title, b.title) as title from books b left join books o on o.id = b.id;
  insert into books values (1, 'Dune'), (2, 'Emma'), (3, 'Walden');
  create materialized view materialised as select * from books;
  create function change() returns trigger language plpgsql as $$ begin
    update books set title = new.title where id = old.id;
    return new;
  end $$;
  create trigger change instead of update on grouped for each row execute function change();
  create table removable (id bigint primary key, title text not null);
  create table readable (id bigint primary key, title text not null);
  insert into readable select * from books;
  grant all on books, grouped, paired, joined, materialised to ${ROLE};
  grant select, delete on removable to ${ROLE};
  grant select on readable to ${ROLE};
`

let ran: string[]
const plugin: Plugin = (app) => {
  for (const name of NAMES) {
    app.hooks(name, {
      beforeUpdate: ({ record }) => void ran.push(`before ${record['title']}`),
      beforeDestroy: ({ record }) => void ran.push(`before ${record['title']}`),
      afterDestroy: ({ record }) => void ran.push(`after ${record['title']}`),
    })
    app.action(name, 'name', {
      summary: 'Name a book',
      output: { title: { type: 'text' } },
      handle: ({ record }) => ({ title: record['title'] }),
    })
    app.action(name, 'lock', {
      summary: 'Find whether a book is locked',
      output: { locked: { type: 'boolean' } },
      async handle({ context, id }) {
        const { rows } = await context.knex.raw(`select xmax <> 0 as locked from ${name} where id = ?`, [String(id)])
        return { locked: rows[0]?.locked === true }
      },
    })
  }
}

let database: TestDatabase
let clerk: Database
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  clerk = await openAsRole(database)
  api = await startApi(YAML, { database: clerk, plugin, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  if (clerk !== database) await clerk.close()
  await runSql(database, DROP_ROLE)
  await database.close()
})
beforeEach(() => {
  ran = []
})

test.each(NAMES.filter((name) => name !== 'removable').map((name) => ({ name })))(
  'an action runs on a record of `$name`, which cannot be locked',
  async ({ name }) => {
    for (const id of [1, 2]) {
      const response = await api.send('POST', `/${name}/${id}/name/`, undefined)
      expect([response.status, await response.json()]).toEqual([200, { title: id === 1 ? 'Dune' : 'Emma' }])
    }
    expect((await api.send('POST', `/${name}/7/name/`, undefined)).status).toBe(404)
  },
)

test('hooks run around a change of a record of a view that cannot be locked', async () => {
  const tag = (await api.fetch('/grouped/3/')).headers.get('etag') ?? ''
  const change = async (title: string, known: string) =>
    (await api.send('PATCH', '/grouped/3/', { title }, { 'if-match': known })).status
  expect([await change('Utopia', '"other"'), await change('Utopia', tag)]).toEqual([412, 200])
  expect(ran).toEqual(['before Walden'])
  expect(await (await api.send('PATCH', '/grouped/', [{ id: 3, title: 'Walden' }])).json()).toEqual([
    { id: 3, title: 'Walden' },
  ])
})

describe('a table whose records the user of the database may delete but not change', () => {
  beforeEach(async () => {
    if (clerk === database) await runSql(database, 'reset role')
    await runSql(database, 'truncate removable; insert into removable select * from books')
    if (clerk === database) await runSql(database, `set role ${ROLE}`)
  })
  const left = async () => ((await (await api.fetch('/removable/')).json()) as { id: number }[]).map(({ id }) => id)

  test.each([
    { path: '/removable/1/', status: 204, remaining: [2, 3] },
    { path: '/removable/?ids=3,1', status: 204, remaining: [2] },
    { path: '/json-server/removable/?ids=3,1', status: 200, remaining: [2] },
    { path: '/removable/?ids=1,7', status: 404, remaining: [1, 2, 3] },
    { path: '/removable/7/', status: 404, remaining: [1, 2, 3] },
  ])('lets requests delete them, with hooks: DELETE $path', async ({ path, status, remaining }) => {
    expect((await api.send('DELETE', path, undefined)).status).toBe(status)
    expect(await left()).toEqual(remaining)
  })

  test('runs all hooks before the deletion of several records, then those after it', async () => {
    await api.send('DELETE', '/removable/?ids=3,1', undefined)
    expect(ran).toEqual(['before Walden', 'before Dune', 'after Walden', 'after Dune'])
  })

  test('is a failure of the service if a request changes one', async () => {
    expect((await api.send('PATCH', '/removable/1/', { title: 'x' })).status).toBe(503)
  })
})

test('records are locked a minute after the user of the database was granted it, and at once no longer when that is revoked', async () => {
  const lock = () => api.send('POST', '/readable/3/lock/', undefined)
  const isLocked = async () => (await lock()).json()
  const asOwner = async (statement: string) => {
    if (clerk === database) await runSql(database, 'reset role')
    await runSql(database, statement)
    if (clerk === database) await runSql(database, `set role ${ROLE}`)
  }
  expect(await isLocked()).toEqual({ locked: false })
  await asOwner(`grant update on readable to ${ROLE}`)
  const now = performance.now()
  const at = async (seconds: number) => {
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now + seconds * 1000)
    try {
      return await isLocked()
    } finally {
      clock.mockRestore()
    }
  }
  expect([await at(30), await at(61), await isLocked()]).toEqual([
    { locked: false },
    { locked: true },
    { locked: true },
  ])
  // The new version of the row has never been locked.
  await asOwner(`revoke update on readable from ${ROLE}; update readable set title = title`)
  expect([(await lock()).status, await isLocked()]).toEqual([503, { locked: false }])
})
