import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { QueueKey } from '../../../src/db/database.js'
import { createFairQueue } from '../../../src/db/pool/fair-queue.js'
import type { WorkQueue } from '../../../src/db/pool/work-queues.js'

const CONNECTIONS = 16
/** Work waits for at most this many ms. */
const PATIENCE = 2_000
/** So much work may wait in all while nothing is known of the speed of the database. */
const PLACES = 2_000
/** So much work of a resource may wait even if the queue is full. */
const MIN_WAITING = 4

/** The names of the work that has got a connection, or the reason for having none, in order. */
let turns: string[]
let granted: Map<string, WorkQueue>
let queue: ReturnType<typeof createFairQueue>

beforeEach(() => {
  jest.useFakeTimers()
  turns = []
  granted = new Map()
  queue = createFairQueue({ connections: CONNECTIONS, patience: PATIENCE })
})
afterEach(() => {
  jest.useRealTimers()
})

function enter(work: string, key: QueueKey & { readonly follows?: boolean }): (() => void) | undefined {
  return queue.enter(key, (problem, of) => {
    turns.push(problem ? `${work}: ${problem.message}` : work)
    if (!problem) granted.set(work, of)
  })
}

function leave(work: string, time?: number): void {
  const of = granted.get(work)
  if (!of) throw new Error(`${work} has no connection`)
  granted.delete(work)
  queue.leave(of, time)
}

/** Enters the same work several times; returns how often it got a connection at once. */
function enterMany(count: number, key: QueueKey): number {
  const before = turns.length
  for (let at = 1; at <= count; at += 1) enter(`${key.resource ?? ''}${key.name ?? ''}${key.record ?? ''}${at}`, key)
  return turns.length - before
}

/** Enters work until it is rejected; returns how much of it waits. */
function waitingOf(key: QueueKey): number {
  const before = queue.waiting()
  expect(() => {
    for (let count = 0; count < 3_000; count += 1) enter('more', key)
  }).toThrow('The database is overloaded')
  return queue.waiting() - before
}

describe('of sixteen connections', () => {
  test('the process itself may have all', () => {
    expect(enterMany(17, {})).toBe(16)
  })

  test('a statement that is slow, or unknown, may have as many as it leaves free', () => {
    expect(enterMany(16, { resource: 'a', name: 'x' })).toBe(8)
  })

  test('the records of a slow statement may have as many as the statement', () => {
    const got = Array.from({ length: 16 }, (_, at) => enterMany(1, { resource: 'a', name: 'x', record: `r${at}` }))
    expect(got.filter((count) => count === 1)).toHaveLength(8)
  })

  test('a slow resource may have twice as many as it leaves free, and others get one each', () => {
    const got = Array.from({ length: 16 }, (_, at) => enterMany(1, { resource: 'a', name: `x${at}` }))
    expect(got.filter((count) => count === 1)).toHaveLength(11)
    expect(['b', 'c', 'd', 'e', 'f', 'g'].map((resource) => enterMany(2, { resource }))).toEqual([1, 1, 1, 1, 1, 0])
  })

  test('work that proves to be quick may have all but a quarter', () => {
    for (let count = 0; count < 20; count += 1) {
      enter('quick', { resource: 'a', name: 'x' })
      leave('quick', 1)
    }
    expect(enterMany(16, { resource: 'a', name: 'x' })).toBe(12)
  })

  test('a record never has two', () => {
    expect(enterMany(2, { resource: 'a', name: 'x', record: 'r' })).toBe(1)
    leave('axr1')
    expect(turns).toEqual(['axr1', 'axr2'])
  })
})

describe('connections that are free again', () => {
  /** Ends work of the process. */
  const free = (count: number) => {
    for (const work of [...granted.keys()].filter((each) => /^\d+$/.test(each)).slice(0, count)) leave(work)
  }

  test('go to the resource that has the fewest', () => {
    enterMany(2, { resource: 'b' })
    enterMany(3, { resource: 'a' })
    enterMany(11, {})
    for (const resource of ['b', 'a', 'c']) enter(`${resource} waits`, { resource })
    turns = []
    free(7)
    expect(turns).toEqual(['c waits', 'b waits', 'a waits'])
  })

  test('go to a resource that has more if the statements of the others have their share', () => {
    enterMany(5, { resource: 'b', name: 'x' })
    enterMany(3, { resource: 'a', name: 'x' })
    enterMany(3, { resource: 'a', name: 'y' })
    enterMany(5, {})
    enter('a waits', { resource: 'a', name: 'x' })
    enter('b waits', { resource: 'b', name: 'x' })
    turns = []
    free(5)
    expect(turns).toEqual(['a waits'])
  })

  test('go to resources and to statements in turn', () => {
    enterMany(16, {})
    for (const work of ['a x 1', 'a x 2', 'a y', 'b x']) {
      const [resource, name] = work.split(' ')
      enter(work, { resource, name })
    }
    turns = []
    free(1)
    for (const work of ['a x 1', 'b x', 'a y']) leave(work)
    expect(turns).toEqual(['a x 1', 'b x', 'a y', 'a x 2'])
  })

  test('go to another statement if the first has its share', () => {
    enterMany(8, { resource: 'a', name: 'x' })
    enterMany(8, {})
    for (const name of ['x', 'y']) enter(`${name} waits`, { resource: 'a', name })
    turns = []
    free(6)
    expect(turns).toEqual(['y waits'])
  })

  test('go to another record if the first has one', () => {
    enterMany(1, { resource: 'a', name: 'x', record: 'r' })
    enterMany(15, {})
    for (const record of ['r', 's']) enter(`${record} waits`, { resource: 'a', name: 'x', record })
    turns = []
    free(6)
    expect(turns).toEqual(['s waits'])
  })

  test('do not go to work that was given up', () => {
    enterMany(16, {})
    const giveUp = enter('gone', { resource: 'a' })
    enter('next', { resource: 'a' })
    giveUp?.()
    expect(queue.waiting()).toBe(1)
    leave('1')
    expect(turns.at(-1)).toBe('next')
  })
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

test('records that nobody uses are forgotten, and all but a hundred statements of a resource', () => {
  for (let at = 0; at < 300; at += 1) {
    enter(`change ${at}`, { resource: 'a', name: `x${at}`, record: `r${at}` })
    leave(`change ${at}`)
  }
  enter('last', { resource: 'a', name: 'x0' })
  const { queues, records } = granted.get('last')?.group ?? {}
  expect([queues?.size, records?.size]).toEqual([100, 0])
})
