import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createLargeReads } from '../../../src/http/connections/large-reads.js'

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

  test('wait 100 ms at most for one that is slow', async () => {
    const reads = createLargeReads()
    for (const at of [0, 1, 2]) void reads.run(LARGE, read(at))
    await jest.advanceTimersByTimeAsync(99)
    expect(begun).toEqual([0])
    await jest.advanceTimersByTimeAsync(1)
    expect(begun).toEqual([0, 1])
    await jest.advanceTimersByTimeAsync(100)
    expect(begun).toEqual([0, 1, 2])
    // None has waited for it, and the last began 100 ms ago.
    await jest.advanceTimersByTimeAsync(100)
    void reads.run(LARGE, read(3))
    expect(begun).toEqual([0, 1, 2, 3])
  })

  test('wait 100 ms also at a later time, and after others have waited', async () => {
    const reads = createLargeReads()
    await jest.advanceTimersByTimeAsync(1_000)
    void reads.run(LARGE, read(0))
    void reads.run(LARGE, read(1))
    expect(begun).toEqual([0])
    await jest.advanceTimersByTimeAsync(100)
    expect(begun).toEqual([0, 1])
    await jest.advanceTimersByTimeAsync(10)
    void reads.run(LARGE, read(2))
    await jest.advanceTimersByTimeAsync(99)
    expect(begun).toEqual([0, 1])
    await jest.advanceTimersByTimeAsync(1)
    expect(begun).toEqual([0, 1, 2])
  })

  test('wait 100 ms for each one that is slow', async () => {
    const reads = createLargeReads()
    for (const at of [0, 1, 2]) void reads.run(LARGE, read(at))
    await jest.advanceTimersByTimeAsync(50)
    ends[0]?.()
    await jest.advanceTimersByTimeAsync(99)
    expect(begun).toEqual([0, 1])
    await jest.advanceTimersByTimeAsync(1)
    expect(begun).toEqual([0, 1, 2])
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
    void reads.run(128 * 1024, read(1))
    void reads.run(128 * 1024 - 1, read(2))
    expect(begun).toEqual([0, 2])
  })

  test('begin after those that came before, and no sooner because one of several has ended', async () => {
    const reads = createLargeReads()
    for (const at of [0, 1, 2]) void reads.run(LARGE, read(at))
    await jest.advanceTimersByTimeAsync(110)
    expect(begun).toEqual([0, 1])
    ends[0]?.()
    await jest.advanceTimersByTimeAsync(0)
    expect(begun).toEqual([0, 1])
    ends[1]?.()
    await jest.advanceTimersByTimeAsync(0)
    expect(begun).toEqual([0, 1, 2])
  })

  test('do not begin before one that pauses', async () => {
    const reads = createLargeReads()
    void reads.run(100 * LARGE, read(0))
    void reads.run(LARGE, read(1))
    await jest.advanceTimersByTimeAsync(90)
    reads.answered(500)
    ends[0]?.()
    await jest.advanceTimersByTimeAsync(100)
    void reads.run(LARGE, read(2))
    expect(begun).toEqual([0])
    await jest.advanceTimersByTimeAsync(150)
    expect(begun).toEqual([0, 1])
  })

  /** Two reads; the first takes 10 ms, and before it ends, a response of so many bytes is sent. Returns ms from its end until the second begins. */
  async function pauseBetween(bytes: number, answered: number | undefined): Promise<number> {
    const reads = createLargeReads()
    void reads.run(bytes, read(0))
    void reads.run(bytes, read(1))
    await jest.advanceTimersByTimeAsync(10)
    if (answered !== undefined) reads.answered(answered)
    ends[0]?.()
    let pause = 0
    await jest.advanceTimersByTimeAsync(0)
    while (begun.length < 2) {
      pause += 1
      await jest.advanceTimersByTimeAsync(1)
    }
    return pause
  }

  test.each([
    ['no other request was answered', LARGE, undefined, 0],
    ['the other response was a large list', LARGE, LARGE, 0],
    ['the other response was a list that was shorter than expected', LARGE, 100_000, 0],
    ['another request was answered, and the list is at the limit', 128 * 1024, 500, 0],
    ['another request was answered, and the list is twice as long', 2 * 128 * 1024, 500, 10],
    ['another request was answered, and the list is very long', 100 * LARGE, 500, 70],
  ])('pause in proportion to the size of the list: %s', async (_, bytes, answered, pause) => {
    expect(await pauseBetween(bytes, answered)).toBe(pause)
  })

  test('pause at most 250 ms', async () => {
    const reads = createLargeReads()
    void reads.run(100 * LARGE, read(0))
    await jest.advanceTimersByTimeAsync(90)
    void reads.run(100 * LARGE, read(1))
    reads.answered(500)
    ends[0]?.()
    await jest.advanceTimersByTimeAsync(249)
    expect(begun).toEqual([0])
    await jest.advanceTimersByTimeAsync(1)
    expect(begun).toEqual([0, 1])
  })

  test('do not pause when no other one waits', async () => {
    const reads = createLargeReads()
    const first = reads.run(LARGE, read(0))
    await jest.advanceTimersByTimeAsync(10)
    reads.answered(500)
    ends[0]?.()
    await first
    void reads.run(LARGE, read(1))
    expect(begun).toEqual([0, 1])
  })
})
