import { expect, test } from '@jest/globals'
import { accessesOf, readPlan } from '../../../src/db/statements/plan-tree.js'

const read = (table: string, loops: number) => ({
  'Node Type': 'Seq Scan',
  'Relation Name': table,
  'Plan Rows': 9,
  'Actual Rows': loops,
  'Actual Loops': loops,
})

test('a part of a plan that did not run accesses nothing', () => {
  const root = { 'Node Type': 'Append', 'Plan Rows': 9, 'Actual Rows': 1, 'Actual Loops': 1 }
  const plan = readPlan({ ...root, Plans: [read('books', 1), read('authors', 0)] })
  expect(accessesOf(plan, true).map(({ table }) => table)).toEqual(['books'])
})
