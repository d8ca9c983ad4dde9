import { sessionChange } from './session-changes.js'
import { codeOf, isName, readingsOf, type Tokens } from './sql-tokens.js'

/** The kind of a statement, as far as its text tells. A statement of unknown effect counts as `write`. */
export type StatementKind = 'read' | 'write'

/** The statements that plugins may send, by their first word. */
const READS: ReadonlySet<string> = new Set(['select', 'with', 'values'])
const WRITES: ReadonlySet<string> = new Set([
  ...['insert', 'update', 'delete', 'merge', 'truncate', 'lock', 'refresh', 'call', 'explain', 'analyze'],
])

/** Advice for statements that plugins may not send. */
const INSTEAD: readonly (readonly [words: readonly string[], advice: string])[] = [
  [
    ['do'],
    'its code takes no parameters and cannot be checked; send its queries one by one in `context.transaction`, or call a function that a migration creates',
  ],
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
  return readingsOf(text).map(kindOfTokens).includes('write') ? 'write' : 'read'
}

function kindOfTokens(tokens: Tokens): StatementKind {
  const first = firstOf(tokens)
  if (!WRITES.has(first) && !READS.has(first)) reject(first)
  const change = sessionChange(tokens)
  if (change !== undefined) throw new Error(change)
  if (first === 'explain') kindOfTokens(explained(tokens))
  if (makesTable(tokens)) reject('into')
  return WRITES.has(first) || WRITING.test(codeOf(tokens)) || unknownCalls(tokens).length > 0 ? 'write' : 'read'
}

/** The first word of a statement; empty if it begins with anything else. */
function firstOf(tokens: Tokens): string {
  const first = tokens.find((token) => token !== '(') ?? ''
  return /^[a-z]/.test(first) ? first : ''
}

function reject(word: string): never {
  throw new Error(`a plugin cannot send \`${word}\` to the database; ${adviceFor(word)}`)
}

function adviceFor(word: string): string {
  return INSTEAD.find(([words]) => words.includes(word))?.[1] ?? 'only statements that read or change rows are allowed'
}

/** The statement that `explain` explains, and may execute. */
function explained(tokens: Tokens): Tokens {
  let at = tokens.indexOf('explain') + 1
  // A query may be in parentheses, too.
  if (tokens[at] === '(' && !['(', ...READS].includes(tokens[at + 1] ?? '')) at = tokens.indexOf(')', at) + 1
  while (['analyze', 'analyse', 'verbose'].includes(tokens[at] ?? '')) at += 1
  return tokens.slice(at)
}

/**
 * Whether a query stores its rows in a new table, by an `into` after its `select`: on this connection, the new table could hide another one. After a
 * point or `as`, either word is a name.
 */
function makesTable(tokens: Tokens): boolean {
  const isSelect = [false]
  let isLabel = false
  for (const [at, token] of tokens.entries()) {
    isLabel = tokens[at - 1] === '.' || (tokens[at - 1] === 'as' && !isLabel)
    if (token === '(') isSelect.push(false)
    if (token === ')') isSelect.pop()
    if (token === 'select' && !isLabel) isSelect.splice(-1, 1, true)
    if (token === 'into' && !isLabel && isSelect.at(-1) === true) return true
  }
  return false
}

/** Words by which a query changes or locks rows. */
const WRITING = /\b(?:insert|update|delete|merge|into|share)\b/

/** Whether a query locks the rows that it reads. */
export function isLocking(tokens: Tokens): boolean {
  return /\bfor (?:no key update|update|key share|share)\b/.test(codeOf(tokens))
}

/** Whether a statement is a query, which may also change rows by the functions that it calls. */
export function isQuery(tokens: Tokens): boolean {
  return READS.has(firstOf(tokens))
}

/** The functions that a query calls and that may do more than compute a value from their arguments, with their schemas. */
export function unknownCalls(tokens: Tokens): readonly string[] {
  const names = tokens.flatMap((token, at) => (token === '(' && isName(tokens[at - 1]) ? [pathTo(tokens, at - 1)] : []))
  return [...new Set(names.filter((name) => !HARMLESS.has(name)))]
}

/** A name with its schema. */
function pathTo(tokens: Tokens, end: number): string {
  let start = end
  while (tokens[start - 1] === '.' && isName(tokens[start - 2])) start -= 2
  return tokens.slice(start, end + 1).join('')
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
