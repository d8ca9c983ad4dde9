import { MigrationError } from '../files/error.js'
import { type ServerError, sqlState } from './session.js'

/** The errors of PostgreSQL for a table, a column or another object that exists already. */
const EXISTS: ReadonlySet<string | undefined> = new Set(['42P07', '42701', '42710'])

const RESOLVE =
  'If the objects that the migration creates exist already, record it as applied: snippetctl migrate resolve'

const CREATE_AGAIN =
  'If the dependent object is a view, a policy, a trigger or a constraint that no migration has created: save its definition, drop it, apply the migration, and create it again if it still applies. ' +
  'Do not drop a dependent table or column, because its data would be lost: change it first, so that it no longer depends on the object'

/** Adds what to do to the error of a migration that the database rejects. Returns other errors as they are. */
export function withHelp(error: unknown, direction: 'up' | 'down'): unknown {
  if (!(error instanceof MigrationError)) return error
  const help = helpFor(error, direction)
  return help === undefined ? error : new MigrationError(error.errors, [...error.help, help], error.cause)
}

function helpFor(error: MigrationError, direction: 'up' | 'down'): string | undefined {
  const [state, { help }] = [sqlState(error), error]
  if (isInTheWay(error)) return CREATE_AGAIN
  if (direction === 'up' && EXISTS.has(state)) return RESOLVE
  const isOfRows = state !== undefined && /^2[23]/.test(state)
  if (!isOfRows || help.length > 0) return undefined
  const schema = direction === 'up' ? 'the migration' : 'the former schema'
  return `If existing rows do not fit ${schema}: change these rows, and run \`snippetctl migrate ${direction}\` again`
}

/** The functions of PostgreSQL that reject a change of a column's type because of other objects; other rejections have the same SQLSTATE, and messages can be translated. */
const TYPE_CHECKS = ['ATExecAlterColumnType', 'RememberAllDependentForRebuilding']

/** Whether a change failed because another object depends on the column or table. */
export function isInTheWay(error: unknown): error is MigrationError {
  if (!(error instanceof MigrationError)) return false
  if (sqlState(error) === '2BP01') return true
  // PostgreSQL 14 calls it a syntax error if the object is a generated column.
  return (
    ['0A000', '42601'].includes(sqlState(error) ?? '') &&
    TYPE_CHECKS.includes((error.cause as ServerError).routine ?? '')
  )
}
