/** A moment, by two clocks. */
export interface Moment {
  /** By the clock of the machine, which can be set back; it counts while the machine sleeps. */
  readonly shown: number
  /** By a clock that only runs forward, but not while the machine sleeps. */
  readonly run: number
}

export function thisMoment(): Moment {
  return { shown: Date.now(), run: performance.now() }
}

/** Returns the milliseconds since a moment. If the two clocks disagree, the longer time counts, so that nothing is trusted for too long. */
export function ageOf({ shown, run }: Moment): number {
  return Math.max(Date.now() - shown, performance.now() - run)
}
