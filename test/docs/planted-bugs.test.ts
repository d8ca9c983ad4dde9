import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { type JestReport, readReport } from '../../torture/jest.js'
import { BUGS } from '../../torture/planted/bugs.js'
import { faultOf } from '../../torture/planted/plant.js'

describe('the bugs that `npm run torture -- --planted` plants', () => {
  test('are at least forty, each with its own name', () => {
    expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length)
    expect(BUGS.length).toBeGreaterThanOrEqual(40)
  })

  test.each(BUGS)('can be planted, and name an existing test: $name', ({ file, search, replace, caughtBy }) => {
    expect(readFileSync(file, 'utf8').split(search)).toHaveLength(2)
    expect(replace).not.toBe(search)
    expect(existsSync(`${caughtBy.file}.test.ts`)).toBe(true)
    expect(caughtBy.test).not.toBe('')
    expect(readFileSync(`${caughtBy.file}.test.ts`, 'utf8')).toContain(caughtBy.test)
  })

  test('are listed on the page about evidence', () => {
    const page = readFileSync('docs/operations/evidence.md', 'utf8')
    const rows = BUGS.map(({ name, caughtBy }) => `| ${name} | \`${caughtBy.file}\` |`)
    expect(page).toContain(`puts ${BUGS.length} bugs into a copy`)
    expect(page).toContain(`| Planted | Caught by |\n| --- | --- |\n${rows.join('\n')}\n\n`)
  })

  const caughtBy = { file: 'test/lists', test: 'wait for room', database: 'local' } as const
  const reportOf = (status: string, tests: Readonly<Record<string, string>>): JestReport => ({
    numPassedTests: Object.values(tests).filter((one) => one === 'passed').length,
    numPendingTests: 0,
    testResults: [
      {
        name: '/checkout/test/lists.test.ts',
        status,
        assertionResults: Object.entries(tests).map(([fullName, one]) => ({ fullName, status: one })),
      },
    ],
  })

  test.each([
    ['that fails alone', { 'lists wait for room': 'failed', 'lists have an end': 'passed' }],
    ['with which every other fails', { 'lists wait for room': 'failed', 'lists have an end': 'failed' }],
  ])('are caught by the test that they name, %s', (_what, tests) => {
    expect(faultOf(caughtBy, readReport(reportOf('failed', tests)))).toBeUndefined()
  })

  test.each([
    ['passes while another fails', 'failed', { 'lists wait for room': 'passed', 'lists have an end': 'failed' }],
    ['passes', 'passed', { 'lists wait for room': 'passed' }],
    ['is in a file that cannot be loaded', 'failed', {}],
    ['does not run', 'passed', { 'lists wait for room': 'pending' }],
  ])('are not caught if that test %s', (_what, status, tests) => {
    expect(faultOf(caughtBy, readReport(reportOf(status, tests)))).toContain('no test named "wait for room" failed')
  })
})
