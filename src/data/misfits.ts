import type { FieldSpec, ModelSpec } from '../config/spec.js'
import type { Connection } from '../db/database.js'
import { codeOf } from '../db/driver/meanings.js'
import { constraintErrorsOf } from '../db/records/guards.js'
import type { ExistingTable } from '../db/statements/upsert.js'
import { writeCell } from '../fields/cell.js'
import type { FieldError } from '../foundation/problem.js'
import type { Row } from '../resource/plan.js'

interface Rejected {
  readonly connection: Connection
  readonly model: ModelSpec
  readonly models: readonly ModelSpec[]
  readonly table: ExistingTable
  readonly batch: { readonly fields: readonly FieldSpec[] }
}

/** A value that does not fit its type, or the check or `not null` of its domain. */
const MISFIT = /^(?:22|23)/

/** Finds the fields of a record whose values their columns reject. The server does not name them, because all records are one parameter. */
export async function misfitsOf(
  { connection, model, models, table, batch }: Rejected,
  row: Row,
): Promise<readonly FieldError[]> {
  const { misfits } = constraintErrorsOf(model, models)
  const query = (text: string, values: readonly string[] = []) => connection.query({ text, values })
  const fits = async (field: FieldSpec): Promise<boolean> => {
    const standard = field.type.column(field.options)
    const type = table.types.get(field.column) ?? standard
    const declared = table.declaredTypes.get(field.column) ?? standard
    try {
      // A cast to a length truncates texts.
      const compared = `select ((cell::${declared})::text is not distinct from (cell::${type})::text)::text`
      const { rows } = await query(`${compared} from (select $1::json ->> 0 as cell) as given`, [
        JSON.stringify([writeCell(field, row[field.name])]),
      ])
      return type === declared || rows[0]?.[0] === 'true'
    } catch (error) {
      if (MISFIT.test(codeOf(error))) return false
      throw error
    } finally {
      await query('rollback to savepoint value')
    }
  }
  const found: FieldError[] = []
  await query('savepoint value')
  for (const field of batch.fields) if (!(await fits(field))) found.push(...misfits([field.column]))
  await query('release savepoint value')
  return found
}
