import { codeOf, codeOfBlock, isReadable } from './sql-code.js'

/**
 * A call of a function that changes the connection beyond the transaction of a query. Later requests of other callers have the same connection: a
 * setting by which policies of the database tell tenants apart must end with the transaction.
 */
const CALL = /\b(set_config|pg_(?:try_)?advisory_lock(?:_shared)?)[\t-\r ]*\(/g

/** A statement of a block that changes the session, or makes a table that takes the place of another one. An update has `set`, too, but not first. */
const IN_BLOCK =
  /(?:;|\b(?:begin|then|else|loop|execute|format))[\s(]*((?:re)?set|discard|create(?:\s+(?:local|global))?\s+temp(?:orary)?)\b(?!\s+(?:local|constraints)\b)/
/** Its rule sets the setting for the session. */
const SETTINGS = /\bupdate\s+(?:only[\s(]+)?(?:pg_catalog\s*\.\s*)?pg_settings\b/

/** A name that is written with escapes, in code whose names and texts are empty. */
const ESCAPED = /(?<![\w$\u0080-\uffff])u&""/

/** The third argument of `set_config` by its name. */
const LOCAL = /^\s*is_local\s*(?:=>|:=)/

const LOCK = 'use `pg_advisory_xact_lock`, whose lock ends with the transaction'
const SETTING = 'write `true` as its third argument, so that the setting ends with the transaction'
const INSTEAD = 'use `set_config(name, value, true)`'

/**
 * Why a query may not be sent, because it would change the connection; undefined if its text shows no such change. Functions of the database are not read.
 * @param own its code, as `codeOf` returns it
 */
export function sessionChange(text: string, own: string): string | undefined {
  if (!isReadable(text, own)) return reject('send a `do` statement of this form', 'write `do $$ begin … end $$`')
  const block = codeOfBlock(text, own)
  if (ESCAPED.test(`${own} ${block}`)) return reject('write a name with `U&`', 'write its letters')
  const [, word] = IN_BLOCK.exec(block) ?? []
  if (word !== undefined) return reject(`send \`${word}\` in a block`, INSTEAD)
  if (!/set_config|advisory_lock|pg_settings/i.test(text)) return undefined
  // Names of functions may be quoted.
  const unquoted = text.replaceAll(/"([a-z]\w*)"/g, '$1')
  const code = `${codeOf(unquoted)} ${codeOfBlock(unquoted, own)}`
  if (SETTINGS.test(code)) return reject('change `pg_settings`', INSTEAD)
  for (const { 1: name = '', index, 0: call } of code.matchAll(CALL)) {
    const isLock = name !== 'set_config'
    if (isLock || isLasting(code.slice(index + call.length)))
      return reject(`call \`${name}\` for the session`, isLock ? LOCK : SETTING)
  }
  return undefined
}

function reject(change: string, advice: string): string {
  return `a plugin cannot ${change}: the connection is shared with other requests; ${advice}`
}

/** Whether a call of `set_config` may set its value for the whole session; `rest` begins with its arguments. */
function isLasting(rest: string): boolean {
  const given: string[] = ['']
  let depth = 0
  for (const character of rest) {
    if (character === ')' && depth === 0) break
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (character === ',' && depth === 0) given.push('')
    else given.push(`${given.pop() ?? ''}${character}`)
  }
  const last = given.find((argument) => LOCAL.test(argument)) ?? given.at(-1) ?? ''
  return !/^[\s(]*true[\s)]*(?:::\s*bool(?:ean)?[\s)]*)?$/.test(last.replace(LOCAL, ''))
}

/** The code of the statement that `explain` explains, and may execute. */
export function explained(code: string): string {
  return code.replace(
    /^[\s(]*explain\b(?:\s*\((?!\s*(?:select|with|values|\())[^)]*\))?(?:\s*\b(?:analy[sz]e|verbose)\b)*/,
    '',
  )
}

/** Whether a query stores its rows in a new table, which can take the place of another for the connection. */
export function makesTable(code: string): boolean {
  return /\binto\b/.test(code.replaceAll(/\b(?:insert|merge|as)\s+into\b|\.\s*into\b/g, ' '))
}
