import { readFile } from 'node:fs/promises'
import { expect, test } from '@jest/globals'
import { checkConfig } from '../../src/config/parse/check/check.js'
import { readConfig } from '../../src/config/yaml/document.js'
import type { AppSpec } from '../../src/config/spec.js'
import { planMigration } from '../../src/migrations/plan/generate.js'
import { openTestDatabase } from '../support/database.js'

test('the first migration is the plan for resources.yaml, and creates everything in it', async () => {
  const document = readConfig(await readFile('resources.yaml'), 'resources.yaml')
  const spec = checkConfig(document as Exclude<typeof document, unknown[]>) as AppSpec
  const scratch = await openTestDatabase()
  try {
    expect(await planMigration(spec, 'migrations', scratch)).toMatchObject({ steps: [], rejections: [], notes: [] })
    const { text } = await planMigration(spec, 'no such folder', scratch)
    // The file was applied before plans recorded what they own, and a file that was applied is not edited.
    expect(await readFile('migrations/0001_create_snippets.sql', 'utf8')).toBe(text?.replace(/\n-- owns: .*/gs, ''))
  } finally {
    await scratch.close()
  }
})
