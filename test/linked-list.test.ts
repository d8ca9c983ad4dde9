import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from '@jest/globals'
import {
  append,
  createLinkedList,
  type LinkedList,
  type ListNode,
  remove,
  valuesOf,
} from '../src/foundation/linked-list.js'

test('values can be removed from the start, the middle and the end', () => {
  const list = createLinkedList<string>()
  const [first, second, third] = ['a', 'b', 'c'].map((value) => append(list, value))
  append(list, 'd')
  remove(second)
  expect(valuesOf(list)).toEqual(['a', 'c', 'd'])
  remove(first)
  remove(third)
  expect(valuesOf(list)).toEqual(['d'])
  expect(list.length).toBe(1)
})

test('a removed value does not keep those after it in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const list = createLinkedList<object>()
  const removed = append(list, {})
  const later = addBehindEachOther(list, removed)
  // A WeakRef keeps its target until the next turn of the event loop.
  await new Promise(setImmediate)
  collectGarbage()
  expect(removed.value).toEqual({})
  expect(later.filter((each) => each.deref() !== undefined)).toEqual([])
})

/** Appends ten values, each before the one in front of it is removed, and removes the last one. */
function addBehindEachOther(list: LinkedList<object>, first: ListNode<object>): readonly WeakRef<object>[] {
  let last = first
  const values = Array.from({ length: 10 }, () => {
    const next = append(list, {})
    remove(last)
    last = next
    return new WeakRef(next.value)
  })
  remove(last)
  return values
}
