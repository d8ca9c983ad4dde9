import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { makeProject, type Outcome, type Project, runInHost } from '../../support/cli.js'
import { envOf, openOnlyOnServer, type TestDatabase } from '../../support/database.js'
import {
  existingSchema,
  onProjectDatabase,
  type ProjectDatabase,
  runSql,
  recreateChecks,
  UNRECORDED,
} from '../../support/existing.js'
import { describeSchema } from '../../support/schema-oracle.js'

// Each test starts several processes and databases in memory, which takes seconds, and many on a busy machine.

let project: Project
let fresh: Project
let database: TestDatabase | undefined
let empty: TestDatabase | undefined

beforeEach(async () => {
  project = await makeProject({})
  fresh = await makeProject({})
  database = await openOnlyOnServer()
  empty = await openOnlyOnServer()
})

afterEach(async () => {
  await database?.close()
  await empty?.close()
  await project.remove()
  await fresh.remove()
})

const run = (args: readonly string[], { folder } = project, on = database): Promise<Outcome> =>
  runInHost(args, { cwd: folder, env: envOf(on), keep: true })

describe.each(['shop', 'clinic', 'forum'])('the existing %s database', (name) => {
  test('is introspected without changes, and its migration creates the same tables elsewhere', async () => {
    await onProjectDatabase(project, database, async (given) => runSql(given, await existingSchema(name)))
    const before = await onProjectDatabase(project, database, describeSchema)
    const introspected = await run(['introspect', '--manage', '--read-only'])
    expect(introspected).toMatchObject({ code: 0, stderr: expect.not.stringContaining('differs') })
    expect(await onProjectDatabase(project, database, describeSchema)).toBe(before)

    expect(await run(['migrate', 'plan', '--exit-code'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing to migrate'),
    })
    expect(await run(['migrate', 'status'])).toMatchObject({ code: 0 })
    expect(await run(['check'])).toMatchObject({ code: 0 })

    for (const file of ['resources.yaml', join('migrations', '0001_introspected.sql')])
      await fresh.write(file, await readFile(join(project.folder, file), 'utf8'))
    expect(await run(['migrate', 'up'], fresh, empty)).toMatchObject({ code: 0 })
    expect(await run(['migrate', 'status'], fresh, empty)).toMatchObject({ code: 0 })
    await onProjectDatabase(project, database, (given) => runSql(given, UNRECORDED[name] ?? ''))
    const [recorded, made] = [
      await onProjectDatabase(project, database, describeToldAgain),
      await onProjectDatabase(fresh, empty, describeToldAgain),
    ]
    expect(made).toBe(recorded)
  })
})

async function describeToldAgain(database: ProjectDatabase): Promise<string> {
  await recreateChecks(database)
  return describeSchema(database)
}
