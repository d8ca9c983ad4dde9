import { isName, nameOf, type Tokens } from './sql-tokens.js'

const SETTING = 'write `true` as its third argument, so that the setting ends with the transaction'
const INSTEAD = 'use `set_config(name, value, true)`'
const LOCK = 'use `pg_advisory_xact_lock`, whose lock ends with the transaction'
const SEED = 'compute numbers from a seed in JavaScript'
const ADMINISTRATION = 'administer the server on a connection of your own'

/** PostgreSQL's functions whose effect on the connection outlasts the transaction, with advice. */
const LASTING: ReadonlyMap<string, string> = new Map([
  ['pg_advisory_lock', LOCK],
  ['pg_advisory_lock_shared', LOCK],
  ['pg_try_advisory_lock', LOCK],
  ['pg_try_advisory_lock_shared', LOCK],
  ['setseed', SEED],
  ['pg_backup_start', ADMINISTRATION],
  ['pg_start_backup', ADMINISTRATION],
  ['pg_create_logical_replication_slot', ADMINISTRATION],
  ['pg_create_physical_replication_slot', ADMINISTRATION],
  ['pg_copy_logical_replication_slot', ADMINISTRATION],
  ['pg_copy_physical_replication_slot', ADMINISTRATION],
  ['pg_replication_origin_session_setup', ADMINISTRATION],
])

/** PostgreSQL's functions that run SQL from a text; so does `ts_rewrite` with two arguments. */
const RUNNING: ReadonlySet<string> = new Set([
  'query_to_xml',
  'query_to_xmlschema',
  'query_to_xml_and_xmlschema',
  'ts_stat',
])

/**
 * Why a query may not be sent: it would leave a change on the connection after its transaction. Returns undefined if the query shows no such change.
 * Later requests of other callers use the same connection, so a setting by which policies of the database tell tenants apart must end with the
 * transaction. Functions of the database are not read.
 */
export function sessionChange(tokens: Tokens): string | undefined {
  if (tokens.includes('u&"'))
    return 'a plugin cannot write a name with `U&`, which could hide a function: write the letters of the name'
  // Its rule sets the setting for the session.
  if (tokens.some((token, at) => token === 'update' && targetOf(tokens, at + 1) === 'pg_settings'))
    return reject('change `pg_settings`', INSTEAD)
  // PostgreSQL takes `(1).f` for `f(1)` if the value has no such field.
  let isField = false
  for (const [at, token] of tokens.entries()) {
    if (token !== '.') isField = tokens[at - 1] === '.' && (isField || isValue(tokens[at - 2]))
    const isCall = tokens[at + 1] === '(' || isField
    const change = isCall && isName(token) ? lastingCall(nameOf(token), tokens, at + 2) : undefined
    if (change !== undefined) return change
  }
  return undefined
}

/** Whether a token ends a value that is not a name. */
function isValue(token = ''): boolean {
  return /^(?:[)\]]|\$\d+)$/.test(token)
}

function reject(change: string, advice: string): string {
  return `a plugin cannot ${change}: the connection is shared with other requests; ${advice}`
}

/** The table that an `update` names, without its schema. */
function targetOf(tokens: Tokens, start: number): string {
  let at = start
  while (tokens[at] === 'only' || tokens[at] === '(') at += 1
  while (tokens[at + 1] === '.') at += 2
  return nameOf(tokens[at])
}

/** Why a query may not call a function; its arguments begin at `start`. */
function lastingCall(name: string, tokens: Tokens, start: number): string | undefined {
  const advice = LASTING.get(name) ?? (name === 'set_config' && isLasting(tokens, start) ? SETTING : undefined)
  if (advice !== undefined) return reject(`call \`${name}\` for the session`, advice)
  if (!RUNNING.has(name) && !(name === 'ts_rewrite' && argumentsOf(tokens, start).length === 2)) return undefined
  return `a plugin cannot call \`${name}\`: it runs a text as SQL, which is not checked; call it in a function that a migration creates`
}

/** Whether a call of `set_config` may set its value for the whole session. */
function isLasting(tokens: Tokens, start: number): boolean {
  const given = argumentsOf(tokens, start)
  const isLocal =
    given.find(([name, sign]) => name === 'is_local' && (sign === '=' || sign === ':'))?.slice(3) ?? given.at(-1) ?? []
  return !/^\(*true\)*(?:::bool(?:ean)?\)*)?$/.test(isLocal.join(''))
}

/** The tokens of each argument of a call. */
function argumentsOf(tokens: Tokens, start: number): readonly Tokens[] {
  const given: string[][] = [[]]
  let depth = 0
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] ?? ''
    if (token === ')' && depth === 0) break
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === ',' && depth === 0) given.push([])
    else given.at(-1)?.push(token)
  }
  return given
}
