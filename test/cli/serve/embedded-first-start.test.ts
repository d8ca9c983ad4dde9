import { existsSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, makeProject, type Project, runCli, spawnServe } from '../../support/cli.js'
import { waitUntil } from '../../support/wait-until.js'

// The embedded database whichever the tests run on: nothing here is told of a server.
let project: Project
beforeEach(async () => {
  project = await makeProject({ 'resources.yaml': BOOKS, 'migrations/0001_create_books.sql': BOOKS_MIGRATION })
})
afterEach(() => project.remove())

const kept = () => readdirSync(join(project.folder, '.snippetctl')).sort()

/** Kills a first start while it makes the database. Returns whether that came in time, which it may not on a busy machine. */
async function killHalfway(): Promise<boolean> {
  const serving = spawnServe([], { cwd: project.folder })
  let running = true
  const ended = serving.ended.finally(() => (running = false))
  await waitUntil(() => !running || existsSync(join(project.folder, '.snippetctl', 'pg.new')))
  serving.child.kill('SIGKILL')
  await ended
  return !kept().includes('pg')
}

test('the next start cleans up after a first start that was killed halfway', async () => {
  await waitUntil(async () => {
    await rm(join(project.folder, '.snippetctl'), { recursive: true, force: true })
    return killHalfway()
  })
  expect(kept()).toEqual(['pg.lock', expect.stringMatching(/^pg\.lock\.[0-9a-f-]{36}$/), 'pg.new'])
  expect(await runCli(['migrate', 'up'], { cwd: project.folder })).toMatchObject({ code: 0 })
  expect(kept()).toEqual(['pg'])
})
