import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { describe, expect, test } from '@jest/globals'

interface Tiers {
  startsProcesses(file: string): boolean
  usesDatabase(file: string): boolean
}

const { startsProcesses, usesDatabase } = createRequire(import.meta.url)(resolve('scripts/jest/tiers.cjs')) as Tiers

const filesUnder = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))

describe('the tier of a test file', () => {
  test.each([
    ['test/fields/field-rules.test.ts', false, false],
    ['test/http/server/http-protocol.test.ts', false, false],
    // Through test/support/cli.ts.
    ['test/cli/cli-check.test.ts', true, false],
    // Through test/support/api.ts.
    ['test/features/bulk.test.ts', false, true],
    ['test/cli/cli-migrate.test.ts', true, true],
    // It starts a server of its own, with whatever database the other tests run.
    ['test/cli/serve/cli-serve-outage.test.ts', true, true],
    // It imports a type of the database, and its own databases are embedded.
    ['test/cli/database/db-backup.test.ts', true, false],
  ])('%s starts processes: %s, uses a database: %s', (file, processes, database) => {
    expect([startsProcesses(file), usesDatabase(file)]).toEqual([processes, database])
  })

  test('is determined by imports, because only two helpers know where the database is', () => {
    const names = /SNIPPETCTL_TEST_(?:URL|DUMP)|\bTEST_DATABASE_URL\b.*process\.env|process\.env\.TEST_DATABASE_URL/
    const readers = filesUnder('test').filter((file) => names.test(readFileSync(file, 'utf8')))
    expect(readers.sort()).toEqual([
      'test/docs/docs-generated.test.ts',
      'test/support/database.ts',
      'test/support/global-setup.ts',
      'test/support/servers.ts',
    ])
  })
})
