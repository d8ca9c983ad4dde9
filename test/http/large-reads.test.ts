import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createLargeReads } from '../../src/http/server/large-reads.js'

const LARGE = 1_000_000

let begun: number[] = []
let ends: ((error?: Error) => void)[] = []
/** A read that ends when the test says so. */
const read = (at: number) => () =>
  new Promise<number>((resolve, reject) => {
    begun.push(at)
    ends[at] = (error) => (error ? reject(error) : resolve(at))
  })

beforeEach(() => {
  jest.useFakeTimers()
  begun = []
  ends = []
})
afterEach(() => {
  jest.useRealTimers()
})

describe('reads of large lists', () => {
  test('begin one after another, in the order in which they came', async () => {
    const reads = createLargeReads()
    const results = [0, 1, 2].map((at) => reads.run(LARGE, read(at)))
    expect(begun).toEqual([0])
    ends[0]?.()
    expect(await results[0]).toBe(0)
    await Promise.resolve()
    expect(begun).toEqual([0, 1])
    ends[1]?.()
    await results[1]
    await Promise.resolve()
    expect(begun).toEqual([0, 1, 2])
    ends[2]?.()
    expect(await Promise.all(results)).toEqual([0, 1, 2])
  })

  test('wait 20 ms at most for one that is slow', async () => {
    const reads = createLargeReads()
    for (const at of [0, 1, 2]) void reads.run(LARGE, read(at))
    await jest.advanceTimersByTimeAsync(19)
    expect(begun).toEqual([0])
    await jest.advanceTimersByTimeAsync(1)
    expect(begun).toEqual([0, 1])
    await jest.advanceTimersByTimeAsync(20)
    expect(begun).toEqual([0, 1, 2])
    // None has waited for it, and the last began 20 ms ago.
    await jest.advanceTimersByTimeAsync(20)
    void reads.run(LARGE, read(3))
    expect(begun).toEqual([0, 1, 2, 3])
  })

  test('go on after one that failed', async () => {
    const reads = createLargeReads()
    const failing = reads.run(LARGE, read(0))
    const next = reads.run(LARGE, read(1))
    ends[0]?.(new Error('no connection'))
    await expect(failing).rejects.toThrow('no connection')
    await Promise.resolve()
    ends[1]?.()
    expect(await next).toBe(1)
  })

  test('keep no small list waiting', () => {
    const reads = createLargeReads()
    void reads.run(LARGE, read(0))
    void reads.run(LARGE, read(1))
    void reads.run(1_000, read(2))
    expect(begun).toEqual([0, 2])
  })
})
