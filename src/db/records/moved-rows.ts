import type { ModelSpec } from '../../config/spec.js'
import { tableSql } from '../../fields/table-name.js'
import type { Connection } from '../database.js'

/**
 * Knows the models of which the database may not return a new record: a trigger can skip the row, after it has perhaps inserted another one. Outside
 * a transaction, what the trigger did would stay, although no check of the new record has run.
 */
export interface MovedRows {
  /** Whether creates need a transaction, which can be rolled back. Asks the database once for each model. */
  mayMove(model: ModelSpec): boolean | Promise<boolean>
  /** Notes that the database has not returned a new record of a model. */
  note(model: ModelSpec): void
}

/**
 * Whether a trigger or a rule of a table may skip a row: all may but triggers that only return `new`, and set no more than its columns. Triggers of views
 * may be those of their tables. A function in another language than PL/pgSQL may do anything.
 */
const MAY_MOVE = `
  select (c.relkind = 'v'
    or exists (select from pg_rewrite where ev_class = c.oid and is_instead and ev_type = '3' and ev_enabled in ('O', 'A'))
    or exists (
      select from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_language l on l.oid = p.prolang
      where not t.tgisinternal and t.tgenabled in ('O', 'A') and t.tgtype & 7 = 7
        and t.tgrelid in (select c.oid union select relid from pg_partition_tree(c.oid))
        and p.pronamespace <> 'pg_catalog'::regnamespace
        and (l.lanname <> 'plpgsql' or p.prosrc ~* '\\mreturn\\M(?!\\s+new\\s*;)|\\mnew\\s*:?=')))::text
  from pg_class c where c.oid = to_regclass($1)`

export function watchMovedRows(connection: Connection): MovedRows {
  const known = new Map<ModelSpec, boolean>()
  const ask = async (model: ModelSpec): Promise<boolean> => {
    const { rows } = await connection.query({ text: MAY_MOVE, values: [tableSql(model.table)], retry: true })
    const found = known.get(model) ?? rows[0]?.[0] === 'true'
    known.set(model, found)
    return found
  }
  return {
    mayMove: (model) => known.get(model) ?? ask(model),
    note: (model) => void known.set(model, true),
  }
}
