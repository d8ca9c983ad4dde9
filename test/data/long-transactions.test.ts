import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Outcome, runCli } from '../support/cli.js'
import { envOf, testDatabaseKind } from '../support/database.js'
import { onProjectDatabase, runSql } from '../support/existing.js'
import { openShelves, type Shelves } from '../support/shelves.js'

const YAML = `version: 1
models:
  node:
    table: nodes
    fields:
      id: { type: bigint, primary_key: true }
      parent: { type: belongs_to, model: node, nullable: true }
resources:
  node: { model: node, path: /nodes/ }
`

let shelves: Shelves
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
})
afterAll(() => shelves.remove())

const run = (sql: string, from = shelves) =>
  onProjectDatabase(from.project, from.database, (database) => runSql(database, sql))

/** Longer than the limit of a request's statement, and than the driver waits for one. */
const SLOW_CHECK = `
  create or replace function wait() returns trigger language plpgsql as 'begin perform pg_sleep(6.5); return null; end';
  create constraint trigger wait after insert on nodes deferrable initially deferred for each row
    when (new.id = 1) execute function wait();`

// The embedded database has no time limits.
const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('references to later records may take long to check', () => {
  const NODES = '{"id":1,"parent":2}\n{"id":2}\n'
  let source: Shelves | undefined
  let target: Shelves | undefined
  let seeded: Promise<Outcome>
  let copied: Promise<Outcome>
  beforeAll(async () => {
    source = await openShelves({ yaml: YAML, embedded: true })
    target = await openShelves({ yaml: YAML })
    for (const { project } of [source, shelves]) await project.write('node.ndjson', NODES)
    expect((await source.run('seed', 'node.ndjson')).code).toBe(0)
    for (const each of [shelves, target]) await run(SLOW_CHECK, each)
    // Both at once, because they wait.
    seeded = runCli(['seed', 'node.ndjson'], { cwd: shelves.project.folder, env: envOf(shelves.database) })
    copied = source.run('db', 'copy', '--to', target.database?.url ?? '')
  })
  afterAll(async () => {
    await run('drop trigger if exists wait on nodes; truncate nodes;')
    await source?.remove()
    await target?.remove()
  })

  test('when seed checks them', async () => {
    expect(await seeded).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('created 2, updated 0, unchanged 0\n'),
    })
  })

  test('when db copy checks them', async () => {
    const { code, stderr } = await copied
    expect([code, stderr]).toEqual([0, expect.stringContaining('copied 2 rows')])
  })
})

/** A view whose record 500 cannot be read at first, as on a standby that must apply changes. */
const CONFLICT = `
  insert into nodes (id) overriding system value select n from generate_series(1, 1000) n;
  analyze nodes;
  alter table nodes rename to kept;
  create function read(id bigint, parent bigint) returns bigint language plpgsql stable as $$ begin
    if id = 500 and not exists (
      select from pg_locks where locktype = 'advisory' and objid = 77
        and database = (select oid from pg_database where datname = current_database())
    ) then
      perform pg_advisory_lock(77);
      raise exception 'conflict with recovery' using errcode = '40001';
    end if;
    return parent;
  end $$;
  create view nodes as select id, read(id, parent_id) as parent_id from kept;`

test('a dump fails if its snapshot is lost, because it has already written records', async () => {
  await run(CONFLICT)
  const { code } = await shelves.run('dump', 'node', '--output', 'nodes.ndjson')
  expect(code).toBe(2)
  await expect(access(join(shelves.project.folder, 'nodes.ndjson'))).rejects.toThrow('ENOENT')
})
