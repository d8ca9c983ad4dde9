/** Numbers by chance that a seed repeats. */
export interface Random {
  /** At least 0 and below 1. */
  next(): number
  /** A whole number from `low` up to and including `high`. */
  between(low: number, high: number): number
  /** Whether something happens that does so with this probability. */
  chance(probability: number): boolean
  pick<T>(values: readonly [T, ...T[]] | readonly T[]): T
  bytes(length: number): Buffer
}

/** The generator named mulberry32, which is small and good enough to choose inputs by. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (values) => {
      const value = values[between(0, values.length - 1)]
      if (value === undefined) throw new Error('nothing can be picked from an empty list')
      return value
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => between(0, 255))),
  }
}

/** A seed for one part of a run, independent of what ran before it. */
export function seedOf(seed: number, name: string): number {
  let mixed = seed
  for (const character of name) mixed = Math.imul(mixed ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return mixed >>> 0
}
