import { getSystemErrorMap } from 'node:util'
import type { Command } from 'commander'
import {
  DatabaseRejected,
  identifier,
  isConnectionLost,
  lacksPrivilege,
  MigrationError,
  Problem,
} from '../src/internal.js'
import { type CliContext, shownPath } from './context.js'
import { describeProblem, type ExitCode, Failure } from './failure.js'
import { lostConnectionHelp } from './lost-connection.js'

/** An error as a command prints it. */
interface Explained {
  readonly messages: readonly string[]
  readonly help: readonly string[]
  readonly code: ExitCode
  /** The error whose stack helps; undefined if the messages say it all. */
  readonly stack: unknown
}

/** Explains an error to the user of a command. */
export function explainError(error: unknown, context: CliContext, command?: Command): Explained {
  const known = EXPECTED.map((explain) => explain(error, context, command)).find((explained) => explained !== undefined)
  const stack = known === undefined || isFileError(error) ? error : error instanceof Error && error.cause
  return { ...(known ?? unexpected(context, error)), stack }
}

type Known = Omit<Explained, 'stack'>
type Explain = (error: unknown, context: CliContext, command: Command | undefined) => Known | undefined

/** Expected errors, each with the way it is printed. */
const EXPECTED: readonly Explain[] = [
  (error) => (error instanceof Failure ? { messages: [error.message], help: error.help, code: error.code } : undefined),
  (error) => (error instanceof DatabaseRejected ? { messages: [error.message], help: error.help, code: 2 } : undefined),
  (error) => (error instanceof MigrationError ? { messages: error.errors, help: error.help, code: 2 } : undefined),
  (error, _context, command) =>
    isConnectionLost(error) ? { messages: [LOST], help: lostConnectionHelp(command), code: 2 } : undefined,
  (error, _context, command) =>
    error instanceof Problem && error.type === 'outcome_unknown'
      ? { messages: [describeProblem(error)], help: lostConnectionHelp(command), code: 2 }
      : undefined,
  (error) =>
    error instanceof Problem && DATABASE_FAILURES.has(error.type)
      ? { messages: [describeProblem(error)], help: ['see the state of the database: snippetctl doctor'], code: 2 }
      : undefined,
  (error) =>
    error instanceof Error && lacksPrivilege(error)
      ? { messages: [oneLine(error)], help: [privilegeHelp(error)], code: 2 }
      : undefined,
  (error) =>
    error instanceof Error && 'code' in error && error.code === NO_SCHEMA
      ? { messages: [oneLine(error)], help: [SCHEMA_HELP], code: 2 }
      : undefined,
  (error, context) => (isFileError(error) ? explainFileError(context, error) : undefined),
]

/** The SQLSTATE of a statement whose schema does not exist, or that finds none in the search path. */
const NO_SCHEMA = '3F000'

const SCHEMA_HELP =
  'the user in the URL needs a schema in its search_path that exists, and where it may create objects: grant usage, create on schema NAME to USER'

const LOST = 'the connection to the database was lost'

const DATABASE_FAILURES: ReadonlySet<string> = new Set(['unavailable', 'timeout'])

/** The grant for a command that may not create schemas, or that may not use a schema or create objects in it. */
function privilegeHelp({ message }: Error): string {
  const [, kind, name] = /^permission denied for (database|schema) (.*)$/.exec(message) ?? []
  if (kind === undefined || name === undefined)
    return 'the user in the URL needs this privilege, which the owner of the object or a superuser grants'
  const grant = (privilege: string) => `grant ${privilege} on ${kind} ${identifier(name)} to USER`
  // PostgreSQL does not say which privilege for a schema is missing.
  const grants = kind === 'schema' ? `${grant('usage')}; to create objects there: ${grant('create')}` : grant('create')
  return `as its owner, for the user in the URL: ${grants}`
}

/** An error of the file system about one file or folder. */
interface FileError extends NodeJS.ErrnoException {
  readonly path: string
  readonly syscall: string
}

function isFileError(error: unknown): error is FileError {
  const { path, syscall, errno } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  return path !== undefined && syscall !== undefined && errno !== undefined && !syscall.startsWith('spawn')
}

function explainFileError(context: CliContext, { path, syscall, code = '', errno = 0 }: FileError): Known {
  const [, reason] = getSystemErrorMap().get(errno) ?? [code, code]
  const help = FILE_HELP.get(code) ?? (context.debug ? [] : ['see where it comes from with --debug'])
  return { messages: [`${shownPath(context, path)}: ${reason} (${code} from ${syscall})`], help, code: 2 }
}

const NO_PERMISSION = ['the user that runs this command needs permission to read and write this path']
const FULL = ['free some space on the disk, and run it again']
const FILE_HELP: ReadonlyMap<string, readonly string[]> = new Map([
  ['EACCES', NO_PERMISSION],
  ['EPERM', NO_PERMISSION],
  ['ENOENT', ['check the path: each of its folders must exist']],
  ['EISDIR', ['this is a folder: name a file']],
  [
    'EEXIST',
    ['rename or remove the file with this name; if another process has just created it, run the command again'],
  ],
  ['ENOTDIR', ['rename or remove the file with this name, or correct the path: it must be a folder']],
  ['ENAMETOOLONG', ['choose a shorter name']],
  ['EROFS', ['the file system is read-only: mount it for writing, or choose another folder']],
  ['ENOSPC', FULL],
  ['EDQUOT', FULL],
  ['EMFILE', ['raise the number of files that a process may have open: ulimit -n']],
])

function unexpected({ debug }: CliContext, error: unknown): Known {
  const help = debug ? [] : ['run it again with --debug for the stack, and report it']
  return { messages: [`unexpected: ${oneLine(error)}`], help, code: 2 }
}

function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, ' ')
}
