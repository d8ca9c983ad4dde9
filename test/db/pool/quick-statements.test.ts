import { expect, test } from '@jest/globals'
import {
  createLatencyTracker,
  isLarge,
  isQuick,
  type Latency,
  record,
  recordFailure,
} from '../../../src/db/pool/latency-tracker.js'

/** The number of quick executions after which a statement is quick. */
function neededBy(latency: Latency): number {
  for (let count = 0; count < 1_000; count += 1) {
    if (isQuick(latency)) return count
    record(latency, 1, 100)
  }
  return Number.POSITIVE_INFINITY
}

test('a statement is quick after eight quick executions in a row', () => {
  const latency = createLatencyTracker().of('list')
  for (const last of [16, 15]) {
    for (let count = 0; count < 7; count += 1) record(latency, 15, 100)
    expect(isQuick(latency)).toBe(false)
    record(latency, last, 100)
    expect(isQuick(latency)).toBe(last === 15)
  }
})

test('a quick statement that becomes slow, or fails, needs four times as many, up to a limit', () => {
  const latency = createLatencyTracker().of('list')
  expect(neededBy(latency)).toBe(8)
  record(latency, 16, 100)
  // It is not quick now, so another slow execution changes nothing.
  record(latency, 16, 100)
  expect(neededBy(latency)).toBe(32)
  recordFailure(latency)
  expect(neededBy(latency)).toBe(128)
  recordFailure(latency)
  expect(neededBy(latency)).toBe(512)
  recordFailure(latency)
  expect(neededBy(latency)).toBe(512)
})

test('a statement with large results is not quick, however fast it is', () => {
  const latency = createLatencyTracker().of('list')
  for (let count = 0; count < 100; count += 1) record(latency, 1, 40_000)
  expect([isQuick(latency), isLarge(latency)]).toEqual([false, true])
  for (let count = 0; count < 100; count += 1) record(latency, 1, 100)
  expect([isQuick(latency), isLarge(latency)]).toEqual([true, false])
})

test('each name has its own latency, and all are learned again when there are too many names', () => {
  const latencies = createLatencyTracker()
  const first = latencies.of('0')
  for (let name = 0; name < 5_000; name += 1) expect(latencies.of(`${name}`) === first).toBe(name === 0)
  latencies.of('one more')
  expect(latencies.of('0')).not.toBe(first)
})
