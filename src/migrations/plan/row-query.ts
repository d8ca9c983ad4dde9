/** A query that counts the rows that make a step unsafe: it returns two numbers. */
export interface RowQuery {
  /** Returns the number of affected rows and the total number. */
  readonly sql: string
  /** The sentence for the two numbers, which have thousands separators. */
  readonly says: (count: string, total: string) => string
  /** Set if a single affected row makes the step fail: the sentence's end, and the ways out. */
  readonly decides?: { readonly cannot: string; readonly help: string }
}

/** A count of the rows of a relation for which a condition holds. */
export function rowsOf(relation: string, where: string): Pick<RowQuery, 'sql'> {
  return { sql: `select count(*) filter (where ${where}), count(*) from ${relation}` }
}
