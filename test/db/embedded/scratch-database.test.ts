import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { openScratch } from '../../../src/db/open.js'

describe('an embedded scratch database', () => {
  const parent = tmpdir()
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(parent, 'scratch-'))
    process.env['TMPDIR'] = folder
  })
  afterEach(async () => {
    process.env['TMPDIR'] = parent
    await rm(folder, { recursive: true })
  })

  const createAndCount = async (database: Database) => {
    await database.query({ text: 'create table books as select 1 id', values: [] })
    return (await database.query({ text: 'select count(*) from books', values: [] })).rows[0]?.[0]
  }

  test('has its files in memory, and each begins empty', async () => {
    for (let time = 0; time < 2; time += 1) {
      const scratch = await openScratch()
      expect(await createAndCount(scratch)).toBe('1')
      expect(await readdir(folder)).toEqual([])
      await scratch.close()
    }
  })

  test('has them in a temporary folder if it will have many tables, because they would take hundreds of megabytes', async () => {
    const scratch = await openScratch({ tables: 1_000 })
    expect(await createAndCount(scratch)).toBe('1')
    expect(await readdir(folder)).toHaveLength(1)
    await scratch.close()
    expect(await readdir(folder)).toEqual([])
  })

  test('is in memory, whatever its size, if the temporary folder does not exist', async () => {
    process.env['TMPDIR'] = join(folder, 'missing')
    const scratch = await openScratch({ tables: 1_000 })
    expect(await createAndCount(scratch)).toBe('1')
    await scratch.close()
  })

  const LINKS = '/proc/self/fd'
  /** Counts the open files in the temporary folder, also those whose name was removed. */
  const openFiles = () =>
    readdirSync(LINKS).filter((descriptor) => {
      const link = join(LINKS, descriptor)
      return existsSync(link) && readlinkSync(link).startsWith(folder)
    }).length
  const onLinux = existsSync(LINKS) ? test : test.skip

  onLinux('moves files that become large out of the memory, and keeps their content', async () => {
    const scratch = await openScratch()
    await scratch.transaction(async (connection) => {
      const run = async (text: string) => (await connection.query({ text, values: [] })).rows[0]?.join()
      await run(`create table books as select g id, 'book ' || g title from generate_series(1, 100000) g`)
      const read = () => run('select count(*), sum(id), max(title) from books')
      const rows = '100000,5000050000,book 99999'
      expect(await read()).toBe(rows)
      expect(openFiles()).toBeGreaterThan(0)
      await run('savepoint before')
      await run('delete from books where id > 10')
      await run('truncate books')
      expect(await read()).toBe('0,,')
      await run('rollback to before')
      expect(await read()).toBe(rows)
      const before = openFiles()
      await run("set work_mem = '64kB'")
      await run('select count(*) from (select title from books, generate_series(1, 5) order by title offset 10) sorted')
      expect(openFiles()).toBeLessThanOrEqual(before)
    })
    expect(await readdir(folder)).toEqual([])
    await scratch.close()
    expect(openFiles()).toBe(0)
  })

  onLinux('takes large files back into memory if the disk takes no more of them', async () => {
    const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`])
    const scratch = await openScratch()
    const run = async (text: string) => (await scratch.query({ text, values: [] })).rows[0]?.join()
    limit('6000000')
    try {
      await run(`create table books as select g id, 'book ' || g title from generate_series(1, 300000) g`)
      await run(`update books set title = 'late ' || id where id > 299000`)
      expect(openFiles()).toBe(0)
      expect(await run('select count(*), sum(id), max(title) from books')).toBe('300000,45000150000,late 300000')
    } finally {
      limit('unlimited')
      await scratch.close()
    }
  })

  test('keeps large files in memory if the temporary folder does not exist', async () => {
    process.env['TMPDIR'] = join(folder, 'missing')
    const scratch = await openScratch()
    await scratch.query({ text: 'create table books as select generate_series(1, 200000) id', values: [] })
    const { rows } = await scratch.query({ text: 'select count(*) from books', values: [] })
    expect(rows).toEqual([['200000']])
    await scratch.close()
  })
})
