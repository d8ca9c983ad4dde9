import { expect, test } from '@jest/globals'
import { partOfIndex } from '../../../src/migrations/run/watch.js'

test('the progress of an index grows from phase to phase', () => {
  const seen = [
    ['building index: scanning table', 0],
    ['building index: scanning table', 0.5],
    ['building index: scanning table', 1],
    ['building index: sorting live tuples', 1],
    ['building index: loading tuples in tree', 0.01],
    ['building index: loading tuples in tree', 1.2],
    ['index validation: scanning index', 0.5],
    ['index validation: sorting tuples', 0],
    ['index validation: scanning table', 1],
  ] as const
  const parts = seen.map(([phase, ofPhase]) => partOfIndex('CREATE INDEX CONCURRENTLY', phase, ofPhase))
  expect(parts).toEqual([...parts].sort((a, b) => a - b))
  expect([parts[0], parts.at(-1)]).toEqual([0, 1])
})

test('a wait has no part of its own, and other kinds of indexes have one phase', () => {
  const part = (phase: string, ofPhase: number) => partOfIndex('REINDEX CONCURRENTLY', phase, ofPhase)
  expect(part('waiting for writers before validation', 1)).toBe(0)
  expect(part('building index', 0.5)).toBe(0.25)
})

test('without `concurrently`, an index is done once it is built', () => {
  expect(partOfIndex('CREATE INDEX', 'building index: loading tuples in tree', 1)).toBe(1)
  expect(partOfIndex('CREATE INDEX', 'building index', 0.5)).toBe(0.5)
})
