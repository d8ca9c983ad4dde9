import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import {
  mkdir,
  chmod,
  constants,
  lstat,
  open,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  COMMAND,
  inherited,
  makeProject,
  type Project,
  runInHost,
} from '../support/cli.js'
import { onProjectDatabase, runSql } from '../support/existing.js'
import { withFullDisk } from '../support/full-disk.js'

const LIMIT = 4096
const LONG = `${BOOKS}${'# A line of many.\n'.repeat(LIMIT / 16)}`
const INSERT = "insert into books (title, pages) values ('One', 1);\n"
const failed = (path: string) => ({
  status: 2,
  stderr: expect.stringMatching(new RegExp(`^error: ${path}: file too large \\(EFBIG from write\\)\n`)),
})

let project: Project

beforeEach(async () => {
  project = await makeProject({ 'resources.yaml': LONG })
})

afterEach(() => project.remove())

/** How long a process has run, in ticks. */
const ticksOf = (pid: number | undefined): number => {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return Number(fields[11]) + Number(fields[12])
}
/** Whether no thread of a process waits for a processor, as it may for long on a busy machine. */
const isAsleep = (pid: number | undefined): boolean =>
  readdirSync(`/proc/${pid}/task`).every((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').includes(') S '),
  )
const read = (path: string) => readFile(join(project.folder, path), 'utf8')
const list = async (folder = '.') =>
  (await readdir(join(project.folder, folder))).filter((name) => name !== '.snippetctl')

/** Runs the command where files can have some kilobytes only. */
function runOnFullDisk(args: readonly string[], limit = LIMIT) {
  const [command, ...rest] = withFullDisk([process.execPath, COMMAND, ...args], limit)
  const { status, stderr } = spawnSync(command, rest, { cwd: project.folder, env: inherited(), encoding: 'utf8' })
  return { status, stderr }
}

describe('on a full disk', () => {
  test.each([
    ['add resource', ['add', 'resource', 'author', 'name:string']],
    ['plan --rename', ['migrate', 'plan', '--rename', 'books.name:title']],
  ])('%s leaves resources.yaml as it was', async (_what, args) => {
    expect(runOnFullDisk(args)).toMatchObject(failed('resources.yaml'))
    expect(await read('resources.yaml')).toBe(LONG)
    expect(await list()).toEqual(['resources.yaml'])
  })

  test('squash leaves no part of a migration', async () => {
    await project.write('resources.yaml', BOOKS)
    await project.write('migrations/0001_books.sql', '-- up\ncreate table books (title text, pages int);\n')
    await project.write('migrations/0002_rows.sql', `-- up\n${INSERT.repeat(60)}`)
    await project.write('migrations/0003_rows.sql', `-- up\n${INSERT.repeat(60)}`)
    const files = await list('migrations')
    expect(runOnFullDisk(['migrate', 'squash'])).toMatchObject(failed('migrations/\\S+.sql'))
    expect(await list('migrations')).toEqual(files)
  })

  test('plan --write leaves no part of a migration', async () => {
    const fields = Array.from({ length: 120 }, (_, at) => `      field_${at}: { type: string, max: 100 }\n`)
    await project.write('resources.yaml', BOOKS.replace('    fields:\n', `    fields:\n${fields.join('')}`))
    expect(runOnFullDisk(['migrate', 'plan', '--write', 'books'])).toMatchObject(failed('migrations/0001_books.sql'))
    expect(await list('migrations')).toEqual([])
  })

  test('new leaves no part of a file', async () => {
    const { status, stderr } = runOnFullDisk(['new', 'cut'], LIMIT / 4)
    expect({ status, stderr }).toMatchObject(failed('cut/\\S+'))
    const [, cut = ''] = /^error: (\S+):/.exec(stderr) ?? []
    expect((await readdir(join(project.folder, cut, '..'))).filter((name) => name.includes(basename(cut)))).toEqual([])
    expect(await read('cut/resources.yaml')).toContain('version: 1')
  })
})

test('plan --write removes what a killed one has left, and nothing else', async () => {
  await project.write('resources.yaml', BOOKS)
  const draft = (id: string) => `.0001_books.sql.snippetctl-00000000-0000-4000-8000-${id.padStart(12, '0')}`
  for (const name of [draft('1'), draft('2'), '.0001_books.sql.swp']) {
    await project.write(`migrations/${name}`, '-- up\n')
    const age = name === draft('2') ? 0 : 3600
    await utimes(join(project.folder, 'migrations', name), new Date(), new Date(Date.now() - age * 1000))
  }
  expect(await runInHost(['migrate', 'plan', '--write', 'books'], { cwd: project.folder })).toMatchObject({ code: 0 })
  expect((await list('migrations')).sort()).toEqual(['.0001_books.sql.swp', draft('2'), '0001_books.sql'].sort())
})

test('dump writes its file although a killed one with the same process id left an incomplete file', async () => {
  await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
  await runInHost(['migrate', 'up'], { cwd: project.folder })
  const dump = `touch b.ndjson.$$.part && exec "${process.execPath}" "${COMMAND}" dump book --output b.ndjson`
  const { status, stderr } = spawnSync('sh', ['-c', dump], { cwd: project.folder, env: inherited(), encoding: 'utf8' })
  expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining('0 records') })
  expect(await read('b.ndjson')).toBe('')
})

describe('dump --output', () => {
  beforeEach(async () => {
    await project.write(BOOKS_MIGRATION_FILE, BOOKS_MIGRATION)
    await project.write('books.json', '{"book": [{"id": 1, "title": "Kindred"}]}')
    await run('migrate', 'up')
    await run('seed', 'books.json')
  })

  const run = (...args: readonly string[]) => runInHost(args, { cwd: project.folder })

  test('writes to a pipe without replacing it', async () => {
    const pipe = join(project.folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      expect(await run('dump', 'book', '--output', 'pipe')).toMatchObject({ code: 0 })
      expect(await reader.readFile('utf8')).toContain('"Kindred"')
    } finally {
      await reader.close()
    }
    expect((await lstat(pipe)).isFIFO()).toBe(true)
  })

  test('can be interrupted while a pipe has no reader', async () => {
    execFileSync('mkfifo', [join(project.folder, 'pipe')])
    const args = [COMMAND, 'dump', 'book', '--output', 'pipe']
    const child = spawn(process.execPath, args, { cwd: project.folder, env: inherited() })
    const ended = once(child, 'exit')
    // It is known to wait when it has used no time of a processor for a while, and wants none.
    for (let [before, now] = [-1, 0]; before !== now || !isAsleep(child.pid); [before, now] = [now, ticksOf(child.pid)])
      await delay(500)
    child.kill('SIGINT')
    expect(await ended).toEqual([130, null])
  })

  test('writes between other lines where /dev/stdout is a file', async () => {
    const lines = `(echo before; "${process.execPath}" "${COMMAND}" dump book --output /dev/stdout; echo after) > all.ndjson`
    spawnSync('sh', ['-c', lines], { cwd: project.folder, env: inherited() })
    expect(await read('all.ndjson')).toMatch(/^before\n\{.*"Kindred".*\}\nafter\n$/)
  })

  test.each([{ args: ['routes'] }, { args: ['dump', 'book'] }, { args: ['--help'] }])(
    'says why stdout cannot be written: $args',
    ({ args }) => {
      const line = `"${process.execPath}" "${COMMAND}" ${args.join(' ')} > /dev/full`
      const { status, stderr } = spawnSync('sh', ['-c', line], {
        cwd: project.folder,
        env: inherited(),
        encoding: 'utf8',
      })
      expect({ status, stderr }).toEqual({
        status: 2,
        stderr: 'error: cannot write to stdout: ENOSPC: no space left on device, write\n',
      })
    },
  )

  test.each([
    ['/dev/full', '/dev/full: no space left on device (ENOSPC from write)'],
    [
      'plugins',
      'plugins: illegal operation on a directory (EISDIR from open)\n  = help: this is a folder: name a file',
    ],
    ['x'.repeat(256), `${'x'.repeat(256)}: name too long (ENAMETOOLONG from open)\n  = help: choose a shorter name`],
    [
      'missing/b.ndjson',
      'missing/b.ndjson: no such file or directory (ENOENT from open)\n  = help: check the path: each of its folders must exist',
    ],
  ])('names the file in its errors: %s', async (path, message) => {
    await mkdir(join(project.folder, 'plugins'), { recursive: true })
    const { code, stderr } = await run('dump', 'book', '--output', path)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`error: ${message}\n`) })
  })

  test('replaces the file behind a link, and keeps the link', async () => {
    await project.write('real.ndjson', 'old')
    await symlink('real.ndjson', join(project.folder, 'link.ndjson'))
    expect(await run('dump', 'book', '--output', 'link.ndjson')).toMatchObject({ code: 0 })
    expect(await read('real.ndjson')).toContain('"Kindred"')
    expect((await lstat(join(project.folder, 'link.ndjson'))).isSymbolicLink()).toBe(true)
  })
})

test('an error of the file system names the file', async () => {
  await project.write('migrations', 'a file, not a folder')
  const { code, stderr } = await runInHost(['migrate', 'plan', '--write', 'books'], { cwd: project.folder })
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      'error: migrations: not a directory (ENOTDIR from scandir)\n  = help: rename or remove the file with this name, or correct the path: it must be a folder\n',
  })
})

test.each([
  ['introspect', ['introspect', '--no-resources']],
  ['plan --rename', ['migrate', 'plan', '--rename', 'books.name:title']],
])('%s leaves a resources.yaml as it was that is not UTF-8', async (_what, args) => {
  await onProjectDatabase(project, undefined, (database) => runSql(database, 'create table extra (id int primary key)'))
  const path = join(project.folder, 'resources.yaml')
  const bytes = Buffer.from(`# Bücher\n${BOOKS}`, 'latin1')
  await writeFile(path, bytes)
  expect(await runInHost(args, { cwd: project.folder })).toMatchObject({
    code: 2,
    stderr: 'error: resources.yaml is not UTF-8\n  = help: save the file as UTF-8\n',
  })
  expect(await readFile(path)).toEqual(bytes)
})

test('a change of resources.yaml keeps its permissions and the link to it', async () => {
  const path = join(project.folder, 'resources.yaml')
  await rename(path, join(project.folder, 'shared.yaml'))
  await chmod(join(project.folder, 'shared.yaml'), 0o664)
  await symlink('shared.yaml', path)
  expect(await runInHost(['add', 'resource', 'author', 'name:string'], { cwd: project.folder })).toMatchObject({
    code: 0,
  })
  expect(await read('shared.yaml')).toContain('  author:')
  expect((await stat(path)).mode & 0o777).toBe(0o664)
  expect(await list()).toEqual(['resources.yaml', 'shared.yaml'])
})
