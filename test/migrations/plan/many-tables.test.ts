import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import type { Json } from '../../../src/foundation/json.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { openTestDatabase } from '../../support/database.js'
import { specOf } from '../../support/migrations.js'

/** More than one statement describes. */
const TABLES = 250

function modelsWith(fields: Json & object = {}) {
  const id = { type: 'bigint', primary_key: true }
  return Object.fromEntries(
    Array.from({ length: TABLES }, (_, at) => [
      `note${at}`,
      { fields: at === TABLES - 1 ? { id, ...fields } : { id } },
    ]),
  )
}

test('a plan for hundreds of tables changes only the table that differs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'many-tables-'))
  const scratch = await openTestDatabase('')
  try {
    const first = await planMigration(specOf(modelsWith()), folder, scratch)
    expect(first.steps).toHaveLength(TABLES)
    await writeMigration(first, folder)
    const { steps } = await planMigration(
      specOf(modelsWith({ title: { type: 'text', nullable: true } })),
      folder,
      scratch,
    )
    expect(steps.map(({ subject, detail }) => [subject, detail])).toEqual([['note249.title', 'text collate "C"']])
  } finally {
    await scratch.close()
    await rm(folder, { recursive: true })
  }
})
