import { spawnSync } from 'node:child_process'
import fs, { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { DatabaseRejected } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { EMBEDDED_MAJOR } from '../../../src/db/embedded/pglite.js'
import { lockDirectory } from '../../../src/db/embedded/lock.js'

let root: string
let directory: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'lock-'))
  directory = join(root, '.snippetctl', 'pg')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const hasPipes = existsSync('/proc/self/ns/pid')
const onLinux = hasPipes ? describe : describe.skip
const lockFile = () => `${directory}.lock`
const writeLock = (content: object | string) => {
  mkdirSync(join(root, '.snippetctl'))
  writeFileSync(lockFile(), typeof content === 'string' ? content : JSON.stringify(content))
}
const endedPid = () => spawnSync(process.execPath, ['--version']).pid
const rejection = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (error instanceof DatabaseRejected) return `${error.message}\n${error.help.join('\n')}`
  }
  return undefined
}

test('the folders of a database are readable by their owner alone', async () => {
  const database = await openDatabase({ url: undefined, directory }, {})
  await database.query({ text: 'select 1', values: [] })
  await database.close()
  const modes = [join(root, '.snippetctl'), directory].map((folder) => (fs.statSync(folder).mode & 0o777).toString(8))
  expect(modes).toEqual(['700', '700'])
})

test('a folder around them stays open to other users', async () => {
  const around = join(root, 'srv', 'app')
  lockDirectory(join(around, '.snippetctl', 'pg'))()
  expect(fs.statSync(around).mode & 0o777).toBe(0o777 & ~process.umask())
})

describe('the lock', () => {
  test('is a file next to the directory and is removed on release', () => {
    const release = lockDirectory(directory)
    expect(JSON.parse(readFileSync(lockFile(), 'utf8'))).toMatchObject({ pid: process.pid, host: hostname() })
    expect(existsSync(directory)).toBe(false)
    release()
    expect(readdirSync(join(root, '.snippetctl'))).toEqual([])
  })

  test('rejects a second process, names the first one, and says what to do', () => {
    const release = lockDirectory(directory)
    const text = rejection(() => lockDirectory(directory))
    expect(text).toContain(`${directory} is in use by process ${process.pid}`)
    expect(text).toContain(`kill ${process.pid}`)
    expect(text).toContain('serve')
    release()
    expect(rejection(() => lockDirectory(directory)())).toBeUndefined()
  })

  test('takes over a lock whose process has ended', () => {
    writeLock({ pid: endedPid(), started: '1', host: hostname() })
    lockDirectory(directory)()
    expect(readdirSync(join(root, '.snippetctl'))).toEqual([])
  })

  test('takes over a lock whose pid has been reused', () => {
    if (!existsSync('/proc/self/stat')) return
    writeLock({ pid: process.pid, started: '1', host: hostname() })
    lockDirectory(directory)()
    expect(existsSync(lockFile())).toBe(false)
  })

  test('takes over even after a process ended in the middle of a takeover', () => {
    writeLock({ pid: endedPid(), started: '1', host: hostname() })
    writeFileSync(`${lockFile()}.takeover`, JSON.stringify({ pid: endedPid(), started: '1', host: hostname() }))
    lockDirectory(directory)()
    expect(readdirSync(join(root, '.snippetctl'))).toEqual([])
  })

  test.each([
    ['of another machine', { pid: 1, started: '1', host: 'elsewhere' }],
    ['that is unreadable', '{"pid":'],
    ['that is empty', ''],
    ['of a live process with an unknown start time', { pid: process.pid, started: null, host: hostname() }],
  ])('never takes over a lock %s', (_what, content) => {
    writeLock(content)
    expect(rejection(() => lockDirectory(directory))).toContain('is in use by')
    expect(existsSync(lockFile())).toBe(true)
  })

  // As containers see each other that share a folder and have one host name.
  onLinux('of another pid namespace', () => {
    const elsewhere = { pid: endedPid(), started: '1', host: hostname(), space: 'pid:[1]' }

    test('is in use while its process runs', () => {
      const release = lockDirectory(directory)
      const { pipe } = JSON.parse(readFileSync(lockFile(), 'utf8'))
      writeFileSync(lockFile(), JSON.stringify({ ...elsewhere, pipe }))
      const text = rejection(() => lockDirectory(directory))
      expect(text).toContain(`in use by process ${elsewhere.pid} of another container (host name ${hostname()}), and`)
      expect(text).not.toContain('kill')
      expect(readdirSync(join(root, '.snippetctl'))).toEqual(['pg.lock', pipe])
      release()
    })

    test('is taken over when its process has been killed', () => {
      writeLock({ ...elsewhere, pipe: 'pg.lock.left' })
      spawnSync('mkfifo', [`${lockFile()}.left`])
      lockDirectory(directory)()
      expect(readdirSync(join(root, '.snippetctl'))).toEqual([])
    })

    test.each([
      { title: 'without a pipe', pipe: null },
      { title: 'whose pipe is missing', pipe: 'pg.lock.gone' },
    ])('$title is never taken over', ({ pipe }) => {
      writeLock({ ...elsewhere, pipe })
      expect(rejection(() => lockDirectory(directory))).toBe(
        `${directory} is in use by process ${elsewhere.pid} on ${hostname()}, which cannot be checked from here\n` +
          `If no process uses the embedded database any more, remove ${lockFile()}`,
      )
      expect(readdirSync(join(root, '.snippetctl'))).toEqual(['pg.lock'])
    })
  })

  test('of a machine whose processes cannot be seen is not taken over by its pipe', () => {
    if (!hasPipes) return
    writeLock({ pid: endedPid(), started: '1', host: 'elsewhere', pipe: 'pg.lock.left' })
    spawnSync('mkfifo', [`${lockFile()}.left`])
    expect(rejection(() => lockDirectory(directory))).toContain('on elsewhere, which cannot be checked from here')
  })

  test('is not left behind by a full disk', () => {
    const write = fs.writeFileSync
    fs.writeFileSync = (file, _, options) => {
      write(file, '', options)
      throw new Error('no space left on device')
    }
    syncBuiltinESMExports()
    try {
      expect(() => lockDirectory(directory)).toThrow('no space left on device')
    } finally {
      fs.writeFileSync = write
      syncBuiltinESMExports()
    }
    lockDirectory(directory)()
  })

  test('a second release does not remove the lock of the next holder', () => {
    const first = lockDirectory(directory)
    first()
    const second = lockDirectory(directory)
    first()
    expect(existsSync(lockFile())).toBe(true)
    second()
  })
})

describe('the embedded database', () => {
  const open = (environment = {}) => openDatabase({ url: undefined, directory }, environment)

  test('keeps its records, and allows only one process at a time', async () => {
    const first = await open()
    await first.query({ text: 'create table kept as select 42 as answer', values: [] })
    expect(first.description).toMatch(/one session.*not a power cut.*not for production/)
    expect(first.whenPending).toBe('apply')
    await expect(open()).rejects.toThrow(`is in use by process ${process.pid}`)
    await first.close()
    await first.close()
    const second = await open()
    expect((await second.query({ text: 'select answer from kept', values: [] })).rows).toEqual([['42']])
    const [[version] = []] = (await second.query({ text: 'show server_version', values: [] })).rows
    expect(version?.split('.')[0]).toBe(EMBEDDED_MAJOR)
    await second.close()
    expect(existsSync(lockFile())).toBe(false)
  })

  test('opens in a folder that cannot be listed', async () => {
    await (await open()).close()
    const list = fs.readdirSync
    fs.readdirSync = ((path: string, ...options: []) => {
      if (path === join(root, '.snippetctl')) throw new Error(`EACCES: permission denied, scandir '${path}'`)
      return list(path, ...options)
    }) as typeof list
    syncBuiltinESMExports()
    try {
      await (await open()).close()
    } finally {
      fs.readdirSync = list
      syncBuiltinESMExports()
    }
  })

  test('of another version is rejected, unchanged and unlocked', async () => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'PG_VERSION'), '17\n')
    await expect(open()).rejects.toMatchObject({
      name: 'DatabaseRejected',
      message: expect.stringContaining('PostgreSQL 17'),
    })
    expect(readdirSync(directory)).toEqual(['PG_VERSION'])
    expect(existsSync(lockFile())).toBe(false)
  })

  test('that is damaged is rejected, unchanged and unlocked', async () => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'PG_VERSION'), `${EMBEDDED_MAJOR}\n`)
    const help = [expect.stringMatching(/move .* away: nothing is ever deleted/)]
    await expect(open()).rejects.toMatchObject({ name: 'DatabaseRejected', help })
    expect(existsSync(join(directory, 'PG_VERSION'))).toBe(true)
    expect(existsSync(lockFile())).toBe(false)
  })

  test('is rejected in production, with the missing setting', async () => {
    const help = expect.arrayContaining([expect.stringContaining('DATABASE_URL=postgres://')])
    await expect(open({ NODE_ENV: 'production' })).rejects.toMatchObject({ name: 'DatabaseRejected', help })
    expect(existsSync(directory)).toBe(false)
  })
})
