import { type AppSpec, isUnmanaged } from '../../config/spec.js'

/** A requirement of a configuration that a database does not meet. */
export interface SchemaDifference {
  /** A sentence. */
  readonly text: string
  /** Whether it is about a table or view that migrations do not change. */
  readonly isUnmanaged: boolean
}

/** Marks the differences of tables that migrations do not change, and says so in their sentences. */
export function asSchemaDifference({
  models,
}: AppSpec): (difference: { readonly table: string; readonly text: string }) => SchemaDifference {
  const others = new Set(models.filter(isUnmanaged).map(({ table }) => table))
  return ({ table, text }) =>
    others.has(table)
      ? { text: `${text}; migrations do not change it (\`managed: false\`)`, isUnmanaged: true }
      : { text, isUnmanaged: false }
}
