import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../src/http/connections/limits.js'
import type { Problem } from '../../../src/foundation/problem.js'
import { createSendBudget } from '../../../src/http/connections/send-budget.js'

const KB = 1024

// Otherwise responses that still wait at the end of a test would be rejected during another one.
beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

test('responses wait in order of arrival, and only small ones go ahead', async () => {
  const budget = createSendBudget({ ...DEFAULT_LIMITS, sendBytes: 10_000 * KB })
  const admitted: string[] = []
  const reserve = (name: string, size: number) => {
    const waiting = budget.reserve(size)
    if (waiting === undefined) admitted.push(name)
    return waiting?.then(() => void admitted.push(name))
  }
  budget.hold(9000 * KB)
  const long = reserve('long', 2000 * KB)
  const shorter = reserve('shorter', 500 * KB)
  const small = reserve('small', 100 * KB)
  expect([admitted, small]).toEqual([['small'], undefined])
  budget.release(9000 * KB)
  await Promise.all([long, shorter])
  expect(admitted).toEqual(['small', 'long', 'shorter'])
})

test('responses have room up to the limit, and a single one however large it is', () => {
  const budget = createSendBudget({ ...DEFAULT_LIMITS, sendBytes: 10_000 * KB })
  expect(budget.reserve(20_000 * KB)).toBeUndefined()
  budget.release(20_000 * KB)
  expect(budget.reserve(5_000 * KB)).toBeUndefined()
  expect(budget.reserve(5_000 * KB)).toBeUndefined()
  expect(budget.reserve(129 * KB)).toBeInstanceOf(Promise)
})

test('small responses have a quarter of the room for themselves', async () => {
  const budget = createSendBudget({ ...DEFAULT_LIMITS, sendBytes: 1_000 * KB })
  budget.hold(2_000 * KB)
  expect([budget.reserve(125 * KB), budget.reserve(125 * KB)]).toEqual([undefined, undefined])
  const third = budget.reserve(125 * KB)
  expect(third).toBeInstanceOf(Promise)
  budget.release(125 * KB)
  await third
  expect(budget.reserve(125 * KB)).toBeInstanceOf(Promise)
})

test('all lists that have waited too long are rejected at once, and later ones wait on', async () => {
  const budget = createSendBudget({ ...DEFAULT_LIMITS, sendBytes: 1_000 * KB, sendTimeout: 1_000 })
  budget.hold(1_000 * KB)
  const results: string[] = []
  const wait = (name: string) =>
    budget.reserve(500 * KB)?.then(
      () => results.push(name),
      ({ message }: Error) => results.push(`${name}: ${message}`),
    )
  for (let count = 0; count < 40; count += 1) void wait('early')
  await jest.advanceTimersByTimeAsync(500)
  void wait('late')
  await jest.advanceTimersByTimeAsync(600)
  expect(results).toEqual(Array<string>(40).fill('early: too many responses are waiting for clients to read them'))
  budget.release(1_000 * KB)
  await jest.advanceTimersByTimeAsync(1_000)
  expect(results.slice(40)).toEqual(['late'])
})

test('clients that read slowly are given the time since which responses wait, which begins again once none waits', async () => {
  const budget = createSendBudget({ ...DEFAULT_LIMITS, sendBytes: 1_000 * KB })
  const times: number[] = []
  budget.onPressure((since) => times.push(since))
  budget.hold(1_000 * KB)
  const begun = performance.now()
  void budget.reserve(1_000 * KB)
  await jest.advanceTimersByTimeAsync(300)
  budget.release(1_000 * KB)
  await jest.advanceTimersByTimeAsync(700)
  const last = budget.reserve(1_000 * KB)
  await jest.advanceTimersByTimeAsync(300)
  budget.release(1_000 * KB)
  await last
  expect(times.map((since) => since - begun)).toEqual([0, 1_000])
})

test('a list that has waited too long leaves its place to a smaller one, and nothing is done once none waits', async () => {
  const budget = createSendBudget({ ...DEFAULT_LIMITS, sendBytes: 10_000 * KB, sendTimeout: 1_000 })
  const hurry = jest.fn()
  budget.onPressure(hurry)
  budget.hold(9_000 * KB)
  const long = budget.reserve(2_000 * KB)?.catch(({ type }: Problem) => type)
  await jest.advanceTimersByTimeAsync(600)
  const shorter = budget.reserve(500 * KB)
  await jest.advanceTimersByTimeAsync(400)
  expect([await long, await shorter]).toEqual(['unavailable', undefined])
  await jest.advanceTimersByTimeAsync(10_000)
  expect(hurry).toHaveBeenCalledTimes(3)
  expect(jest.getTimerCount()).toBe(0)
})
