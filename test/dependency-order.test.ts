import { expect, test } from '@jest/globals'
import { inDependencyOrder } from '../src/foundation/dependency-order.js'

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['items that need nothing stay as they are', { c: '', a: '', b: '' }, 'cab'],
  ['an item comes after the items that it needs, and those that they need', { a: 'b', b: 'c', c: '' }, 'cba'],
  ['items that need each other, or themselves, come in the order in which they are found', { a: 'ab', b: 'a' }, 'ba'],
])('%s', (_, needs, order) => {
  expect(inDependencyOrder(Object.keys(needs), (item) => [...(needs[item] ?? '')]).join('')).toBe(order)
})
