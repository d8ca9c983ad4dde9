import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { BUGS } from '../torture/planted/bugs.js'

describe('the bugs that `npm run torture -- --planted` plants', () => {
  test('are at least thirty, each with a name of its own', () => {
    expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length)
    expect(BUGS.length).toBeGreaterThanOrEqual(30)
  })

  test.each(BUGS)('can be planted, and name a test that is there: $name', ({ file, search, replace, caughtBy }) => {
    expect(readFileSync(file, 'utf8').split(search)).toHaveLength(2)
    expect(replace).not.toBe(search)
    expect(existsSync(`${caughtBy.file}.test.ts`)).toBe(true)
    expect(readFileSync(`${caughtBy.file}.test.ts`, 'utf8')).toContain(caughtBy.test)
  })
})
