import { spawnSync } from 'node:child_process'
import { expect, test } from '@jest/globals'

test('the tests of other servers reject versions that they do not have', () => {
  const env = { ...process.env, SNIPPETCTL_SERVERS: '15, 13' }
  const { status, stderr } = spawnSync(process.execPath, ['scripts/test-servers.mjs'], {
    env,
    encoding: 'utf8',
    timeout: 20_000,
  })
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^SNIPPETCTL_SERVERS: no version starts with 15 or 13; the versions are 14\./),
  ])
})
