import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { CAMPAIGN } from '../torture/campaign.js'

const page = readFileSync('SECURITY.md', 'utf8')
const promises = page
  .slice(page.indexOf('| Promise |'))
  .split('\n')
  .slice(2)
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, promise = '', holders = '']) => ({ promise, holders: holders.split(', ') }))

describe('the promises of SECURITY.md', () => {
  test('are there', () => expect(promises.length).toBeGreaterThan(10))

  test.each(promises)('$promise: is held by tests that there are', ({ holders }) => {
    const trials = CAMPAIGN.map(({ id }): string => id)
    const isThere = (holder: string) =>
      trials.includes(holder) || (/^`test\/[\w-]+`$/.test(holder) && existsSync(`${holder.slice(1, -1)}.test.ts`))
    expect(holders.filter((holder) => !isThere(holder))).toEqual([])
  })
})
