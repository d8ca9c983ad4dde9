import { identifier, literal } from '../../../fields/sql-literal.js'
import { block } from '../steps/conversions.js'

/** The setting in which a trial leaves its result for the transaction, as JSON: `TrialResult`. */
export const TRIAL_RESULT = 'snippetctl.trial'

/** The message is the first error of PostgreSQL. */
export type TrialResult = readonly [failed: number, total: number, values: readonly string[], message: string | null]

/** The number of example values, and the number of characters that are shown of each. */
const SHOWN = 3
const LONGEST = 40

interface Tried {
  /** The table with the rows, as SQL. */
  readonly relation: string
  /** The name by which the expression may qualify columns, as SQL. */
  readonly alias: string
  readonly columns: readonly string[]
  /** The column whose values are shown. */
  readonly column: string
  readonly expression: string
  /** The type of the expression. A row fails if its value cannot be assigned to the type. */
  readonly type: string
  /** Whether the expression is a condition for rows that fail. */
  readonly isMisfit: boolean
}

/** SQL that evaluates an expression on each row by itself, and counts the rows that fail. It changes nothing. */
export function trialOf({ relation, alias, columns, column, expression, type, isMisfit }: Tried): string {
  const row = columns.map((name) => `tried_row.${identifier(name)} as ${identifier(name)}`).join(', ')
  return block([
    '#variable_conflict use_column',
    'declare',
    `  tried_row record; tried_value ${type}; all_rows bigint := 0; failures bigint := 0; shown text[] := '{}'; reason text;`,
    'begin',
    `  for tried_row in select * from ${relation} loop`,
    '    all_rows := all_rows + 1;',
    '    begin',
    `      select (${expression}\n) into tried_value from (select ${row}) ${alias};`,
    ...(isMisfit
      ? ["      if tried_value then raise exception using errcode = 'check_violation', message = ''; end if;"]
      : []),
    '    exception when others then',
    '      failures := failures + 1;',
    "      reason := coalesce(reason, nullif(sqlerrm, ''));",
    `      if cardinality(shown) < ${SHOWN} then shown := shown || left(tried_row.${identifier(column)}::text, ${LONGEST}); end if;`,
    '    end;',
    '  end loop;',
    `  perform set_config(${literal(TRIAL_RESULT)}, json_build_array(failures, all_rows, to_json(shown), reason)::text, true);`,
    'end',
  ])
}

/** A query for a few values of a column in the rows for which a condition holds. */
export function examplesOf(relation: string, column: string, where: string): string {
  const value = `left(${identifier(column)}::text, ${LONGEST})`
  return `select distinct ${value} from ${relation} where ${where} order by 1 limit ${SHOWN}`
}
