import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { formattedTable } from '../../fields/table-name.js'
import { type IsReplaced, revokedRights, RIGHTS_TEXT } from './revoked-rights.js'
import { type Difference, findLacks, tablesOf, withoutHarmlessObstacles } from './verify.js'

/** The tables that a service cannot use as configured, with one sentence for each reason. */
export interface Misfits {
  /** The tables that cannot be served. */
  readonly unserved: ReadonlyMap<string, readonly string[]>
  /** The tables to which no record can be added, although a resource creates them. */
  readonly closed: ReadonlyMap<string, readonly string[]>
  /** The tables that the database user may not read, although requests do. */
  readonly unreadable: ReadonlyMap<string, readonly string[]>
  /** The tables that the database user may not change as requests do. */
  readonly unwritable: ReadonlyMap<string, readonly string[]>
}

/** The tables of a configuration in a database. */
export interface LiveTables {
  /** Whether other programs can alter them while this process runs. */
  readonly shared: boolean
  /** Returns a text that changes whenever a column is added, altered or dropped, or a right of the database user is granted or revoked. */
  digest(): Promise<string>
  misfits(): Promise<Misfits>
}

/** @param isReplaced whether a plugin replaces an operation, which then needs no rights */
export function liveTables(spec: AppSpec, database: Database, isReplaced: IsReplaced): LiveTables {
  let names: string | undefined
  return {
    // Only this process can open the embedded database.
    shared: database.concurrent,
    digest: async () => {
      names ??= JSON.stringify(tablesOf(spec).map(({ name }) => name))
      const { rows } = await database.query({ text: DIGEST, values: [names] })
      return rows[0]?.[0] ?? ''
    },
    misfits: async () => {
      const differences = withoutHarmlessObstacles(spec, await findLacks(tablesOf(spec), database))
      const { unreadable, unwritable } = await revokedRights(spec, database, isReplaced)
      return {
        unserved: textsByTable(differences.filter(({ breaks }) => breaks)),
        closed: textsByTable(differences.filter(({ stopsInserts }) => stopsInserts)),
        unreadable: textsByTable(unreadable),
        unwritable: textsByTable(unwritable),
      }
    },
  }
}

function textsByTable(differences: readonly Pick<Difference, 'table' | 'text'>[]): Misfits['unserved'] {
  const texts = new Map<string, readonly string[]>()
  for (const { table, text } of differences) texts.set(table, [...(texts.get(table) ?? []), text])
  return texts
}

/** A column whose type was changed, even temporarily, has another version of its row in the catalogue. */
const DIGEST = `
  select hashtextextended(string_agg(concat_ws(' ', a.attrelid, a.attnum, a.xmin, case when a.attnum = 1 then ${RIGHTS_TEXT} end), ',' order by a.attrelid, a.attnum), 0)::text
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid
  join pg_namespace n on n.oid = c.relnamespace
  where a.attnum > 0 and ${formattedTable('c', 'n')} in (select jsonb_array_elements_text($1))`
