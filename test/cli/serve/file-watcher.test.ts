import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createFileWatcher, type FileWatcher } from '../../../cli/serve/file-watcher.js'
import { makeProject, type Project } from '../../support/cli.js'
import { waitUntil } from '../../support/wait-until.js'

let project: Project
let watcher: FileWatcher

let changes: number

beforeEach(async () => {
  project = await makeProject({ 'a.yaml': '' })
  changes = 0
  watcher = createFileWatcher({ concerns: () => true, changed: () => (changes += 1), failed: () => {} })
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

test('notices a save of the file to which a link leads', async () => {
  const [shared, link] = [join(project.folder, 'shared'), join(project.folder, 'link.yaml')]
  await mkdir(shared)
  await writeFile(join(shared, 'b.yaml'), '')
  await symlink('shared/b.yaml', link)
  watcher.close()
  watcher = createFileWatcher({ concerns: () => false, changed: () => (changes += 1), failed: () => {} })
  watcher.watch([link, join(project.folder, 'a.yaml', 'missing.yaml')])
  await writeFile(join(shared, 'b.yaml'), 'version: 1')
  await waitUntil(() => changes === 1)
})
