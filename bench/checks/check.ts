import type { BenchServer } from '../cluster.js'
import type { Contestant } from '../contestants.js'
import type { Loader } from '../loader.js'

/** What a check works with. */
export interface CheckParts {
  readonly postgres: BenchServer
  readonly loader: Loader
  readonly ours: Contestant
  /** Milliseconds of one sample, and how many are taken. */
  readonly duration: number
  readonly rounds: number
  readonly connections: number
}

/** One promise about speed, and what was found. */
export interface Finding {
  readonly promise: string
  readonly found: string
  readonly kept: boolean
}

/** Measures something that the table of works cannot show. */
export type Check = (parts: CheckParts) => Promise<readonly Finding[]>

export function atMost(promise: string, value: number, most: number, unit = ''): Finding {
  return { promise: `${promise}: at most ${most}${unit}`, found: `${value.toFixed(2)}${unit}`, kept: value <= most }
}
