import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { QueueKey } from '../../../src/db/database.js'
import { startFairQueue } from '../../support/fair-queue.js'

const CONNECTIONS = 16
/** Work waits for at most this many ms. */
const PATIENCE = 2_000
/** So much work may wait in all while nothing is known of the speed of the database. */
const PLACES = 2_000
/** So much work of a resource may wait even if the queue is full. */
const MIN_WAITING = 4

let { queue, turns, granted, enter, leave, leaveFirst, enterMany, waitingOf } = startFairQueue(CONNECTIONS, PATIENCE)

beforeEach(() => {
  // The queue uses none of these; those of other code in this process would be counted with its own timers.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setTimeout'] })
  ;({ queue, turns, granted, enter, leave, leaveFirst, enterMany, waitingOf } = startFairQueue(CONNECTIONS, PATIENCE))
})
afterEach(() => {
  jest.useRealTimers()
})

/** How much work of one statement may wait where `places` are free: less than three quarters of the places that are left, w < 3/4 (places - w). */
function shareOfStatement(places: number): number {
  return Math.ceil((3 * places) / 7)
}

describe('work that waits', () => {
  test('is rejected when it has waited too long, all that came at the same time', async () => {
    enterMany(16, {})
    for (let at = 0; at < 40; at += 1) enter('late', { resource: 'a' })
    await jest.advanceTimersByTimeAsync(PATIENCE - 60)
    enter('in time', { resource: 'b' })
    expect(turns).toHaveLength(16)
    await jest.advanceTimersByTimeAsync(112)
    expect(turns.slice(16)).toEqual(Array<string>(40).fill('late: The database is overloaded'))
    expect(queue.waiting()).toBe(1)
  })

  test('is rejected also after no work has waited for a time, in which no timer runs', async () => {
    enterMany(16, {})
    for (const work of ['first', 'second']) {
      enter(work, { resource: 'a' })
      await jest.advanceTimersByTimeAsync(2 * PATIENCE)
      expect(turns.at(-1)).toBe(`${work}: The database is overloaded`)
      expect(jest.getTimerCount()).toBe(0)
    }
  })

  test('names other changes as the reason if they change its record', async () => {
    enterMany(1, { resource: 'a', record: 'r' })
    enterMany(15, {})
    enter('r waits', { resource: 'a', record: 'r' })
    enter('s waits', { resource: 'a', record: 's' })
    await jest.advanceTimersByTimeAsync(PATIENCE + 50)
    expect(turns.slice(16)).toEqual([
      'r waits: The database is busy with other changes',
      's waits: The database is overloaded',
    ])
  })

  test('leaves room for other statements, and for other resources', () => {
    enterMany(16, {})
    expect(waitingOf({ resource: 'a', name: 'x' })).toBe(shareOfStatement(PLACES))
    // All work of a resource together leaves as many places as it takes.
    expect(waitingOf({ resource: 'a', name: 'y' })).toBe(PLACES / 2 - shareOfStatement(PLACES))
    expect(waitingOf({ resource: 'b' })).toBe(shareOfStatement(PLACES / 2))
  })

  test('leaves no more room after work was given up that had its connection already', () => {
    enterMany(16, {})
    const givingUp = Array.from({ length: 40 }, (_, at) => enter(`given up ${at}`, { resource: 'a', name: 'x' }))
    while (granted.size > 0) for (const work of [...granted.keys()]) leave(work)
    for (const giveUp of givingUp) giveUp?.()
    enterMany(16, {})
    expect(waitingOf({ resource: 'a', name: 'x' })).toBe(shareOfStatement(PLACES))
    expect(waitingOf({ resource: 'a', name: 'y' })).toBe(PLACES / 2 - shareOfStatement(PLACES))
  })

  test('may wait in a full queue if its resource has little of it, or if it follows other work', () => {
    enterMany(16, {})
    for (let at = 0; PLACES - queue.waiting() >= MIN_WAITING; at += 1) waitingOf({ resource: `a${at}` })
    expect(waitingOf({ resource: 'b' })).toBe(MIN_WAITING)
    expect(() => enter('more', { resource: 'b' })).toThrow()
    expect(enter('follows', { resource: 'b', follows: true })).toBeDefined()
  })
})

describe('the queue has places for a second of work', () => {
  /** Work that waits, whatever the places. */
  const wait = (count: number, key: QueueKey) => {
    for (let at = 0; at < count; at += 1) enter(`waits ${turns.length} ${at}`, { ...key, follows: true })
  }

  test('which is measured while work waits', async () => {
    wait(16 + 200, {})
    for (let time = 0; time < 5_000; time += 10) {
      for (let count = 0; count < 3; count += 1) leaveFirst()
      wait(3, {})
      await jest.advanceTimersByTimeAsync(10)
    }
    expect(Math.abs(waitingOf({ resource: 'b' }) - shareOfStatement(300 - 200))).toBeLessThanOrEqual(1)
  })

  test('but nothing is learned while the queue is empty again and again', async () => {
    wait(16, {})
    for (let count = 0; count < 100; count += 1) {
      wait(1, {})
      await jest.advanceTimersByTimeAsync(50)
      leaveFirst()
    }
    expect(waitingOf({ resource: 'b' })).toBe(shareOfStatement(PLACES))
  })

  test('nor while work waits that has its share, and leaves connections to others', async () => {
    wait(8 + 200, { resource: 'a' })
    for (let time = 0; time < PATIENCE - 100; time += 50) {
      enterMany(8, {})
      await jest.advanceTimersByTimeAsync(50)
      for (let at = 1; at <= 8; at += 1) leave(`${at}`)
    }
    enterMany(8, {})
    expect(waitingOf({ resource: 'b' })).toBe(shareOfStatement(PLACES - 200))
  })
})
