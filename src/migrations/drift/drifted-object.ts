/** A difference between a database and its applied migrations. */
export interface Drift {
  /** `books.tmp`: a column, constraint or index with its table; or the name of a table, a view or an enum. */
  readonly object: string
  readonly text: string
  /** The repair that keeps all data: adopting the object, a statement that restores the missing one, or a statement that a migration should contain. */
  readonly repair: { readonly adopt: string } | { readonly sql: string } | { readonly migrate: string }
}
