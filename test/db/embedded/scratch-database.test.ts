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
})
