import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rename, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { openWhole } from '../../cli/project/whole-file.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  COMMAND,
  inherited,
  makeProject,
  runCli,
  runInHost,
  startServe,
} from '../support/cli.js'
import { onProjectDatabase, runSql } from '../support/existing.js'
import { interrupt } from '../support/interrupt.js'
import { waitUntil } from '../support/wait-until.js'

test.each([
  { signal: 'SIGINT', expected: 130 },
  { signal: 'SIGTERM', expected: 143 },
  { signal: 'SIGHUP', expected: 129 },
] as const)('$signal ends a command with $expected, and leaves no incomplete file', async ({ signal, expected }) => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const { folder } = project
    expect(await runInHost(['migrate', 'up'], { cwd: folder })).toMatchObject({ code: 0 })
    // So many records that the command does not end before it is interrupted.
    const fill = "insert into books (title) select repeat('x', 100) from generate_series(1, 20000)"
    await onProjectDatabase(project, undefined, (database) => runSql(database, fill))
    const parts = async () => (await readdir(folder)).filter((name) => name.startsWith('books.csv'))
    const args = [COMMAND, 'dump', 'book', '--output', 'books.csv']
    const child = spawn(process.execPath, args, { cwd: folder, env: inherited() })
    const ended = once(child, 'exit')
    await waitUntil(async () => child.exitCode !== null || (await parts()).length > 0)
    child.kill(signal)
    expect(await ended).toEqual([expected, null])
    expect(await parts()).toEqual([])
    expect(await runInHost(['dump', 'book', '--output', 'books.csv'], { cwd: folder })).toMatchObject({ code: 0 })
  } finally {
    await project.remove()
  }
})

test('an incomplete file is removed at exit from the moment that it exists', async () => {
  const project = await makeProject({})
  try {
    const part = join(project.folder, 'books.csv.part')
    const before = process.listenerCount('exit')
    const opened = openWhole(join(project.folder, 'books.csv'), part)
    while (!existsSync(part)) {
      await turn()
      // Threads go on, but the process does not notice what they have done.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
    expect(process.listenerCount('exit')).toBe(before + 1)
    await (await opened).discard()
    expect([existsSync(part), process.listenerCount('exit')]).toEqual([false, before])
  } finally {
    await project.remove()
  }
})

test.each(['snippetctl-restoring', 'before-restore'])(
  'Ctrl-C in `db restore` leaves a whole database (%s)',
  async (state) => {
    const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
    try {
      const { folder } = project
      const run = (...args: readonly string[]) => runInHost(args, { cwd: folder })
      const names = async () => (await readdir(join(folder, '.snippetctl'))).filter((name) => name.startsWith('pg'))
      expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
      expect(await run('db', 'backup', 'all.tar.gz')).toMatchObject({ code: 0 })
      const restore = ['db', 'restore', 'all.tar.gz', '--yes', '.snippetctl/pg']
      const attempt = () =>
        interrupt(restore, { cwd: folder }, async () => (await names()).some((name) => name.startsWith(`pg.${state}-`)))
      // On a busy machine, the restore may have ended before the interruption.
      const attempts = async () => {
        await rm(join(folder, '.snippetctl', 'pg.before-restore-1'), { recursive: true, force: true })
        return attempt()
      }
      const code = await waitUntil(attempts, (ended) => state !== 'snippetctl-restoring' || ended === 130)
      // Once the old database was moved aside, the restore may have ended already, and with it the handler of the signal.
      expect(state === 'snippetctl-restoring' ? [130] : [130, 0, 'SIGINT']).toContain(code)
      expect(await names()).toEqual(state === 'snippetctl-restoring' ? ['pg'] : ['pg', 'pg.before-restore-1'])
      expect(await run('dump', 'book')).toMatchObject({ code: 0 })
      expect(await run(...restore)).toMatchObject({ code: 0 })
    } finally {
      await project.remove()
    }
  },
)

test.each([
  { when: 'after it moved the database aside', moved: true },
  { when: 'before', moved: false },
])('a `db restore` that was killed $when leaves one whole database', async ({ moved }) => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const folder = join(project.folder, '.snippetctl')
    const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder })
    const dumped = async () => (await run('dump', 'book')).stdout
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    await project.write('book.csv', 'id,title\n1,Kept\n')
    expect(await run('seed', 'book.csv')).toMatchObject({ code: 0 })
    const before = await dumped()
    if (moved) await rename(join(folder, 'pg'), join(folder, 'pg.snippetctl-restored'))
    else await project.write('.snippetctl/pg.snippetctl-restored/base', '')
    expect(before).toContain('Kept')
    expect(await dumped()).toBe(before)
    expect((await readdir(folder)).filter((name) => name.startsWith('pg'))).toEqual(['pg'])
  } finally {
    await project.remove()
  }
})

test('after a `db restore` that was killed before it moved the database aside, `db reset` leaves none', async () => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const folder = join(project.folder, '.snippetctl')
    const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder })
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    await cp(join(folder, 'pg'), join(folder, 'pg.snippetctl-restored'), { recursive: true })
    expect(await run('db', 'reset', '--name', '.snippetctl/pg')).toMatchObject({ code: 0 })
    expect(await run('dump', 'book')).toMatchObject({ code: 2 })
    expect((await readdir(folder)).filter((name) => name.startsWith('pg'))).toEqual(['pg.before-reset-1'])
  } finally {
    await project.remove()
  }
})

test('Ctrl-C in `db backup` leaves no copy of the database', async () => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const server = await startServe([], { cwd: project.folder })
    const backups = async () =>
      (await readdir(join(project.folder, '.snippetctl'))).filter((name) => name.startsWith('pg.backup-'))
    // The client removes it when it has the backup.
    const isAccepted = async () => (await backups()).some((name) => name.endsWith('.taken'))
    expect(await interrupt(['db', 'backup', 'all.tar.gz'], { cwd: project.folder }, isAccepted)).toBe(130)
    // The server ends after the backup that it has begun.
    await server.stop()
    expect(await backups()).toEqual([])
  } finally {
    await project.remove()
  }
})

/** A command that copies the embedded database, and a project for it. */
const MEASURE = ['migrate', 'plan', '--measure']
async function makeMeasured() {
  const project = await makeProject({ 'resources.yaml': BOOKS })
  expect(await runInHost(['migrate', 'up'], { cwd: project.folder })).toMatchObject({ code: 0 })
  return project
}

test('Ctrl-C in `migrate plan --measure` leaves no temporary database', async () => {
  const project = await makeMeasured()
  const temporary = await mkdtemp(join(tmpdir(), 'interrupted-'))
  try {
    const options = { cwd: project.folder, env: { TMPDIR: temporary } }
    expect(await interrupt(MEASURE, options, async () => (await readdir(temporary)).length > 0)).toBe(130)
    expect(await readdir(temporary)).toEqual([])
  } finally {
    await rm(temporary, { recursive: true })
    await project.remove()
  }
})

test('the next command removes the temporary database of a killed one, and nothing else', async () => {
  const project = await makeMeasured()
  const temporary = await mkdtemp(join(tmpdir(), 'interrupted-'))
  try {
    const kept = ['another', 'snippetctl-copy-unknown']
    for (const name of kept) await mkdir(join(temporary, name))
    const options = { cwd: project.folder, env: { TMPDIR: temporary } }
    const isOwned = async () => {
      const left = (await readdir(temporary)).find((name) => !kept.includes(name))
      return left !== undefined && existsSync(join(temporary, left, 'pg'))
    }
    expect(await interrupt(MEASURE, options, isOwned, 'SIGKILL')).toBe('SIGKILL')
    expect(await readdir(temporary)).toHaveLength(3)
    expect(await runCli(MEASURE, options)).toMatchObject({ code: 0 })
    expect((await readdir(temporary)).sort()).toEqual(kept)
  } finally {
    await rm(temporary, { recursive: true })
    await project.remove()
  }
})

test('a starting server removes what a killed `db restore` or `db backup` has left, and no database', async () => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const options = { cwd: project.folder }
    expect(await runInHost(['migrate', 'up'], options)).toMatchObject({ code: 0 })
    const id = '0e4f2a57-0000-4000-8000-000000000001'
    for (const name of [
      'pg.snippetctl-restoring-4242/base',
      'pg.restored-20261127/base',
      'pg.before-restore-1/base',
      `pg.backup-${id}.made`,
      `pg.backup-${id}.taken`,
    ])
      await project.write(join('.snippetctl', name), '')
    const hours = new Date(Date.now() - 3_600_000)
    await utimes(join(project.folder, '.snippetctl', `pg.backup-${id}.made`), hours, hours)
    const server = await startServe([], options)
    const left = async () =>
      (await readdir(join(project.folder, '.snippetctl'))).filter((name) => /^pg\.[brs]/.test(name))
    const wanted = [`pg.backup-${id}.taken`, 'pg.before-restore-1', 'pg.restored-20261127']
    await waitUntil(left, (names) => names.length <= wanted.length)
    await server.stop()
    expect((await left()).sort()).toEqual(wanted)
  } finally {
    await project.remove()
  }
})
