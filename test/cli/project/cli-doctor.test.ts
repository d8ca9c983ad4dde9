import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  runInHost,
  startServe,
} from '../../support/cli.js'
import { envOf, openOnlyOnServer, openTestDatabase, testDatabaseKind } from '../../support/database.js'
import { CREATE_ROLE, ROLE } from '../../support/roles.js'

const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

let project: Project

afterEach(() => project.remove())

interface Report {
  readonly ok: boolean
  readonly checks: readonly {
    readonly check: string
    readonly state: string
    readonly message: string
    readonly help: readonly string[]
  }[]
}

const examine = async (env: Readonly<Record<string, string>> = {}) => {
  const { code, stdout } = await runInHost(['doctor', '--json'], { cwd: project.folder, env: { PORT: '0', ...env } })
  const { ok, checks } = JSON.parse(stdout) as Report
  const of = (name: string) => checks.find(({ check }) => check === name)
  return { code, ok, of, text: stdout }
}

test('finds nothing wrong with a valid project, and creates no database', async () => {
  const sound = BOOKS.replace('    filterable: [title]\n', '')
  project = await makeProject({ 'resources.yaml': sound, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  const database = await openOnlyOnServer()
  const env = { PORT: '0', ...envOf(database) }
  if (database) await runInHost(['migrate', 'up'], { cwd: project.folder, env })
  const { code, stdout, stderr } = await runInHost(['doctor'], { cwd: project.folder, env })
  await database?.close()
  expect({ code, stdout }).toMatchObject({ code: 0 })
  expect(stdout).not.toMatch(/^(warn|fail)/m)
  expect(stdout).toMatch(
    database ? /^ok {2}schema +1 migration applied$/m : /^ok {2}database +embedded, not created yet/m,
  )
  expect(stderr).toMatch(/\n\d checks, 0 failed, 0 warnings\n$/)
})

test('names a fix for each problem, and no password (promise 21)', async () => {
  project = await makeProject({ 'resources.yaml': BOOKS, '.snippetctl': 'a file where a folder belongs' })
  await project.write('package-lock.json', '{"packages":{"node_modules/snippetctl":{"version":"0.0.1"}}}')
  const port = createServer().listen(0, '127.0.0.1')
  await once(port, 'listening')
  const { port: taken } = port.address() as AddressInfo
  const { code, ok, of, text } = await examine({
    PORT: String(taken),
    DATABASE_URL: 'postgres://app:s3cret-word@127.0.0.1:1/app',
    http_proxy: 'http://user:s3cret-word@proxy:3128',
  })
  port.close()
  expect({ code, ok }).toEqual({ code: 1, ok: false })
  expect(of('snippetctl')).toMatchObject({ state: 'warn', help: ['npm ci', expect.anything()] })
  expect(of('folder')).toMatchObject({ state: 'fail', message: '.snippetctl is not writable (ENOTDIR)' })
  expect(of('database')).toMatchObject({
    state: 'fail',
    help: ['check that it is running, and that DATABASE_URL is right'],
  })
  expect(of('port')).toMatchObject({ state: 'warn', message: `port ${taken} is already in use` })
  expect(of('proxy')).toMatchObject({ state: 'warn', help: ['export NO_PROXY=localhost,127.0.0.1'] })
  expect(text).not.toContain('s3cret')
})

test('reports a configuration with errors, and a missing one', async () => {
  project = await makeProject({ 'resources.yaml': BOOKS.replace('type: string', 'type: strng') })
  expect((await examine()).of('configuration')).toEqual({
    check: 'configuration',
    state: 'fail',
    message: 'resources.yaml: 1 error',
    help: ['snippetctl check'],
  })
  await project.remove()
  project = await makeProject({})
  const { of } = await examine()
  expect(of('configuration')?.message).toBe('cannot read `resources.yaml`: there is no such file')
  expect(of('configuration')?.help).toContain('or make a project: snippetctl new NAME')
})

test('reports pending migrations', async () => {
  const database = await openOnlyOnServer()
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  // An embedded database that is there.
  if (!database) await runInHost(['migrate', 'up'], { cwd: project.folder })
  await project.write('migrations/0002_more.sql', '-- up\nselect 1;\n')
  const { code, of } = await examine(envOf(database))
  await database?.close()
  expect(code).toBe(1)
  expect(of('database')?.message).toMatch(
    database ? /: PostgreSQL [\d.]+.*, as the superuser \w+$/ : /: PostgreSQL [\d.]+$/,
  )
  expect(of('schema')).toMatchObject({ state: 'fail', help: expect.arrayContaining(['snippetctl migrate up']) })
  expect(of('schema')?.message).toMatch(/^\d migrations? not up to date: .*0002_more \(pending\)$/)
  expect(of('clock')).toMatchObject({ state: 'ok' })
})

test('finds nothing wrong while the project is being served', async () => {
  const database = await openOnlyOnServer()
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  const server = await startServe(['--migrate'], { cwd: project.folder, env: envOf(database) })
  const { code, of } = await examine({ PORT: new URL(server.url).port, ...envOf(database) })
  // Another command that needs the embedded database is told what to do.
  const up = database ? undefined : await runInHost(['migrate', 'up'], { cwd: project.folder })
  await server.stop()
  await database?.close()
  expect(of('port')).toMatchObject({ state: 'ok', message: expect.stringMatching(/: this project is served there$/) })
  expect(of('database')).toMatchObject({ state: 'ok' })
  expect(code).toBe(0)
  if (!up) return
  expect(of('database')?.message).toMatch(
    /^\.snippetctl\/pg is in use by process \d+.*; its schema and clock were not checked$/,
  )
  expect(up.stderr).toMatch(
    /^error: \.snippetctl\/pg is in use by process (\d+),.*\n {2}= help: stop it, and try again: kill \1\n/,
  )
  expect(up.stderr).toContain('snippetctl migrate plan --write NAME')
})

const OTHERS = `version: 1
database: { managed: false }
models:
  book: { table: "Old Books", fields: { id: { type: bigint, primary_key: true }, title: { type: text } } }
  away: { table: away.books, fields: { id: { type: bigint, primary_key: true, key: client } } }
  total: { table: totals, fields: { title: { type: text, primary_key: true, key: client }, books: { type: bigint } } }
  kept: { table: kept, fields: { id: { type: bigint, primary_key: true, key: client } } }
resources:
  book: { model: book, path: /books/, operations: [list, retrieve, create, update, destroy] }
  kept: { model: kept, path: /kept/, operations: [list, destroy] }
  away: { model: away, path: /away/, read_only: true }
  total: { model: total, path: /totals/, operations: [list, retrieve, destroy] }
`

const OWN_TABLES = `version: 1
auth: { keys: true }
models: { book: { table: books, fields: { id: { type: bigint, primary_key: true } } } }
resources: { book: { model: book, path: /books/, idempotency: optional, access: [{ to: anyone, may: [read, create] }] } }
`

onServer('names the rights on the tables of API keys and stored responses', async () => {
  project = await makeProject({ 'resources.yaml': OWN_TABLES })
  const database = await openTestDatabase(CREATE_ROLE)
  const run = (text: string) => database.query({ text, values: [] })
  const url = new URL(database.url ?? '')
  try {
    await runInHost(['migrate', 'plan', '--write', 'books'], { cwd: project.folder })
    await runInHost(['migrate', 'up'], { cwd: project.folder, env: envOf(database) })
    await run(`grant all on books to ${ROLE}; grant select on snippetctl_migrations to ${ROLE}`)
    url.username = ROLE
    url.password = ROLE
    const rights = async () => {
      const env = { PORT: '0', DATABASE_URL: url.href }
      const { stdout } = await runInHost(['doctor', '--json'], { cwd: project.folder, env })
      return (JSON.parse(stdout) as Report).checks.filter(({ check }) => check === 'rights')
    }
    const missing = await rights()
    expect(missing.map(({ message }) => message)).toEqual([
      `the role ${ROLE} may not read snippetctl_answers (id, key, request, status, headers, body, expires_at)`,
      `the role ${ROLE} may not insert and update and delete records of snippetctl_answers`,
      `the role ${ROLE} may not read snippetctl_keys (id, key, digest, subject, roles, claims, created_at, expires_at, revoked_at)`,
    ])
    for (const { help } of missing) await run(help[0]?.replace('as the owner: ', '') ?? '')
    expect(await rights()).toEqual([])
  } finally {
    await run(`drop owned by ${ROLE}; drop role ${ROLE}`).catch(() => {})
    await database.close()
  }
})

const RULED = `version: 1
database: { managed: false }
models:
  letter: { table: letters, fields: { id: { type: bigint, primary_key: true, key: client } } }
  sent: { table: sent, fields: { id: { type: bigint, primary_key: true, key: client } } }
  kept: { table: kept, fields: { id: { type: bigint, primary_key: true, key: client } } }
  read: { table: read, fields: { id: { type: bigint, primary_key: true, key: client } } }
resources:
  letter: { model: letter, path: /letters/ }
  sent: { model: sent, path: /sent/ }
  kept: { model: kept, path: /kept/ }
  read: { model: read, path: /read/, operations: [list, retrieve] }
`

onServer('names the operations that fail because of rules', async () => {
  const database = await openTestDatabase(`create table letters (id bigint primary key);
    create view sent as select id from letters; create view kept as select id from letters; create view read as select id from letters;
    create rule r1 as on insert to letters where new.id > 9 do instead nothing;
    create rule r2 as on delete to letters where old.id > 9 do instead nothing;
    create rule r3 as on update to sent where new.id > 9 do instead nothing;
    create rule r4 as on delete to sent where old.id > 9 do instead nothing;
    create rule r5 as on insert to kept do instead insert into letters values (new.id) returning id;
    create rule r6 as on update to kept do instead update letters set id = new.id where id = old.id;
    create rule r7 as on delete to kept do instead delete from letters where id = old.id;
    create rule r8 as on insert to read where new.id > 9 do instead nothing;`)
  project = await makeProject({ 'resources.yaml': RULED })
  try {
    const { stdout } = await runInHost(['doctor', '--json'], {
      cwd: project.folder,
      env: { PORT: '0', DATABASE_URL: database.url ?? '' },
    })
    const found = (JSON.parse(stdout) as Report).checks.filter(({ check }) => check === 'rights')
    const help = (model: string) =>
      `leave these operations out of the resources of the model ${model}, or replace the rules with triggers`
    expect(found.map((each) => [each.state, each.message, ...each.help])).toEqual([
      ['warn', 'PostgreSQL cannot insert records of letters because of its rules', help('letter')],
      ['warn', 'PostgreSQL cannot update or delete records of sent because of its rules', help('sent')],
      ['warn', 'PostgreSQL cannot update records of kept because of its rules', help('kept')],
    ])
  } finally {
    await database.close()
  }
})

onServer('names each right that the role of the service lacks, and the statement that grants it', async () => {
  const database = await openTestDatabase(`${CREATE_ROLE} create sequence shared;
    create table "Old Books" (id bigserial primary key, title text not null, at bigint default nextval('shared'));
    create materialized view kept as select 1::bigint as id; create schema "away"; create table away.books (id bigint primary key);
    create view totals as select title, count(*) as books from "Old Books" group by title;
    grant select (id) on "Old Books" to ${ROLE}; grant select, delete on totals to ${ROLE}; grant select, delete on kept to ${ROLE}`)
  project = await makeProject({ 'resources.yaml': OTHERS })
  const url = new URL(database.url ?? '')
  url.username = ROLE
  url.password = ROLE
  const rights = async () => {
    const { stdout } = await runInHost(['doctor', '--json'], {
      cwd: project.folder,
      env: { PORT: '0', DATABASE_URL: url.href },
    })
    return (JSON.parse(stdout) as Report).checks.filter(({ check }) => check === 'rights')
  }
  const run = (text: string) => database.query({ text, values: [] })
  try {
    const missing = await rights()
    expect(missing.map(({ state, message }) => `${state} ${message}`)).toEqual([
      `warn the role ${ROLE} may not read Old Books (title)`,
      `warn the role ${ROLE} may not insert and update and delete records of Old Books`,
      `warn the role ${ROLE} may not use the sequence "Old Books_id_seq" of Old Books`,
      `warn the role ${ROLE} may not use the sequence shared of Old Books`,
      'warn PostgreSQL cannot delete records of kept',
      `warn the role ${ROLE} may not use the schema away`,
      `warn the role ${ROLE} may not read away.books (id)`,
      'warn PostgreSQL cannot delete records of totals',
    ])
    const grants = missing.flatMap(({ help }) => help[0]?.match(/^as the owner: (.*)/)?.[1] ?? [])
    for (const grant of grants) await run(grant)
    expect(missing.flatMap(({ help }) => help).filter((help) => help.startsWith('leave'))).toEqual([
      'leave these operations out of the resources of the model kept',
      'leave these operations out of the resources of the model total, or create a trigger: instead of delete',
    ])
    await run('drop materialized view kept; create table kept (id bigint primary key)')
    await run(`grant select, delete on kept to ${ROLE}`)
    await run('create function skip() returns trigger language plpgsql as $$ begin return old; end $$')
    await run('create trigger skip instead of delete on totals for each row execute function skip()')
    expect(await rights()).toEqual([])
    await run(`alter role ${ROLE} set default_transaction_read_only = on`)
    expect((await rights()).map(({ message }) => message)).toEqual([
      'the database is read-only (default_transaction_read_only is on): changes are 503',
    ])
    await run(`alter role ${ROLE} reset default_transaction_read_only`)
    await run(`alter role ${ROLE} set session_replication_role = replica`)
    const [unchecked, ...others] = await rights()
    expect({ unchecked, others }).toMatchObject({
      unchecked: {
        message: expect.stringMatching(/^session_replication_role is replica: the database checks no foreign keys/),
      },
      others: [],
    })
    await run(`alter role ${ROLE} superuser`)
    expect(await rights()).toEqual([])
    await run(`alter role ${ROLE} nosuperuser`)
    await run(unchecked?.help[0]?.replace('as a superuser: ', '') ?? '')
    expect(await rights()).toEqual([])
    await run(`alter role ${ROLE} set default_transaction_read_only = on`)
    await project.write('resources.yaml', OTHERS.replace(/operations: .*]/g, 'read_only: true'))
    expect(await rights()).toEqual([])
    await run(`revoke usage on schema public from public, ${ROLE}`)
    expect((await rights()).map(({ message, help }) => [message, ...help])).toEqual([
      [
        `the role ${ROLE} may use none of the schemas of its search_path: "$user", public`,
        `as the owner of the schema of the tables: grant usage on schema NAME to "${ROLE}"`,
      ],
    ])
    await project.write('resources.yaml', OTHERS.replace(/^ {2}(?:book|kept|total): .*\n/gm, ''))
    expect(await rights()).toEqual([])
  } finally {
    await run(`drop owned by ${ROLE}; drop role ${ROLE}`).catch(() => {})
    await database.close()
  }
})
