import { codeOf } from './sql-code.js'
import { explained, makesTable, sessionChange } from './session-changes.js'

/** The kind of a statement, as far as its text tells. A statement of unknown effect counts as `write`. */
export type StatementKind = 'read' | 'write'

/** The statements that plugins may send, by their first word. */
const READS: ReadonlySet<string> = new Set(['select', 'with', 'values'])
const WRITES: ReadonlySet<string> = new Set([
  ...['insert', 'update', 'delete', 'merge', 'truncate', 'lock', 'refresh', 'call', 'do', 'explain', 'analyze'],
])

/** Advice for statements that plugins may not send. */
const INSTEAD: readonly (readonly [words: readonly string[], advice: string])[] = [
  [
    ['begin', 'start', 'commit', 'end', 'rollback', 'abort', 'savepoint', 'release', 'prepare'],
    'use `context.transaction`',
  ],
  [['create', 'alter', 'drop', 'comment', 'grant', 'revoke', 'into'], 'change tables by a migration'],
  [['set', 'reset', 'discard'], 'the connection is shared with other requests; use `set_config(name, value, true)`'],
]

/**
 * The kind of a statement of a plugin.
 * @throws Error for a statement that would change the connection or its transaction, or that neither reads nor changes rows
 */
export function kindOf(text: string): StatementKind {
  const code = codeOf(text)
  const first = firstOf(code)
  if (!WRITES.has(first) && !READS.has(first)) reject(first)
  const change = sessionChange(text, code)
  if (change !== undefined) throw new Error(change)
  if (first === 'explain') kindOf(explained(code))
  if (makesTable(code)) reject('into')
  return WRITES.has(first) || WRITING.test(code) || callsOf(code).length > 0 ? 'write' : 'read'
}

function firstOf(code: string): string {
  return /^[\s(]*([a-z]+)/.exec(code)?.[1] ?? ''
}

function reject(word: string): never {
  throw new Error(`a plugin cannot send \`${word}\` to the database; ${adviceFor(word)}`)
}

function adviceFor(word: string): string {
  return INSTEAD.find(([words]) => words.includes(word))?.[1] ?? 'only statements that read or change rows are allowed'
}

/** Words by which a query changes or locks rows. */
const WRITING = /\b(?:insert|update|delete|merge|into|share)\b/

/** Whether a query locks the rows that it reads. */
export function isLocking(text: string): boolean {
  return /\bfor\s+(?:no\s+key\s+update|update|key\s+share|share)\b/.test(codeOf(text))
}

/** The functions that a query calls and that may do more than compute a value from their arguments. */
export function unknownCalls(text: string): readonly string[] {
  return callsOf(codeOf(text))
}

/** A name before a parenthesis, with its schema; quoted names were replaced. Only ASCII has spaces in SQL: others are letters. */
const CALL = /([\w$"\u0080-\uffff]+(?:[\t-\r ]*\.[\t-\r ]*[\w$"\u0080-\uffff]+)*)[\t-\r ]*\(/g

function callsOf(code: string): readonly string[] {
  const names = [...code.matchAll(CALL)].map(([, name = '']) => name)
  return [...new Set(names.filter((name) => !HARMLESS.has(name)))]
}

/** Words before a parenthesis that call nothing, and functions of PostgreSQL that change nothing. */
const HARMLESS: ReadonlySet<string> = new Set(
  `select values from where and or not in exists any some all on using as over filter group by order having distinct case when then
   else end with recursive materialized union except intersect lateral join limit offset between like ilike is null array row rows only
   grouping sets cube rollup partition window interval numeric decimal varchar char character bit timestamp timestamptz time timetz float
   count sum avg min max every bool_and bool_or array_agg string_agg json_agg jsonb_agg json_object_agg jsonb_object_agg stddev stddev_pop
   stddev_samp variance var_pop var_samp corr mode percentile_cont percentile_disc row_number rank dense_rank percent_rank cume_dist ntile
   lag lead first_value last_value nth_value coalesce nullif greatest least abs ceil ceiling floor round trunc sign mod power sqrt exp ln log
   width_bucket lower upper initcap length char_length octet_length concat concat_ws format left right lpad rpad trim btrim ltrim rtrim
   substr substring position strpos replace translate repeat reverse split_part starts_with regexp_replace regexp_match regexp_matches
   regexp_split_to_array md5 encode decode to_char to_date to_timestamp to_number date text random gen_random_uuid date_trunc date_part date_bin extract age now make_date
   make_interval make_timestamp generate_series unnest cardinality array_length array_position array_to_string string_to_array array_append
   array_cat array_remove row_to_json to_json to_jsonb json_build_object json_build_array jsonb_build_object jsonb_build_array
   json_array_elements jsonb_array_elements json_array_length jsonb_array_length jsonb_typeof json_typeof jsonb_set jsonb_path_exists
   jsonb_path_query jsonb_path_query_array to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_rank
   similarity cast`
    .split(/\s+/)
    .filter((word) => word !== ''),
)
