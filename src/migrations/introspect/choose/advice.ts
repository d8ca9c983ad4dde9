import { formatValue } from '../../../config/edit/format-value.js'

/** Ends reports of parts that the file cannot declare. */
export const NO_PLAN = 'nothing can be added, and no plan changes it'

/** Ends reports of columns without a field. */
export const NO_FIELD = 'nothing can be added while migrations create the table: the column stays as it is'

/** The end of the advice to declare a relation to a table that migrations do not create. */
export const PLANS_INDEX = '; the next plan then adds an index'

/** The command that follows unmanaged tables. */
export const UPDATE = 'snippetctl introspect --update'

/** Ends reports of parts that the database user may not read. */
export const UNREADABLE = `the database user may not read it; once it may: ${UPDATE}`

/** How errors of a constraint that the file cannot declare get a message. */
export function adviceForMessage(constraint: string): string {
  return `no plan changes it, and its errors can have a message: \`messages: ${formatValue({ [constraint]: '…' })}\``
}

/** How a table that migrations do not create gets a model. */
export function unmanagedModel(table: string): string {
  return `a model with \`managed: false\` can show it: \`snippetctl introspect --print --tables ${formatValue(table)}\` in an empty folder prints one`
}
