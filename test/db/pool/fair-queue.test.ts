import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { startFairQueue } from '../../support/fair-queue.js'

const CONNECTIONS = 16
/** Work waits for at most this many ms. */
const PATIENCE = 2_000

let { queue, turns, granted, enter, leave, leaveFirst, enterMany, waitingOf } = startFairQueue(CONNECTIONS, PATIENCE)

beforeEach(() => {
  jest.useFakeTimers()
  ;({ queue, turns, granted, enter, leave, leaveFirst, enterMany, waitingOf } = startFairQueue(CONNECTIONS, PATIENCE))
})
afterEach(() => {
  jest.useRealTimers()
})

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

  test.each([
    { of: 'statements', record: undefined },
    { of: 'changes of records', record: 'r' },
  ])('work that proves to be quick may have all but a quarter: $of', ({ record }) => {
    for (let count = 0; count < 20; count += 1) {
      enter('quick', { resource: 'a', name: 'x', record })
      leave('quick', 1)
    }
    expect(enterMany(16, { resource: 'a', name: 'x' })).toBe(12)
  })

  test('a record never has two', () => {
    expect(enterMany(2, { resource: 'a', name: 'x', record: 'r' })).toBe(1)
    leave('axr1')
    expect(turns).toEqual(['axr1', 'axr2'])
  })

  test('a record never has two after one of its changes was given up', () => {
    enterMany(16, {})
    const giveUp = enter('gone', { resource: 'a', record: 'r' })
    enter('first', { resource: 'a', record: 'r' })
    giveUp?.()
    enter('second', { resource: 'a', record: 'r' })
    turns.length = 0
    for (let count = 0; count < 8; count += 1) leaveFirst()
    expect(turns).toEqual(['first'])
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
    turns.length = 0
    free(7)
    expect(turns).toEqual(['c waits', 'b waits', 'a waits'])
  })

  test('go to the resource that has waited for the longest time, of those that have equally many', () => {
    for (const resource of ['b', 'a']) enterMany(2, { resource })
    enterMany(12, {})
    for (const resource of ['b', 'a']) enter(`${resource} waits`, { resource })
    turns.length = 0
    free(6)
    expect(turns).toEqual(['b waits', 'a waits'])
  })

  test('go to a resource that has more if the statements of the others have their share', () => {
    enterMany(5, { resource: 'b', name: 'x' })
    enterMany(3, { resource: 'a', name: 'x' })
    enterMany(3, { resource: 'a', name: 'y' })
    enterMany(5, {})
    enter('a waits', { resource: 'a', name: 'x' })
    enter('b waits', { resource: 'b', name: 'x' })
    turns.length = 0
    free(5)
    expect(turns).toEqual(['a waits'])
  })

  test('go to resources and to statements in turn', () => {
    enterMany(16, {})
    for (const work of ['a x 1', 'a x 2', 'a y', 'b x']) {
      const [resource, name] = work.split(' ')
      enter(work, { resource, name })
    }
    turns.length = 0
    free(1)
    for (const work of ['a x 1', 'b x', 'a y']) leave(work)
    expect(turns).toEqual(['a x 1', 'b x', 'a y', 'a x 2'])
  })

  test('go to the records of a statement, and to its other work, in turn', () => {
    enterMany(16, {})
    for (const work of ['x 1', 'x 2']) enter(work, { resource: 'a', name: 'x' })
    enter('x r', { resource: 'a', name: 'x', record: 'r' })
    turns.length = 0
    free(12)
    expect(turns).toEqual(['x 1', 'x r', 'x 2'])
  })

  test('go to every resource in turn if more of them wait than there are connections', () => {
    enterMany(16, {})
    const resources = Array.from({ length: 3 * CONNECTIONS }, (_, at) => `resource ${at}`)
    for (const resource of resources) for (let at = 0; at < 3; at += 1) enter(`${resource} ${at}`, { resource })
    turns.length = 0
    while (granted.size > 0) leaveFirst()
    expect(turns.slice(0, resources.length)).toEqual(resources.map((resource) => `${resource} 0`))
  })

  test('go to another statement if the first has its share', () => {
    enterMany(8, { resource: 'a', name: 'x' })
    enterMany(8, {})
    for (const name of ['x', 'y']) enter(`${name} waits`, { resource: 'a', name })
    turns.length = 0
    free(6)
    expect(turns).toEqual(['y waits'])
  })

  test('go to another record if the first has one', () => {
    enterMany(1, { resource: 'a', name: 'x', record: 'r' })
    enterMany(15, {})
    for (const record of ['r', 's']) enter(`${record} waits`, { resource: 'a', name: 'x', record })
    turns.length = 0
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

test('records are forgotten, too, if their work waits in vain', async () => {
  enter('first', { resource: 'a' })
  enterMany(15, {})
  enter('given up', { resource: 'a', record: 'given up' })?.()
  enter('late', { resource: 'a', record: 'late' })
  await jest.advanceTimersByTimeAsync(2 * PATIENCE)
  waitingOf({ resource: 'a', record: 'waits' })
  waitingOf({ resource: 'a', record: 'waits, too' })
  expect(() => enter('rejected', { resource: 'a', record: 'rejected' })).toThrow()
  expect([...(granted.get('first')?.group.records.keys() ?? [])]).toEqual(['waits', 'waits, too'])
})

test('a record is forgotten once if its next change ends while it gets the connection', () => {
  enter('first', { resource: 'a', name: 'x', record: 'r' })
  const { parent } = granted.get('first') ?? {}
  enterMany(15, {})
  queue.enter({ resource: 'a', name: 'x', record: 'r' }, (_problem, of) => queue.leave(of))
  leave('first')
  expect(parent?.children).toBe(0)
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
