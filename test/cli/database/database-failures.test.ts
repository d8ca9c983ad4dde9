import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openDatabase } from '../../../src/db/open.js'
import { makeProject, runInHost } from '../../support/cli.js'
import { openOnlyOnServer, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { CREATE_ROLE, DROP_ROLE, ROLE } from '../../support/roles.js'
import { startProxy } from '../../../torture/proxy.js'
import { openShelves, type Shelves } from '../../support/shelves.js'

const YAML = `version: 1
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/, access: [{ to: anyone, may: all }] }
auth: { keys: true }
`

let shelves: Shelves
beforeAll(async () => {
  shelves = await openShelves({ yaml: YAML })
})
afterAll(() => shelves.remove())

// The embedded database has one session, so nothing can hold it up.
const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

onServer('a failure of the database is not reported as a bug', async () => {
  const other = await openDatabase({ url: shelves.database?.url, directory: '' }, {})
  try {
    await other.transaction(
      async (connection) => {
        await connection.query({ text: 'lock table notes', values: [] })
        expect(await shelves.run('dump', 'note')).toEqual({
          code: 2,
          stdout: '',
          stderr:
            'error: The database is busy with other changes\n  = help: see the state of the database: snippetctl doctor\n',
        })
      },
      { unlimited: true },
    )
  } finally {
    await other.close()
  }
})

/** A proxy in front of a database, and the URL of the database through it. */
async function startProxyTo(database: TestDatabase | undefined) {
  const url = new URL(String(database?.url))
  const sockets = url.searchParams.get('host')
  const proxy = await startProxy(sockets === null ? Number(url.port) : `${sockets}/.s.PGSQL.${url.port}`)
  url.host = `127.0.0.1:${proxy.port}`
  url.searchParams.delete('host')
  return { proxy, url: url.href }
}

const OF_MIGRATIONS = 'see which migrations were applied: snippetctl migrate status'

onServer.each([
  { command: ['dump', 'note'], marker: 'notes', moment: 'before reply', help: 'run it again: it does not change' },
  {
    command: ['introspect', '--print'],
    marker: 'pg_attribute',
    moment: 'before reply',
    help: 'run it again: it does not change',
  },
  { command: ['seed', 'note.csv'], marker: 'commit', moment: 'before reply', help: 'run it again: it loads the whole' },
  { command: ['keys', 'create', '--subject', 'a'], marker: 'insert into', moment: 'before reply', help: 'revoke it' },
  { command: ['migrate', 'up'], marker: 'snippetctl_migrations', moment: 'before reply', help: OF_MIGRATIONS },
  { command: ['migrate', 'up'], marker: 'COMMIT', moment: 'before reply', help: OF_MIGRATIONS },
  { command: ['serve', '--migrate'], marker: 'snippetctl_migrations', moment: 'during reply', help: OF_MIGRATIONS },
] as const)(
  'a connection that $command loses at $marker is reported as lost',
  async ({ command, marker, moment, help }) => {
    const { proxy, url } = await startProxyTo(shelves.database)
    try {
      await shelves.project.write('note.csv', 'id\n1\n')
      if (help === OF_MIGRATIONS)
        await shelves.project.write('migrations/0002_more.sql', '-- up\ncreate table more (id int);\n')
      proxy.arm(marker, moment, 'end')
      const env = { DATABASE_URL: url, PORT: '0' }
      const outcome = await runInHost(command, { cwd: shelves.project.folder, env })
      expect(outcome).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /^error: (?:the connection to the database was lost|the database did not report the outcome of a statement)$/m,
        ),
      })
      expect(outcome.stderr).toContain(help)
      expect(outcome.stderr.includes(OF_MIGRATIONS)).toBe(help === OF_MIGRATIONS)
      expect(outcome.stderr).not.toContain('unexpected')
    } finally {
      await proxy.close()
      await rm(`${shelves.project.folder}/migrations/0002_more.sql`, { force: true })
    }
  },
)

onServer(
  '`introspect --manage` that loses its connection at the commit does not claim that it changed nothing',
  async () => {
    const database = await openOnlyOnServer()
    const project = await makeProject({})
    const { proxy, url } = await startProxyTo(database)
    try {
      await database?.query({ text: 'create table things (id bigint primary key)', values: [] })
      proxy.arm('snippetctl_migrations', 'before reply', 'end')
      const { code, stderr } = await runInHost(['introspect', '--manage'], {
        cwd: project.folder,
        env: { DATABASE_URL: url },
      })
      expect(code).toBe(2)
      expect(stderr).toContain(`  = help: ${OF_MIGRATIONS}\n`)
    } finally {
      await proxy.close()
      await project.remove()
      await database?.close()
    }
  },
)

onServer('`db copy` that loses its connection at the commit does not claim that it copied nothing', async () => {
  const database = await openOnlyOnServer()
  const { folder } = shelves.project
  const { proxy, url } = await startProxyTo(database)
  try {
    for (const DATABASE_URL of [undefined, database?.url])
      expect(
        await runInHost(['migrate', 'up'], { cwd: folder, env: DATABASE_URL === undefined ? {} : { DATABASE_URL } }),
      ).toMatchObject({ code: 0 })
    proxy.arm('commit', 'before reply', 'end')
    expect(await runInHost(['db', 'copy', '--to', url], { cwd: folder, env: {} })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        '  = help: run it again: it copies everything or nothing; if the tables of the target then have rows',
      ),
    })
  } finally {
    await proxy.close()
    await database?.close()
  }
})

onServer('a user that may not create objects gets a help that names the grant', async () => {
  const empty = await openOnlyOnServer()
  await empty?.query({ text: `${CREATE_ROLE} revoke create on schema public from public`, values: [] })
  try {
    const url = new URL(String(empty?.url))
    url.username = url.password = ROLE
    const database = url.pathname.slice(1)
    for (const { command, object, grants } of [
      {
        command: ['migrate', 'plan', '--scratch', url.href],
        object: `database ${database}`,
        grants: `grant create on database "${database}" to USER`,
      },
      {
        command: ['migrate', 'up'],
        object: 'schema public',
        grants:
          'grant usage on schema "public" to USER; to create objects there: grant create on schema "public" to USER',
      },
    ])
      expect(await runInHost(command, { cwd: shelves.project.folder, env: { DATABASE_URL: url.href } })).toMatchObject({
        code: 2,
        stderr:
          `error: permission denied for ${object}\n` + `  = help: as its owner, for the user in the URL: ${grants}\n`,
      })
  } finally {
    await empty?.close()
    await shelves.database?.query({ text: DROP_ROLE, values: [] })
  }
})

onServer('a user that may use no schema gets a help that names the grant', async () => {
  const empty = await openOnlyOnServer()
  await empty?.query({ text: `${CREATE_ROLE} revoke usage on schema public from public, ${ROLE}`, values: [] })
  try {
    const url = new URL(String(empty?.url))
    url.username = url.password = ROLE
    const env = { DATABASE_URL: url.href }
    expect(await runInHost(['migrate', 'up'], { cwd: shelves.project.folder, env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^error: no schema has been selected to create in\n {2}= help: .*: grant usage, create on schema NAME to USER\n$/,
      ),
    })
  } finally {
    await empty?.close()
    await shelves.database?.query({ text: DROP_ROLE, values: [] })
  }
})

onServer('a missing privilege on the journal is named, with the role and the grant', async () => {
  const { database } = shelves
  const url = new URL(String(database?.url))
  await database?.query({ text: `${CREATE_ROLE} grant select on notes to ${ROLE}`, values: [] })
  try {
    url.username = url.password = ROLE
    const env = { DATABASE_URL: url.href, PORT: '0' }
    const reason = `the role ${ROLE} may not read the table snippetctl_migrations, the journal of applied migrations`
    const help = `as the owner of the table: grant select on snippetctl_migrations to "${ROLE}"`
    for (const command of [['serve'], ['migrate', 'status'], ['check', '--database'], ['dump', 'note']])
      expect({ command, ...(await runInHost(command, { cwd: shelves.project.folder, env })) }).toMatchObject({
        command,
        code: 2,
        stderr: expect.stringContaining(`error: ${reason}\n  = help: ${help}\n`),
      })
    const doctor = await runInHost(['doctor', '--json'], { cwd: shelves.project.folder, env })
    expect((JSON.parse(doctor.stdout) as { checks: unknown[] }).checks).toContainEqual({
      check: 'schema',
      state: 'fail',
      message: reason,
      help: [help],
    })

    await database?.query({
      text: `grant select on snippetctl_migrations to ${ROLE}; revoke all on notes from ${ROLE}`,
      values: [],
    })
    expect((await runInHost(['dump', 'note'], { cwd: shelves.project.folder, env })).stderr).toBe(
      'error: the user of the database lacks a privilege: permission denied for table notes\n' +
        '  = help: see the state of the database: snippetctl doctor\n',
    )
  } finally {
    await database?.query({ text: DROP_ROLE, values: [] })
  }
})

onServer.each([
  { user: 'a role without privileges', options: '', reason: 'the user of the database lacks a privilege: ' },
  {
    user: 'a session that only reads',
    options: '-c default_transaction_read_only=on',
    reason: 'The database is read-only',
  },
])('`keys create` of $user names the reason, not a pending migration', async ({ options, reason }) => {
  const { database, project } = shelves
  const url = new URL(String(database?.url))
  await database?.query({ text: `${CREATE_ROLE} grant select on snippetctl_migrations to ${ROLE}`, values: [] })
  await project.write('migrations/0002_more.sql', '-- up\ncreate table more (id int);\n')
  try {
    if (options === '') url.username = url.password = ROLE
    else url.searchParams.set('options', options)
    expect(
      await runInHost(['keys', 'create', '--subject', 'a'], { cwd: project.folder, env: { DATABASE_URL: url.href } }),
    ).toMatchObject({ code: 2, stderr: expect.stringContaining(`error: ${reason}`) })
  } finally {
    await rm(`${project.folder}/migrations/0002_more.sql`)
    await database?.query({ text: DROP_ROLE, values: [] })
  }
})

test('a project with DATABASE_URL needs no folder for an embedded database', async () => {
  const project = await makeProject({ 'resources.yaml': YAML, '.snippetctl': 'a file' })
  try {
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nowhere' }
    expect(await runInHost(['migrate', 'status'], { cwd: project.folder, env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ECONNREFUSED'),
    })
  } finally {
    await project.remove()
  }
})
