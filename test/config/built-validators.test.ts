import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { createRandom, mutate, SEEDS } from '../support/config-mutations.js'
import { TASKS_YAML } from '../support/tasks.js'

// The build generates two validators: one that only accepts or rejects, and one that finds all errors and is loaded after a rejection.
const load = createRequire(resolve('dist', 'cli', 'main.js'))
const isValid = load('../quick-shape.cjs') as (value: unknown) => boolean
const validate = load('../whole-shape.cjs') as (value: unknown) => boolean

const VALUES = [null, true, 0, 1.5, '', 'text', [], {}, ['a', 'a'], { type: 'text', max: 5 }, { type: 'none' }]

/** Copies of a value that each differ in one place: another value, a missing member or item, an unknown member. */
function* changesOf(value: unknown): Generator<unknown> {
  yield* VALUES
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      yield value.toSpliced(at, 1)
      for (const changed of changesOf(item)) yield value.toSpliced(at, 1, changed)
    }
    return
  }
  yield { ...value, unknown: 1 }
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...others } = value as Record<string, unknown>
    yield others
    for (const changed of changesOf(member)) yield { ...value, [name]: changed }
  }
}

describe('the quick validator agrees with the whole one', () => {
  test.each([...SEEDS, TASKS_YAML].map((seed) => [seed.slice(0, 60), parse(seed) as unknown]))(
    'about a change of each value in %j',
    (_, seed) => {
      expect([isValid(seed), validate(seed)]).toEqual([true, true])
      const counts = { valid: 0, invalid: 0 }
      for (const value of changesOf(seed)) {
        const valid = validate(value)
        counts[valid ? 'valid' : 'invalid'] += 1
        if (isValid(value) !== valid) throw new Error(`the whole validator says ${valid} of ${JSON.stringify(value)}`)
      }
      expect(counts.valid).toBeGreaterThan(50)
      expect(counts.invalid).toBeGreaterThan(200)
    },
  )

  test('about random changes of the text', () => {
    const random = createRandom(7)
    let parsed = 0
    for (let at = 0; at < 600; at += 1) {
      const value = parsedOrUndefined(mutate(random))
      if (value === undefined) continue
      parsed += 1
      expect({ value, valid: isValid(value) }).toEqual({ value, valid: validate(value) })
    }
    expect(parsed).toBeGreaterThan(150)
  })
})

function parsedOrUndefined(bytes: Uint8Array): unknown {
  try {
    return parse(new TextDecoder().decode(bytes), { logLevel: 'silent' }) as unknown
  } catch {
    return undefined
  }
}
