import { type FileStatement, isSpace, NAME, tokensOf, unquoted } from './statements.js'

const CREATE = new RegExp(
  String.raw`^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(${NAME})\s+on\s+(?:only\s+)?((${NAME})\s*\.)?`,
  'isu',
)
const DROP = new RegExp(
  String.raw`^drop\s+index\s+concurrently\s+(?:if\s+exists\s+)?((?:${NAME}\s*\.\s*)?${NAME})(?:\s+(?:restrict|cascade))?\s*$`,
  'isu',
)
const WORD = /^((?:create\s+(?:unique\s+)?|drop\s+)index\s+)concurrently\b/is

/** Returns a statement with its effect outside a transaction, if it has one. */
export function readConcurrent(statement: FileStatement): FileStatement {
  const { text: sql } = statement
  if (!WORD.test(sql)) return statement
  // Replaced by blanks, so that positions in errors stay correct.
  const text = sql.replace(WORD, (_all, before: string) => before + ' '.repeat('concurrently'.length))
  const [head = '', made, qualifier = '', schema] = CREATE.exec(sql) ?? []
  if (made !== undefined) {
    const name = schema === undefined ? made : `${schema}.${made}`
    const bare = text.slice(0, head.length - qualifier.length) + text.slice(head.length)
    return { ...statement, text, concurrent: { sql, name, creates: { name: made, text: bare } } }
  }
  const [, dropped] = DROP.exec(sql) ?? []
  return dropped === undefined ? statement : { ...statement, text, concurrent: { sql, name: dropped } }
}

/** The line before `-- up` of a file in which each statement is its own transaction. */
export const NO_TRANSACTION = '-- transaction: none'

const TABLE = String.raw`(?:${NAME}\s*\.\s*)?${NAME}`
const ADD = new RegExp(
  String.raw`^alter\s+table\s+(${TABLE})\s+add\s+constraint\s+(${NAME})\s+(?:.*\snot\s+valid|(?:unique|primary\s+key)\s+using\s+index\s+${NAME})$`,
  'isu',
)
const SAME_AGAIN = new RegExp(
  String.raw`^alter\s+table\s+${TABLE}\s+(?:validate\s+constraint\s+${NAME}|drop\s+constraint\s+if\s+exists\s+${NAME}|alter\s+(?:column\s+)?${NAME}\s+(?:set|drop)\s+not\s+null)$`,
  'isu',
)

const FILL = new RegExp(String.raw`^update\s+(${TABLE})\s+set\s+(${NAME})\s*=`, 'isu')

/** The table of a statement that sets one column where it is null, so that a row that has been filled is not changed again. */
function filledTable(text: string): string | undefined {
  const [head = '', table, column = ''] = FILL.exec(text) ?? []
  if (table === undefined) return undefined
  let depth = 0
  const outer: string[] = []
  for (const { token } of tokensOf(text.slice(head.length))) {
    depth += '(['.includes(token) ? 1 : ')]'.includes(token) ? -1 : 0
    if (depth === 0 && !isSpace(token)) outer.push(token)
  }
  const [where, name = '', ...others] = outer.slice(-4)
  const isFill = [where, ...others].join(' ').toLowerCase() === 'where is null' && unquoted(name) === unquoted(column)
  return isFill && !outer.includes(',') ? table : undefined
}

/** Adds to a statement of a file without a transaction how it runs again after an interruption, if it can. */
export function readRepeatable(statement: FileStatement): FileStatement {
  if (statement.concurrent !== undefined) return statement
  const [, table, constraint] = ADD.exec(statement.text) ?? []
  if (table !== undefined && constraint !== undefined)
    return { ...statement, repeatable: { adds: { table, constraint } } }
  const filled = filledTable(statement.text)
  if (filled !== undefined) return { ...statement, repeatable: { fills: filled } }
  return SAME_AGAIN.test(statement.text) ? { ...statement, repeatable: {} } : statement
}

/** The errors of a part of a file without a transaction: statements that may not run twice. */
export function repeatErrors(file: string, part: readonly FileStatement[] = []): readonly string[] {
  return part
    .filter(({ concurrent, repeatable }) => concurrent === undefined && repeatable === undefined)
    .map(
      ({ line }) =>
        `${file}:${line}: with \`${NO_TRANSACTION}\`, a statement must be able to run again after an interruption: create or drop an index ` +
        'concurrently, add a constraint `not valid` or `using index`, validate a constraint, drop one `if exists`, set or drop `not null`, or fill one column where it is null',
    )
}

/** Whether a part of a file runs outside a transaction. */
export function isOutside(part: readonly FileStatement[] | undefined): boolean {
  return part?.some(({ concurrent, repeatable }) => concurrent !== undefined || repeatable !== undefined) === true
}

/** The errors of a part that mixes statements that cannot run in a transaction with statements that need one. */
export function mixtureErrors(file: string, part: readonly FileStatement[] = []): readonly string[] {
  const nameless = part
    .filter(({ text, concurrent }) => WORD.test(text) && concurrent === undefined)
    .map(
      ({ line }) =>
        `${file}:${line}: \`concurrently\` needs the name of one index, by which it is found again after an interruption`,
    )
  if (!part.some(({ concurrent }) => concurrent !== undefined)) return nameless
  const others = part.filter(({ text, concurrent }) => concurrent === undefined && !WORD.test(text))
  return [
    ...nameless,
    ...others.map(
      ({ line }) =>
        `${file}:${line}: this statement cannot be in a file with \`concurrently\`, which runs outside of transactions: write a separate migration for the indexes`,
    ),
  ]
}
