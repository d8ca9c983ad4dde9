/** How many rows of a database say why a step is not simply safe: one query of two numbers. */
export interface RowQuery {
  /** Answers how many rows are meant, and how many there are. */
  readonly sql: string
  /** The sentence for the two numbers, written with their thousands apart. */
  readonly says: (count: string, total: string) => string
  /** The step cannot be made at all when a row is meant. */
  readonly decides?: true
}

/** A count of the rows of a relation for which a condition holds. */
export function rowsOf(relation: string, where: string): Pick<RowQuery, 'sql'> {
  return { sql: `select count(*) filter (where ${where}), count(*) from ${relation}` }
}
