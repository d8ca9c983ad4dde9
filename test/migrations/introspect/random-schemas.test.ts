import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { unmanagedTableDifferences, schemaDifferences } from '../../../src/internal.js'
import { Problem } from '../../../src/foundation/problem.js'
import { introspect } from '../../../src/migrations/introspect/introspect.js'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { type RandomSchema, randomSchema } from '../../support/random-schema.js'
import { createAllAgain, rowsOf, sendBackAll } from '../../support/round-trip.js'
import { tableSql } from '../../../src/fields/table-name.js'

/** `npm run test:schemas` says 300. */
const SCHEMAS = Number(process.env['SNIPPETCTL_SCHEMAS'] ?? 20)

let folder: string
let scratch: TestDatabase
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'random-schemas-'))
  scratch = await openTestDatabase('')
})
afterAll(async () => {
  await scratch.close()
  await rm(folder, { recursive: true, force: true })
})

/** Makes the tables and those rows that break none of their rules. */
async function make(database: TestDatabase, { definitions, rows }: RandomSchema): Promise<void> {
  for (const text of definitions) await database.query({ text, values: [] })
  for (const text of rows) {
    try {
      await database.query({ text, values: [] })
    } catch (error) {
      if (!(error instanceof Problem && ['conflict', 'validation'].includes(error.type))) throw error
    }
  }
}

test(
  'any database is introspected, checked and served; its plan is empty; records that are sent back do not change, and deleted ones can be created again',
  async () => {
    let seen = 0
    await fc.assert(
      fc.asyncProperty(randomSchema, async (schema) => {
        const database = await openTestDatabase('')
        try {
          await make(database, schema)
          const found = await introspect(database, { file: 'resources.yaml', directory: folder, scratch })
          const spec = specOf(found.text)
          expect(await planMigration(spec, folder, scratch)).toMatchObject({ steps: [], rejections: [] })
          expect(await schemaDifferences(spec, database)).toEqual([])
          expect(await unmanagedTableDifferences(spec, database)).toEqual([])
          const api = await startApi(found.text, { database })
          try {
            for (const { model, path } of spec.resources) {
              const before = await rowsOf(api, tableSql(model.table))
              const records = await sendBackAll(api, path)
              expect(records).toHaveLength(before.length)
              seen += records.length
              expect(await rowsOf(api, tableSql(model.table))).toEqual(before)
              await createAllAgain(api, path)
            }
          } finally {
            await api.close()
          }
        } finally {
          await database.close()
        }
      }),
      { numRuns: SCHEMAS, endOnFailure: true },
    )
    expect(seen).toBeGreaterThan(SCHEMAS)
  },
  SCHEMAS * 10_000,
)
