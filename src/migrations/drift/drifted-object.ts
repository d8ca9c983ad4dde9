/** A difference between a database and its applied migrations. */
export interface Drift {
  /** `books.tmp`: a column, constraint or index with its table. */
  readonly object: string
  readonly text: string
  /** The repair that keeps all data: adopting the object, or a statement that restores the missing one. */
  readonly repair: { readonly adopt: string } | { readonly sql: string }
}
