/** Counts bytes in memory against a limit. */
export interface Room {
  /** Whether a piece may have this many bytes in place of its former ones. A single piece always fits, however large it is. */
  fits(bytes: number, former?: number): boolean
  /** Counts a piece of this many bytes in place of its former ones. */
  hold(bytes: number, former?: number): void
}

/** Pieces up to this size have room of their own, so that large ones do not delay or prevent them. */
export const SMALL = 128 * 1024
const RESERVED_SHARE = 1 / 4

export function createRoom(limit: number): Room {
  let held = 0
  let heldBySmall = 0
  return {
    fits(bytes, former = 0) {
      const more = bytes - former
      const isReserved = bytes <= SMALL && heldBySmall + more <= limit * RESERVED_SHARE
      return held === former || held + more <= limit || isReserved
    },
    hold(bytes, former = 0) {
      held += bytes - former
      if (former <= SMALL) heldBySmall -= former
      if (bytes <= SMALL) heldBySmall += bytes
    },
  }
}
