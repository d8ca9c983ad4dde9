import type { BenchServer } from '../cluster.js'
import type { Contestant } from '../contestants.js'
import type { Loader } from '../loader.js'

/** What a check needs. */
export interface CheckParts {
  readonly postgres: BenchServer
  readonly loader: Loader
  readonly ours: Contestant
  /** The duration of a sample in ms, and the number of samples. */
  readonly duration: number
  readonly rounds: number
  readonly connections: number
}

/** A performance promise and its measurement. */
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
