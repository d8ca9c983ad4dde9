/** How two values of a field compare, as PostgreSQL prints them: negative, zero or positive. */
type Order = (one: string, other: string) => number

/**
 * Whether a lookup holds for a stored value.
 * @param stored as PostgreSQL prints it; null for a record without a value
 * @param wanted the texts of the right side
 */
export type Holds = (stored: string | null, wanted: readonly string[], order: Order) => boolean

/** One end of the values for which a lookup holds. */
export interface RangeEnd {
  readonly text: string
  readonly inclusive: boolean
}

/** The values for which a lookup holds, in the order of the field: all above the first and below the last; an end that is left out is open. */
export interface HeldRange {
  readonly low?: RangeEnd
  readonly high?: RangeEnd
}

/** A lookup for values that are before, at or after the wanted one. */
export function holdsByOrder(fits: (difference: number) => boolean): Holds {
  return (stored, [wanted = ''], order) => stored !== null && fits(order(stored, wanted))
}

/** A lookup for texts that have to do with the wanted one. */
export function holdsForText(fits: (stored: string, wanted: string) => boolean): Holds {
  return (stored, [wanted = '']) => stored !== null && fits(stored, wanted)
}

/** The same for texts in which the case of `A`–`Z` is ignored. */
export function holdsInAnyCase(fits: (stored: string, wanted: string) => boolean): Holds {
  return holdsForText((stored, wanted) => fits(lower(stored), lower(wanted)))
}

function lower(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}
