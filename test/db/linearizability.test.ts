import { describe, expect, test } from '@jest/globals'
import { isLinearizable, type Operation } from '../../torture/registers.js'

const write = (value: string, start: number, end: number): Operation => ({ kind: 'write', value, start, end })
const read = (value: string, start: number, end: number): Operation => ({ kind: 'read', value, start, end })

describe('the linearizability checker', () => {
  test.each<readonly [name: string, history: readonly Operation[]]>([
    ['nothing', []],
    ['a read of the initial value', [read('', 0, 1)]],
    ['a read of a written value', [write('a', 0, 1), read('a', 2, 3)]],
    ['a read of either of two concurrent writes', [write('a', 0, 5), write('b', 0, 5), read('a', 6, 7)]],
    ['a write that is read before it ends', [write('a', 0, 9), read('a', 1, 2), read('a', 3, 4)]],
    ['an unknown write that took effect', [write('a', 0, Infinity), read('', 1, 2), read('a', 3, 4)]],
    [
      'an unknown write that had no effect',
      [write('a', 0, Infinity), read('', 1, 2), write('b', 3, 4), read('b', 5, 6)],
    ],
    [
      'an unknown write that took effect late',
      [write('a', 0, Infinity), write('b', 1, 2), read('b', 3, 4), read('a', 5, 6)],
    ],
  ])('explains %s', (_name, history) => {
    expect(isLinearizable(history, '')).toBe(true)
  })

  test.each<readonly [name: string, history: readonly Operation[]]>([
    ['an acknowledged write that is lost', [write('a', 0, 1), read('', 2, 3)]],
    ['a value that was never written', [write('a', 0, 1), read('b', 2, 3)]],
    ['a read of an older value', [write('a', 0, 1), write('b', 2, 9), read('b', 3, 4), read('a', 5, 6)]],
    ['a write that a failover reverted', [write('a', 0, 1), write('b', 2, 3), read('b', 4, 5), read('a', 6, 7)]],
    ['an unknown write that was read and later was not', [write('a', 0, Infinity), read('a', 1, 2), read('', 3, 4)]],
  ])('finds %s', (_name, history) => {
    expect(isLinearizable(history, '')).toBe(false)
  })
})
