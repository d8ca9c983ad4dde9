import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { openTestDatabase, type TestDatabase } from '../support/database.js'
import { runSql } from '../support/existing.js'

// PostgreSQL locks no rows of groups and of outer joins.
const grants = `access:
      - { to: member, may: read }`
const view = (name: string) => `  ${name}:
    model: ${name}
    path: /${name}/
    bulk: [partial_update]
    operations: [list, retrieve, update, partial_update]
    ${grants}
      - { to: member, may: change, rows: { owner: $sub, state: open }, becomes: { owner: $sub } }
      - { to: member, may: change, rows: { owner: bob }, becomes: { owner: bob, state: open } }
`
const FIELDS =
  'fields: { id: { type: bigint, primary_key: true, key: client }, owner: { type: text }, state: { type: text }, title: { type: text } }'
const YAML = `version: 1
api: { prefix: "" }
database: { managed: false }
auth: { roles: { names: [member] }, development: { ann: { roles: [member] }, bob: { roles: [member] } } }
models:
  grouped: { table: grouped, ${FIELDS} }
  joined: { table: joined, ${FIELDS} }
resources:
${view('grouped')}${view('joined')}`

const SQL = `
  create table books (id bigint primary key, owner text not null, state text not null, title text not null);
  insert into books values (1, 'ann', 'open', 'a'), (2, 'bob', 'done', 'b'), (3, 'ann', 'done', 'c');
  create view grouped as select id, max(owner) as owner, max(state) as state, max(title) as title from books group by id;
  create view joined as select b.id, b.owner, b.state, b.title from books o left join books b on b.id = o.id;
  create function change() returns trigger language plpgsql as $$ begin
    update books set owner = new.owner, state = new.state, title = new.title where id = old.id;
    return new;
  end $$;
  create trigger change instead of update on grouped for each row execute function change();
  create trigger change instead of update on joined for each row execute function change();
`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  api = await startApi(YAML, { database })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test.each([{ name: 'grouped' }, { name: 'joined' }])(
  'records of a view that takes no locks are changed if a grant covers them: $name',
  async ({ name }) => {
    const change = async (caller: string, id: number | undefined, body: object) =>
      (
        await api.send('PATCH', `/${name}/${id === undefined ? '' : `${id}/`}`, body, {
          authorization: `Dev ${caller}`,
        })
      ).status
    // Once to find out that the view takes no locks, once knowing it.
    for (const title of ['d', 'e']) {
      expect([title, await change('ann', undefined, [{ id: 1, title }])]).toEqual([title, 200])
      expect([title, await change('ann', 1, { title })]).toEqual([title, 200])
      expect([title, await change('ann', 3, { title })]).toEqual([title, 403])
      // The second grant demands another state.
      expect([title, await change('bob', 2, { title })]).toEqual([title, 403])
    }
    expect(await change('bob', 2, { state: 'open', title: name })).toBe(200)
    const { rows } = await database.query({
      text: "update books set state = 'done' where id = 2 returning title",
      values: [],
    })
    expect(rows).toEqual([[name]])
  },
)
