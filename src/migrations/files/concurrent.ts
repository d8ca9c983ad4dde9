import { type FileStatement, NAME } from './statements.js'

const CREATE = new RegExp(
  String.raw`^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(${NAME})\s+on\s+(?:only\s+)?(?:(${NAME})\s*\.)?`,
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
  const [, made, schema] = CREATE.exec(sql) ?? []
  if (made !== undefined) {
    const name = schema === undefined ? made : `${schema}.${made}`
    return { ...statement, text, concurrent: { sql, name, makes: true } }
  }
  const [, dropped] = DROP.exec(sql) ?? []
  return dropped === undefined ? statement : { ...statement, text, concurrent: { sql, name: dropped, makes: false } }
}

/** Whether a part of a file runs outside a transaction. */
export function isOutside(part: readonly FileStatement[] | undefined): boolean {
  return part?.some(({ concurrent }) => concurrent !== undefined) === true
}

/** The errors of a part that mixes statements that cannot run in a transaction with statements that need one. */
export function mixtureErrors(file: string, part: readonly FileStatement[] = []): readonly string[] {
  const nameless = part
    .filter(({ text, concurrent }) => WORD.test(text) && concurrent === undefined)
    .map(
      ({ line }) =>
        `${file}:${line}: \`concurrently\` needs the name of one index, by which it is found again after an interruption`,
    )
  if (!isOutside(part)) return nameless
  const others = part.filter(({ text, concurrent }) => concurrent === undefined && !WORD.test(text))
  return [
    ...nameless,
    ...others.map(
      ({ line }) =>
        `${file}:${line}: this statement cannot be in a file with \`concurrently\`, which runs outside of transactions: write a separate migration for the indexes`,
    ),
  ]
}
