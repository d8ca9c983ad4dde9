import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createFileWatcher, type FileWatcher } from '../../../cli/serve/file-watcher.js'
import { makeProject, type Project } from '../../support/cli.js'

let project: Project
let watcher: FileWatcher

beforeEach(async () => {
  project = await makeProject({ 'a.yaml': '' })
  watcher = createFileWatcher({ concerns: () => true, changed: () => {}, failed: () => {} })
})

afterEach(async () => {
  watcher.close()
  await project.remove()
})

/** How many folders this process watches. */
async function watched(): Promise<number> {
  // A closed handle goes away later.
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
  return process.getActiveResourcesInfo().filter((kind) => kind === 'FSEventWrap').length
}

test('watches no files once it is closed, even if a reload is in progress', async () => {
  const before = await watched()
  watcher.watch([join(project.folder, 'a.yaml')])
  expect(await watched()).toBe(before + 1)
  watcher.close()
  watcher.watch([join(project.folder, 'a.yaml')])
  expect(await watched()).toBe(before)
})
