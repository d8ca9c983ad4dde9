/** A query that counts the rows that make a step unsafe: it returns two or more numbers. */
export interface RowQuery {
  /** Returns the number of affected rows, the total number, and others. */
  readonly sql: string
  /** The phrase for the numbers, which have thousands separators. */
  readonly says: (count: string, total: string, ...others: readonly string[]) => string
  /** Set if a single affected row makes the step fail. */
  readonly decides?: Decision
  /** Selects a few affected values to show. */
  readonly examples?: string
  /** Converts the rows one by one, if `sql` fails at one of them. */
  readonly trial?: Trial
}

/** A step that rows make impossible: the end of the sentence about it, and the ways out. */
export interface Decision {
  readonly cannot: string
  readonly help: string
}

/** A block that tries an expression on each row; `trialOf` makes it. */
export interface Trial {
  readonly sql: string
  /** A phrase after the number of rows that fail. */
  readonly says: string
  readonly decides: Decision
}

/** A count of the rows of a relation for which a condition holds. */
export function rowsOf(relation: string, where: string): Pick<RowQuery, 'sql'> {
  return { sql: `select count(*) filter (where ${where}), count(*) from ${relation}` }
}
