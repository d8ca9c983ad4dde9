import type { Connection, ResultStore } from '../../db/database.js'
import type { Migration } from '../files/files.js'

/**
 * Returns a result that was computed earlier from the same inputs under the same circumstances, or computes and keeps it.
 * @param inputs everything that determines the result except the database; undefined if something else does too
 * @param isKept whether to keep a result; by default, all are kept
 */
export type Recall = <Result>(
  inputs: unknown,
  compute: () => Promise<Result>,
  isKept?: (result: Result) => boolean,
) => Promise<Result>

/**
 * Everything of a server, a database and a session that can affect how it runs and prints definitions. The search path is always set. The settings of
 * an extension or a language are known only after a session has used it.
 */
const CIRCUMSTANCES = `
  select jsonb_build_array(
    version(), current_user, session_user,
    (select jsonb_build_array(encoding, datcollate, datctype, to_jsonb(d) -> 'datlocprovider', to_jsonb(d) -> 'datcollversion')
      from pg_database d where datname = current_database()),
    (select jsonb_object_agg(name, setting) from pg_settings
      where category <> 'File Locations' and name not in ('application_name', 'search_path', 'seed', 'port')
        and (name not like '%.%' or source <> 'default')),
    (select md5(string_agg(format('%s %s', name, version), ',' order by name, version)) from pg_available_extension_versions),
    (select md5(string_agg(format('%s %s %s', collnamespace, collname, collencoding), ',' order by collnamespace, collname, collencoding)) from pg_collation)
  )::text`

/** @param session a session of a scratch database, before anything is created there */
export async function openRecall(session: Connection, results: ResultStore | undefined): Promise<Recall> {
  if (results === undefined) return (_inputs, compute) => compute()
  const { rows } = await session.query({ text: CIRCUMSTANCES, values: [] })
  return async <Result>(inputs: unknown, compute: () => Promise<Result>, isKept = (_result: Result) => true) => {
    if (inputs === undefined) return compute()
    const key = JSON.stringify([rows[0]?.[0], inputs])
    const kept = await results.read(key)
    if (kept !== undefined) return kept as Result
    const result = await compute()
    if (isKept(result)) await results.write(key, result)
    return result
  }
}

/** Everything that determines the schema that files create; undefined if they may make another one each time. */
export function inputsOfFiles(files: readonly Migration[]): unknown {
  if (files.some(({ up, load }) => load !== undefined || !up.every(({ text }) => isRepeatable(text)))) return undefined
  return [
    'files',
    ...files.map(({ up, owns, takenOver, extensions }) => [
      up.map(({ text }) => text),
      owns !== undefined,
      takenOver,
      extensions,
    ]),
  ]
}

const OBJECT =
  '(?:table|(?:unique\\s+)?index|type|domain|(?:materialized\\s+)?view|sequence|schema|collation|extension)'

/** Statements that change the schema in the same way each time, if no value in them depends on the time. */
const PLAIN = new RegExp(
  `^(?:(?:create(?:\\s+or\\s+replace)?|alter|drop)\\s+${OBJECT}|comment\\s+on|truncate|set)\\b`,
  'i',
)

/** Statements that read or change rows. A function that they call could create something, so they may call none. */
const ROWS = /^(?:insert\s+into|update|delete\s+from)\b/i
const FROM_QUERY = /^create\s+(?:materialized\b|.*\bas\s+(?:select|with|table|values|execute)\b)/is

/** Words that stand before a parenthesis and call nothing. */
const WORDS = new Set([
  'values',
  'in',
  'and',
  'or',
  'not',
  'where',
  'exists',
  'any',
  'all',
  'set',
  'select',
  'from',
  'as',
])

const TEXT = /'(?:[^']|'')*'/g
const DEPENDS_ON_TIME = /'\s*(?:now|today|tomorrow|yesterday)\b/i

function callsNothing(text: string): boolean {
  const code = text.replaceAll(TEXT, '').replace(/^insert\s+into\s+\S+\s*\(/i, '')
  return [...code.matchAll(/([\w$"]+)\s*\(/g)].every(([, word = '']) => WORDS.has(word.toLowerCase()))
}

function isRepeatable(text: string): boolean {
  if (DEPENDS_ON_TIME.test(text)) return false
  return ROWS.test(text) || FROM_QUERY.test(text) ? callsNothing(text) : PLAIN.test(text)
}
