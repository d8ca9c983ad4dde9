import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { answerBackups } from '../../../cli/database/backups.js'
import type { Log } from '../../../cli/serve/log/log.js'
import type { Database } from '../../../src/internal.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  COMMAND,
  inherited,
  makeProject,
  type Project,
  runCli,
  runInHost,
  startServe,
} from '../../support/cli.js'
import { onProjectDatabase, runSql } from '../../support/existing.js'
import { waitUntil } from '../../support/wait-until.js'

// The embedded database of a project, whatever the tests run on.

let project: Project

beforeEach(async () => {
  project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
})

afterEach(() => project.remove())

/** A file in a tar archive. */
function archived(name: string, content: string): Buffer {
  const blocks = Buffer.alloc(content === '' ? 512 : 1024)
  blocks.write(name, 0)
  blocks.write(content.length.toString(8).padStart(11, '0'), 124)
  blocks.write(`${' '.repeat(8)}0`, 148)
  blocks.write('ustar\0' + '00', 257, 'latin1')
  const sum = blocks.reduce((total, byte) => total + byte, 0)
  blocks.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  blocks.write(content, 512)
  return blocks
}

const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder })
const NAME = join('.snippetctl', 'pg')

const dumpedIds = async (): Promise<readonly number[]> => {
  const { code, stdout, stderr } = await run('dump', 'book')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { id: number }).id)
}

describe('db backup and db restore', () => {
  test('leave statistics of the restored rows, from which counts are estimated (D4)', async () => {
    await project.write('books.json', '{"book": [{"id": 1, "title": "Kindred"}, {"id": 2, "title": "Solaris"}]}')
    for (const args of [
      ['migrate', 'up'],
      ['seed', 'books.json'],
    ])
      expect(await run(...args)).toMatchObject({ code: 0 })
    const statistics = (change?: string) =>
      onProjectDatabase(project, undefined, async (database) => {
        if (change !== undefined) await runSql(database, change)
        return (
          await database.query({
            text: `select reltuples::int::text from pg_class where relname = 'books'`,
            values: [],
          })
        ).rows
      })
    // A backup has the statistics of its moment.
    expect(await statistics(`update pg_class set reltuples = 7000 where relname = 'books';`)).toEqual([['7000']])
    expect(await run('db', 'backup', 'two.tar.gz')).toMatchObject({ code: 0 })
    expect(await run('db', 'restore', 'two.tar.gz', '--yes', NAME)).toMatchObject({ code: 0 })
    expect(await statistics()).toEqual([['2']])
  })

  test('keep every record that was acknowledged before, while clients write', async () => {
    const server = await startServe([], { cwd: project.folder })
    const acknowledged: number[] = []
    let writing = true
    const write = async () => {
      while (writing) {
        const response = await fetch(`${server.url}/api/books/`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ title: 'A book' }),
        })
        expect(response.status).toBe(201)
        acknowledged.push(((await response.json()) as { id: number }).id)
      }
    }
    const writers = [write(), write(), write()]
    const before = [...acknowledged]
    const made = await run('db', 'backup', 'first.tar.gz')
    const between = [...acknowledged]
    const second = await run('db', 'backup', 'second.tar.gz')
    writing = false
    await Promise.all(writers)
    await server.stop()
    for (const { code, stderr } of [made, second])
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(/^wrote .*pg to \w+\.tar\.gz, \d+ bytes\n$/),
      })

    const all = await dumpedIds()
    expect(all).toEqual([...acknowledged].sort((one, other) => one - other))
    for (const [file, least] of [
      ['second.tar.gz', between],
      ['first.tar.gz', before],
    ] as const) {
      expect(await run('db', 'restore', file, '--yes', NAME)).toMatchObject({ code: 0 })
      const restored = await dumpedIds()
      expect(restored).toEqual(expect.arrayContaining([...least]))
      expect(all.slice(0, restored.length)).toEqual(restored)
    }
    expect(between.length).toBeGreaterThan(0)
  })

  test('accept a request while another backup is made', async () => {
    const embedded = join(project.folder, 'pg')
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const database: Partial<Database> = { pack: () => released.then(() => Buffer.from('archive')) }
    const log: Partial<Log> = { info: () => {}, error: () => {} }
    const stop = answerBackups(embedded, database as Database, log as Log)
    try {
      for (const id of [randomUUID(), randomUUID()]) {
        const asked = `${embedded}.backup-${id}.asked`
        await writeFile(asked, '')
        await waitUntil(() => !existsSync(asked))
      }
    } finally {
      release()
      await stop()
    }
    expect((await readdir(project.folder)).filter((name) => name.endsWith('.made'))).toHaveLength(2)
  })

  test('require the name of the database to replace, and keep it if the file is not a backup', async () => {
    await run('migrate', 'up')
    await project.write('book.ndjson', '{"id":1,"title":"One"}\n')
    await run('seed', 'book.ndjson')
    expect(await run('db', 'backup', 'one.tar.gz')).toMatchObject({ code: 0 })
    expect(await run('db', 'backup', 'one.tar.gz')).toMatchObject({
      code: 2,
      stderr: 'error: `one.tar.gz` exists already, and a backup never replaces a file\n',
    })
    for (const more of [[], ['--yes', 'pg']])
      expect(await run('db', 'restore', 'one.tar.gz', ...more)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining(`= help: confirm: snippetctl db restore one.tar.gz --yes ${NAME}\n`),
      })
    await writeFile(join(project.folder, 'broken.tar.gz'), 'no archive')
    expect(await run('db', 'restore', 'broken.tar.gz', '--yes', NAME)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: broken.tar.gz cannot be restored: '),
    })
    const archive = (...files: readonly (readonly [string, string])[]) =>
      gzipSync(Buffer.concat([...files.map(([name, content]) => archived(name, content)), Buffer.alloc(1024)]))
    await writeFile(join(project.folder, 'part.tar.gz'), archive(['PG_VERSION', '18'], ['base/1', 'x']))
    expect(await run('db', 'restore', 'part.tar.gz', '--yes', NAME)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'error: part.tar.gz cannot be restored: it contains only a part of a database: global/pg_control is missing\n',
      ),
    })
    const clash = archive(['PG_VERSION', '18'], ['global/pg_control', 'x'], ['PG_VERSION/x', ''])
    await writeFile(join(project.folder, 'clash.tar.gz'), clash)
    expect(await run('db', 'restore', 'clash.tar.gz', '--yes', NAME)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: clash.tar.gz cannot be restored: a file or folder cannot be written ('),
    })
    expect(await run('db', 'restore', 'migrations')).toMatchObject({
      code: 2,
      stderr:
        'error: cannot read `migrations`: it is a folder\n  = help: name a file that `snippetctl db backup` has written\n',
    })
    expect(await dumpedIds()).toEqual([1])
  })

  test('restore moves aside a link to a folder that does not exist', async () => {
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    expect(await run('db', 'backup', 'one.tar.gz')).toMatchObject({ code: 0 })
    const database = join(project.folder, NAME)
    for (const number of [1, 2]) {
      await rm(database, { recursive: true })
      await symlink('not-mounted', database)
      expect(await run('db', 'restore', 'one.tar.gz')).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`the old database is in ${NAME}.before-restore-${number};`),
      })
      expect(await dumpedIds()).toEqual([])
    }
  })

  test('and resetting, in another folder, are confirmed by a command for the shell', async () => {
    await project.write('my app/resources.yaml', BOOKS)
    await project.write('my app/.snippetctl/pg/some.file', '')
    await project.write('any.file', '')
    const config = ['--config', 'my app/resources.yaml']
    const [name, flag] = ["'my app/.snippetctl/pg'", "--config 'my app/resources.yaml'"]
    expect(await run('db', 'reset', ...config)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`= help: confirm: snippetctl db reset ${flag} --name ${name}\n`),
    })
    expect(await run('db', 'restore', 'any.file', ...config)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`= help: confirm: snippetctl db restore ${flag} any.file --yes ${name}\n`),
    })
  })

  test('support only the embedded database', async () => {
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nowhere' }
    for (const command of ['backup', 'restore'])
      expect(await runCli(['db', command, 'x.tar.gz'], { cwd: project.folder, env })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('DATABASE_URL is set, but this command works only with the embedded database'),
      })
    expect(await run('db', 'backup', 'x.tar.gz')).toMatchObject({
      code: 2,
      stderr: `error: ${NAME} does not contain an embedded database\n`,
    })
  })
})

test('a lock that cannot be written is an error that names its file, and leaves no file behind', async () => {
  await project.write(join('.snippetctl', 'kept'), '')
  // As on a full disk, no file can get any content.
  const command = ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, COMMAND, 'migrate', 'up']
  const failed = await promisify(execFile)('sh', command, { cwd: project.folder, env: inherited() }).catch(
    (error: { readonly code: number; readonly stderr: string }) => error,
  )
  expect(failed).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: .snippetctl\/pg.lock: .* \(EFBIG from write\)\n/),
  })
  expect(await readdir(join(project.folder, '.snippetctl'))).toEqual(['kept'])
})
