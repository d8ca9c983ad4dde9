import { describe, expect, test } from '@jest/globals'
import { keepRecent } from '../src/foundation/remember.js'

interface Made {
  readonly text: string
}

function recentWith(maxWeight: number) {
  const made: string[] = []
  const growing = new Map<string, (weight: number) => void>()
  const find = keepRecent<Made>(maxWeight)
  const use = (text: string): Made =>
    find(text, (grow) => {
      made.push(text)
      growing.set(text, grow)
      return { text }
    })
  return { made, use, grow: (text: string, weight: number) => growing.get(text)?.(weight) }
}

describe('keepRecent', () => {
  test('makes each value once while they fit', () => {
    const { made, use } = recentWith(10)
    for (let round = 0; round < 3; round += 1) for (const text of 'abcde') expect(use(text)).toBe(use(text))
    expect(made.join('')).toBe('abcde')
  })

  test('keeps a value that is used, and drops others', () => {
    const { made, use } = recentWith(10)
    const first = use('a')
    for (let other = 0; other < 100; other += 1) {
      use(`x${other}`)
      expect(use('a')).toBe(first)
    }
    use('x99')
    use('x0')
    expect(made.filter((text) => text === 'x99')).toHaveLength(1)
    expect(made.filter((text) => text === 'x0')).toHaveLength(2)
  })

  test('counts values by their weight, also if they grow later', () => {
    const { made, use, grow } = recentWith(10)
    for (const text of 'abcd') use(text)
    grow('a', 10)
    use('e')
    for (const text of 'a') use(text)
    use('b')
    expect(made.join('')).toBe('abcdeb')
  })

  test('keeps the last two values, whatever they weigh', () => {
    const { made, use, grow } = recentWith(10)
    for (let round = 0; round < 5; round += 1)
      for (const text of 'ab') {
        use(text)
        grow(text, 100)
      }
    expect(made.join('')).toBe('ab')
  })
})
