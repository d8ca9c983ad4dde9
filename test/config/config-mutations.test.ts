import { describe, expect, test } from '@jest/globals'
import { checkText } from '../support/config.js'
import { createRandom, mutate, SEEDS } from '../support/config-mutations.js'

describe('mutated configurations', () => {
  const random = createRandom(20)
  const mutants = Array.from({ length: 500 }, () => mutate(random))

  test('are valid seeds with changes', () => {
    for (const seed of SEEDS) expect(Array.isArray(checkText(seed))).toBe(false)
  })

  test('are accepted, or rejected with positions inside the file', () => {
    let rejected = 0
    for (const bytes of mutants) {
      const result = checkText(bytes)
      if (!Array.isArray(result)) continue
      rejected += 1
      expect(result.length).toBeGreaterThan(0)
      const lines = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/)
      for (const { range, message } of result) {
        const { line, column } = range.start
        const width = [...(lines[line - 1] ?? '')].length
        expect({ message, inside: line >= 1 && line <= lines.length && column >= 1 && column <= width + 1 }).toEqual({
          message,
          inside: true,
        })
        expect(range.end.offset).toBeGreaterThanOrEqual(range.start.offset)
      }
    }
    expect(rejected).toBeGreaterThan(200)
    expect(rejected).toBeLessThan(500)
  })
})
