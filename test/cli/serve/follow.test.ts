import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createFollower, type Follower } from '../../../cli/serve/follow.js'
import { makeProject, type Project } from '../../support/cli.js'

let project: Project
let follower: Follower

beforeEach(async () => {
  project = await makeProject({ 'a.yaml': '' })
  follower = createFollower({ concerns: () => true, changed: () => {}, failed: () => {} })
})

afterEach(async () => {
  follower.close()
  await project.remove()
})

/** How many folders this process watches. */
async function watched(): Promise<number> {
  // A closed handle goes away later.
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
  return process.getActiveResourcesInfo().filter((kind) => kind === 'FSEventWrap').length
}

test('files that are to be followed after the end, as a reload in progress asks for, are not', async () => {
  const before = await watched()
  follower.follow([join(project.folder, 'a.yaml')])
  expect(await watched()).toBe(before + 1)
  follower.close()
  follower.follow([join(project.folder, 'a.yaml')])
  expect(await watched()).toBe(before)
})
