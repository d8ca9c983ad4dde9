import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Statement } from '../../../src/db/database.js'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, type TestDatabase, watchDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'

const FIELDS = 'fields: { id: { type: bigint, primary_key: true, key: client }, text: { type: text } }'
/** The bodies of functions of AFTER triggers, by table. `shout_in` is a function that changes a record of a table. */
const BODIES: Readonly<Record<string, string>> = {
  apostrophes: `-- the record's text
    update apostrophes set text = upper(text) where id = new.id and text <> upper(text); -- the trigger's way`,
  blocks: `/* don't */ update blocks set text = upper(text) where id = new.id and text <> upper(text); /* won't */`,
  called: "if shout_in('called', new.id) then return new; end if;",
  assigned: "new.text := shout_in('assigned', new.id);",
  returned: "return case when Shout_In ('returned', new.id) then new end;",
  quoted: `return case when "shout it"('quoted', new.id) then new end;`,
  marked: `return case when "!cry!"(tg_table_name, new.id) then new end;`,
  signed: `return case when "+++"(tg_table_name, new.id) then new end;`,
  logged: "insert into log values ('logged', new.id);",
  logged_by_view: "insert into log_view values ('logged_by_view', new.id);",
  removed: "insert into plain values ('removed', new.id); delete from plain where name = 'removed';",
}
const BY_BODY = Object.keys(BODIES)
const ALL = 'operations: [list, create, retrieve, update, partial_update, destroy], bulk: [create, partial_update]'
const YAML = `version: 1
api: { prefix: "" }
database: { managed: false }
models:
  loud: { table: loud, ${FIELDS} }
  through: { table: through, ${FIELDS} }
  replaced: { table: replaced, ${FIELDS} }
  part: { table: parts, ${FIELDS} }
  audited: { table: audited, ${FIELDS} }
  leaving: { table: leaving, ${FIELDS} }
${[...BY_BODY, 'inherited', 'ruled'].map((name) => `  ${name}: { table: ${name}, ${FIELDS} }`).join('\n')}
resources:
  loud: { model: loud, path: /loud/, ${ALL} }
  through: { model: through, path: /through/, ${ALL} }
  replaced: { model: replaced, path: /replaced/, ${ALL} }
  part: { model: part, path: /parts/, ${ALL} }
  audited: { model: audited, path: /audited/, ${ALL} }
  leaving: { model: leaving, path: /leaving/, ${ALL} }
${[...BY_BODY, 'inherited', 'ruled'].map((name) => `  ${name}: { model: ${name}, path: /${name}/, ${ALL} }`).join('\n')}
mounts:
  - { path: /json-server, dialect: json-server }
`

// Each trigger spells the text in capitals after it is stored.
const SQL = `
  create table loud (id bigint primary key, text text not null);
  create function shout() returns trigger language plpgsql as $$ begin
    update loud set text = upper(text) where id = new.id and text <> upper(text);
    return null;
  end $$;
  create trigger shout after insert or update on loud for each row execute function shout();
  create view through as select * from loud;
  create view replaced as select * from loud;
  create function write_loud() returns trigger language plpgsql as $$ begin
    if tg_op = 'INSERT' then insert into loud values (new.id, new.text);
    else update loud set text = new.text where id = old.id;
    end if;
    return new;
  end $$;
  create trigger write_loud instead of insert or update on replaced for each row execute function write_loud();
  create table parts (id bigint primary key, text text not null) partition by range (id);
  create table parts_all partition of parts default;
  create function shout_all() returns trigger language plpgsql as $$ begin
    if pg_trigger_depth() > 1 then return null; end if;
    execute format('update %I set text = upper(text) where text <> upper(text)', 'parts');
    return null;
  end $$;
  create trigger shout_all after insert or update on parts for each statement execute function shout_all();
  create table audited (id bigint primary key, text text not null);
  create table audit (operation text, text text);
  create function note() returns trigger language plpgsql as $$ begin
    if tg_op in ('INSERT', 'UPDATE') then insert into audit values (tg_op, new.text); end if;
    return null;
  end $$;
  create trigger note after insert or update on audited for each row execute function note();
  create table everything (id bigint primary key, text text not null, gone boolean not null default false);
  create view leaving as select id, text from everything where not gone;
  create function leave() returns trigger language plpgsql as $$ begin
    update everything set gone = true where id = new.id and not gone and text = 'gone';
    return null;
  end $$;
  create trigger leave after insert or update on everything for each row execute function leave();
  create function shout_in(name text, id bigint) returns boolean language plpgsql as $$ begin
    execute format('update %I set text = upper(text) where id = $1 and text <> upper(text)', name) using id;
    return true;
  end $$;
  create function "shout it"(name text, id bigint) returns boolean language sql as $$ select shout_in(name, id) $$;
  create function "!cry!"(name text, id bigint) returns boolean language sql as $$ select shout_in(name, id) $$;
  create function "+++"(name text, id bigint) returns boolean language sql as $$ select shout_in(name, id) $$;
  create table log (name text, id bigint);
  create table plain (name text, id bigint);
  create view log_view as select * from log;
  create function shout_logged() returns trigger language plpgsql as $$ begin
    return case when shout_in(coalesce(new.name, old.name), coalesce(new.id, old.id)) then new end;
  end $$;
  create trigger shout_logged after insert on log for each row execute function shout_logged();
  create trigger shout_removed after delete on plain for each row execute function shout_logged();
  ${Object.entries(BODIES)
    .map(
      ([name, body]) => `create table ${name} (id bigint primary key, text text not null);
        create function in_${name}() returns trigger language plpgsql as $$ begin ${body}
          return null;
        end $$;
        create trigger shout after insert or update on ${name} for each row execute function in_${name}();`,
    )
    .join('\n')}
  create table inherited (id bigint primary key, text text not null);
  create function shout_heir() returns trigger language plpgsql as $$ begin
    update inherited set text = upper(text) where id = new.id and text <> upper(text);
    return null;
  end $$;
  create table heir () inherits (inherited);
  create trigger shout after update on heir for each row execute function shout_heir();
  create table ruled (id bigint primary key, text text not null);
  create rule shout_new as on insert to ruled do also
    update ruled set text = upper(text) where id = new.id;
`

let database: TestDatabase
let sent: Statement[]
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  const { watched, sent: statements } = watchDatabase(database)
  sent = statements
  api = await startApi(YAML, { database: watched, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(async () => {
  await runSql(database, 'truncate loud, parts, audited, everything')
  for (const table of ['loud', 'parts', 'audited', 'everything'])
    await runSql(database, `insert into ${table} (id, text) values (1, 'A'), (2, 'B')`)
})

const send = async (method: string, path: string, body: unknown, headers = {}) => {
  const response = await api.send(method, path, body, headers)
  return { status: response.status, tag: response.headers.get('etag'), json: (await response.json()) as unknown }
}

describe.each(['loud', 'through', 'replaced', 'parts'])(
  'a record of `%s` that a trigger changes after it is stored',
  (name) => {
    test.each([
      { method: 'POST', path: `/${name}/`, body: { id: 3, text: 'x' }, json: { id: 3, text: 'X' } },
      { method: 'POST', path: `/${name}/bulk/`, body: [{ id: 3, text: 'x' }], json: [{ id: 3, text: 'X' }] },
      { method: 'PATCH', path: `/${name}/1/`, body: { text: 'x' }, json: { id: 1, text: 'X' } },
      { method: 'PUT', path: `/${name}/1/`, body: { text: 'x' }, json: { id: 1, text: 'X' } },
      { method: 'PATCH', path: `/${name}/`, body: [{ id: 1, text: 'x' }], json: [{ id: 1, text: 'X' }] },
      { method: 'PUT', path: `/json-server/${name}/1`, body: { text: 'x' }, json: { id: 1, text: 'X' } },
    ])('is returned as the trigger leaves it: $method $path', async ({ method, path, body, json }) => {
      expect(await send(method, path, body)).toMatchObject({ json })
    })

    test('is changed again under the ETag of the response', async () => {
      const { tag: created } = await send('POST', `/${name}/`, { id: 3, text: 'x' })
      const { tag: changed } = await send('PATCH', `/${name}/3/`, { text: 'y' }, { 'if-match': created })
      expect(await send('PATCH', `/${name}/3/`, { text: 'z' }, { 'if-match': changed })).toMatchObject({
        status: 200,
        json: { id: 3, text: 'Z' },
      })
    })
  },
)

describe.each(BY_BODY)('a record of `%s` that the code of a trigger changes', (name) => {
  test.each([
    { method: 'POST', path: `/${name}/`, body: { id: 3, text: 'x' }, json: { id: 3, text: 'X' } },
    { method: 'PATCH', path: `/${name}/3/`, body: { text: 'y' }, json: { id: 3, text: 'Y' } },
  ])('is returned as the trigger leaves it: $method', async ({ method, path, body, json }) => {
    expect(await send(method, path, body)).toMatchObject({ json })
  })
})

test('a record that a trigger of an inheriting table changes is returned as the trigger leaves it', async () => {
  await runSql(database, "insert into heir values (1, 'A')")
  expect(await send('PATCH', '/inherited/1/', { text: 'x' })).toMatchObject({ json: { id: 1, text: 'X' } })
})

test('a record that a rule changes is returned as the rule leaves it', async () => {
  expect(await send('POST', '/ruled/', { id: 1, text: 'x' })).toMatchObject({ json: { id: 1, text: 'X' } })
})

test('a record that a trigger takes out of its view is returned as it was stored', async () => {
  expect(await send('PATCH', '/leaving/1/', { text: 'gone' })).toMatchObject({
    status: 200,
    json: { id: 1, text: 'gone' },
  })
  expect((await send('GET', '/leaving/1/', undefined)).status).toBe(404)
})

test('a change of a table whose trigger only adds rows elsewhere is one statement', async () => {
  await send('PATCH', '/audited/1/', { text: 'x' })
  sent.length = 0
  expect((await send('PATCH', '/audited/2/', { text: 'x' })).status).toBe(200)
  expect((await send('POST', '/audited/', { id: 3, text: 'x' })).status).toBe(201)
  expect(sent.map(({ text }) => text.slice(0, 6))).toEqual(['update', 'insert'])
})
