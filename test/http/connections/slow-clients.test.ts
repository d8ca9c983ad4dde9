import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../src/http/connections/limits.js'
import { createSlowClientCheck } from '../../../src/http/connections/slow-clients.js'

const KB = 1024
/** A client may read at less than this rate, in bytes per second, for this many ms. */
const LIMITS = { ...DEFAULT_LIMITS, stallTimeout: 1_000, stallRate: 10 * KB }

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

/** A client that has not taken `left` bytes of its response from the process, nor read `unread` bytes. */
function startClient(left: number, unread = left) {
  const handle = { bytesWritten: 0, writeQueueSize: 0 }
  const socket = { writableLength: left, _handle: handle, destroy: jest.fn() }
  const check = createSlowClientCheck(
    () => [socket as unknown as Socket],
    () => unread,
    LIMITS,
  )
  const since = performance.now()
  return {
    socket,
    handle,
    check: (from = since) => check(from),
    isCut: () => socket.destroy.mock.calls.length > 0,
  }
}

test.each([
  { client: 'reads nothing', bytes: 0, queued: 0, cut: true },
  { client: 'reads too slowly', bytes: 10 * KB - 1, queued: 0, cut: true },
  { client: 'reads fast enough', bytes: 10 * KB, queued: 0, cut: false },
  { client: 'has a response in the queue of its socket', bytes: 500 * KB, queued: 500 * KB, cut: true },
])('a client that $client is cut: $cut', ({ bytes, queued, cut }) => {
  const { check, handle, isCut } = startClient(900 * KB)
  check()
  Object.assign(handle, { bytesWritten: bytes, writeQueueSize: queued })
  jest.advanceTimersByTime(999)
  check()
  expect(isCut()).toBe(false)
  jest.advanceTimersByTime(1)
  check()
  expect(isCut()).toBe(cut)
})

test.each([
  { size: 'a small response', left: 16 * KB, unread: 0, cut: false },
  { size: 'a large response', left: 16 * KB + 1, unread: 0, cut: true },
  { size: 'the small rest of a large response', left: 1, unread: 900 * KB, cut: true },
  { size: 'a large response that waits for an earlier one', left: 0, unread: 900 * KB, cut: false },
])('a client that does not read $size is cut: $cut', ({ left, unread, cut }) => {
  const { check, isCut } = startClient(left, unread)
  check()
  jest.advanceTimersByTime(1_000)
  check()
  expect(isCut()).toBe(cut)
})

test('only the time in which others wait counts', () => {
  const { check, isCut } = startClient(900 * KB)
  check()
  jest.advanceTimersByTime(500)
  const since = performance.now()
  check(since)
  jest.advanceTimersByTime(999)
  check(since)
  expect(isCut()).toBe(false)
  jest.advanceTimersByTime(1)
  check(since)
  expect(isCut()).toBe(true)
})

test('the time begins again after a client has read its response', () => {
  const { check, socket, isCut } = startClient(900 * KB)
  check()
  socket.writableLength = 0
  jest.advanceTimersByTime(500)
  check()
  socket.writableLength = 900 * KB
  jest.advanceTimersByTime(500)
  check()
  expect(isCut()).toBe(false)
})
