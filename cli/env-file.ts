import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { Failure } from './failure.js'
import type { LogEntry } from './serve/log/log-entry.js'

/** The result of reading the file of variables. Values are never shown: some are passwords. */
export interface EnvFile {
  /** The path as the user wrote it. */
  readonly path: string
  /** The variables that the file set, without the variables that the environment had already. */
  readonly names: readonly string[]
  /** The reason why the file was not read. */
  readonly failure?: Failure
}

const USUAL = '.env'
const REASONS: Readonly<Record<string, string>> = { ENOENT: 'there is no such file', EISDIR: 'it is a directory' }

/**
 * Adds the variables of `.env` in the directory `cwd` to an environment. Variables that the environment has already keep their values. In
 * production no file is read: whatever starts the process sets the variables.
 */
export function readEnvFile(cwd: string, env: NodeJS.ProcessEnv): EnvFile | undefined {
  const path = env['SNIPPETCTL_ENV_FILE'] ?? USUAL
  if (path === '' || env['NODE_ENV'] === 'production') return undefined
  try {
    const text = readText(resolve(cwd, path), path)
    if (text === undefined) return undefined
    const names: string[] = []
    for (const [name, value] of parse(text, path)) {
      if (Object.hasOwn(env, name)) continue
      env[name] = value
      names.push(name)
    }
    return { path, names }
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure
    return { path, names: [], failure }
  }
}

function readText(file: string, path: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
      .replace(/^\uFEFF/, '')
      .replaceAll(/\r\n?/g, '\n')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    // Python projects may have a virtual environment in a directory called `.env`.
    if ((code === 'ENOENT' || code === 'EISDIR') && path === USUAL) return undefined
    const reason = REASONS[code ?? ''] ?? String(code)
    throw new Failure(2, `cannot read \`${path}\`: ${reason}`, ['SNIPPETCTL_ENV_FILE= reads no file'], cause)
  }
}

/** A blank line, a comment, or a variable with its value. A value in quotes may span several lines. Blanks are only spaces and tabs. */
const ENTRY =
  /[ \t]*(?:#[^\n]*|(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*((?:"[^"]*"|'[^']*'|`[^`]*`)[ \t]*(?:#[^\n]*)?|[^ \t\n"'`][^\n]*)?)?(?:\n|$)/y

/** Parses the text as Node does, but with any spaces and tabs around names and values, and reports lines that Node would ignore. */
function parse(text: string, path: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>()
  ENTRY.lastIndex = 0
  while (ENTRY.lastIndex < text.length) {
    const start = ENTRY.lastIndex
    const [, name, value = ''] = ENTRY.exec(text) ?? []
    const line = text.slice(0, start).split('\n').length
    if (ENTRY.lastIndex === 0) throw malformed(text.slice(start), `${path}:${line}`)
    if (name === undefined) continue
    const parsed = parseEnv(`x=${value}`)['x'] ?? ''
    variables.set(name, /^["'`]/.test(value) ? parsed : withoutBlanksAtEnd(parsed))
    if (name === 'NODE_ENV' && variables.get(name) === 'production')
      throw new Failure(2, `${path}:${line}: NODE_ENV is production, and in production no file of variables is read`, [
        'set NODE_ENV and the other variables in the environment of the process',
      ])
  }
  return variables
}

/** Other spaces, such as the no-break space, belong to the value. */
function withoutBlanksAtEnd(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ' || text[end - 1] === '\t') end -= 1
  return text.slice(0, end)
}

function malformed(rest: string, where: string): Failure {
  const isNamed = /^[ \t]*(?:export[ \t]+)?[A-Za-z_]\w*[ \t]*=/.test(rest)
  const what = isNamed ? 'the value has a quote that is not closed, or text after the closing quote' : 'not NAME=value'
  return new Failure(2, `${where}: ${what}`, [
    'a line is NAME=value, NAME="a value with # or spaces", # a comment, or blank; names have letters, digits and _',
  ])
}

/** Logs which variables the file set. */
export function sayEnvFile(file: EnvFile | undefined, log: { info(entry: LogEntry): void }): void {
  if (file === undefined) return
  const { path, names } = file
  log.info({ event: 'env_file', file: path, variables: names, msg: describeEnvFile(file) })
}

/** Describes the result in one line. */
export function describeEnvFile({ path, names }: EnvFile): string {
  return names.length === 0
    ? `${path} was read; it sets nothing that is not set already`
    : `${path} sets ${names.join(', ')}`
}
