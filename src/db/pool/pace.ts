/** How long statements took lately, by their names: which of them may be followed by others on one connection. */
export interface Pace {
  isQuick(name: string): boolean
  /** Takes note of a statement's time on its connection, in milliseconds. */
  note(name: string, time: number): void
}

/** A statement that takes longer is not quick. */
const QUICK = 15
/** How often in a row a statement must have been quick; each disappointment makes it so many times more. */
const TRIALS = 8
const DISTRUST = 4
const MOST_TRIALS = 4_096
/** Names change over time; beyond so many, all is learned again. */
const MOST_NAMES = 5_000

interface Record {
  /** How often in a row it was quick. */
  streak: number
  needed: number
}

/** Names are those of statements that connections keep prepared, of which there are few at a time. */
export function createPace(): Pace {
  const records = new Map<string, Record>()
  return {
    isQuick(name) {
      const record = records.get(name)
      return record !== undefined && record.streak >= record.needed
    },
    note(name, time) {
      const record = records.get(name) ?? { streak: 0, needed: TRIALS }
      if (records.size >= MOST_NAMES) records.clear()
      records.set(name, record)
      if (time <= QUICK) record.streak += 1
      else {
        // The first times tell nothing: connections are made, statements are parsed.
        if (record.streak >= record.needed) record.needed = Math.min(record.needed * DISTRUST, MOST_TRIALS)
        record.streak = 0
      }
    },
  }
}
