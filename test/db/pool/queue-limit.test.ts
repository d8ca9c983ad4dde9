import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { createAdmission } from '../../../src/db/pool/admission.js'

/** The first limit, before the throughput of the database is known. */
const FIRST = 1_000

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

/** Fills the queue, and keeps it full while the database answers `each` statements every 10 ms. */
async function work(admission: ReturnType<typeof createAdmission>, milliseconds: number, each: number): Promise<void> {
  for (let time = 0; time < milliseconds; time += 10) {
    for (let count = 0; count < each; count += 1) {
      admission.release()
      admission.acquireUnchecked()
    }
    await jest.advanceTimersByTimeAsync(10)
  }
}

function fill(admission: ReturnType<typeof createAdmission>, count: number): void {
  for (let entered = 0; entered < count; entered += 1) admission.acquireUnchecked()
}

test('rejects statements above the limit, which it counts, until others have ended', () => {
  const admission = createAdmission(2)
  for (let count = 0; count < FIRST; count += 1) admission.acquire()
  expect(() => admission.acquire()).toThrow('The database is overloaded')
  expect(admission.rejected()).toBe(1)
  admission.release()
  admission.acquire()
  expect(() => admission.acquire()).toThrow()
  expect(admission.rejected()).toBe(2)
})

test.each([
  ['half a second of work', 2, 3, 150],
  ['at most 1,000 statements', 2, 50, 1_000],
  ['at least 16 statements', 2, 0, 16],
  ['at least 4 statements for each connection', 10, 0, 40],
])('allows %s', async (_limit, connections, each, limit) => {
  const admission = createAdmission(connections)
  fill(admission, 200)
  await work(admission, 5_000, each)
  expect(Math.abs(admission.limit() - limit)).toBeLessThanOrEqual(1)
})

test('learns the throughput only while the queue keeps the database busy', async () => {
  const admission = createAdmission(2)
  for (let count = 0; count < 20; count += 1) {
    fill(admission, 20)
    await jest.advanceTimersByTimeAsync(40)
    for (let ended = 0; ended < 20; ended += 1) admission.release()
    await jest.advanceTimersByTimeAsync(40)
  }
  expect(admission.limit()).toBe(FIRST)
})

test('learns nothing from a few slow statements', async () => {
  const admission = createAdmission(2)
  fill(admission, 15)
  await jest.advanceTimersByTimeAsync(1_000)
  expect(admission.limit()).toBe(FIRST)
})

test('learns little from a single pause', async () => {
  const admission = createAdmission(2)
  fill(admission, 200)
  await work(admission, 5_000, 3)
  await jest.advanceTimersByTimeAsync(50)
  expect(Math.abs(admission.limit() - 150 * (7 / 8))).toBeLessThanOrEqual(1)
})

test('learns nothing while limits of resources block the queue', async () => {
  const admission = createAdmission(2)
  fill(admission, 20)
  for (let count = 0; count < 20; count += 1) {
    admission.skipSample()
    await jest.advanceTimersByTimeAsync(50)
  }
  expect(admission.limit()).toBe(FIRST)
})

test.each([
  ['keeps', 4_000, 150],
  ['forgets', 6_000, FIRST],
])('%s the throughput over a pause of %i ms', async (_what, pause, limit) => {
  const admission = createAdmission(2)
  fill(admission, 200)
  await work(admission, 5_000, 3)
  for (let ended = 0; ended < 200; ended += 1) admission.release()
  await jest.advanceTimersByTimeAsync(pause)
  admission.acquire()
  expect(Math.abs(admission.limit() - limit)).toBeLessThanOrEqual(1)
})

test('learns fast at first, and again after a long pause', async () => {
  const admission = createAdmission(2)
  for (const pause of [0, 6_000]) {
    await jest.advanceTimersByTimeAsync(pause)
    fill(admission, 200)
    await work(admission, 300, 0)
    expect(admission.limit()).toBeLessThan(FIRST / 4)
    for (let ended = 0; ended < 200; ended += 1) admission.release()
  }
})
