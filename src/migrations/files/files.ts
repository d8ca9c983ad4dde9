import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { mixtureErrors, NO_TRANSACTION, readConcurrent, readRepeatable, repeatErrors } from './concurrent.js'
import { MigrationError } from './error.js'
import { type Lists, readLists } from '../plan/compare/ownership.js'
import { type FileStatement, readLineComments, splitStatements } from './statements.js'

/** A migration file. */
export interface Migration extends Lists {
  /** The file's name without its extension: `0001_create_books`. */
  readonly name: string
  /** Its path, for messages. */
  readonly file: string
  /** The checksum of the text, independent of line ends. */
  readonly checksum: string
  readonly up: readonly FileStatement[]
  /** Undefined if the file cannot be reverted: its down part is missing or empty. */
  readonly down: readonly FileStatement[] | undefined
  /** The PostgreSQL extensions that it creates. */
  readonly extensions: readonly string[]
  /** The existing objects that the file adopted, by their names in the heading. Reverting it drops them only with consent. */
  readonly adopted: readonly string[]
  /** The existing objects that an empty database cannot create, by their names in the heading. They are never created, compared or dropped. */
  readonly known: readonly string[]
  /** The migrations that it replaces; empty for most files. */
  readonly replaces: readonly Replaced[]
  /** Imports the module of a TypeScript migration, which has no statements. */
  readonly load?: (() => Promise<unknown>) | undefined
}

/** A migration that a later file replaces. */
export interface Replaced {
  readonly name: string
  readonly checksum: string
  /** The migration that replaced this one in an earlier squash, and is itself replaced now. */
  readonly by: string | undefined
}

/** A folder of migrations, with the importer for its TypeScript files; without an importer it has only SQL files. */
export type MigrationFolder = string | { readonly path: string; readonly load: (file: string) => Promise<unknown> }

/** The path of a folder of migrations. */
export function pathOf(folder: MigrationFolder): string {
  return typeof folder === 'string' ? folder : folder.path
}

const EXTENSION = /\.(?:sql|ts)$/

const NAME = /^(\d{4})_[a-z0-9_]+$/

/** Statements that control transactions, which migrations may not. */
export const TRANSACTION =
  /^(?:begin|commit|end|rollback|abort|savepoint|release|start\s+transaction|prepare\s+transaction)\b/i

/**
 * Reads the migrations of a folder, in order. A missing folder has none.
 * @throws MigrationError with all errors: invalid names, gaps in the numbers, files without an up part. If there are files that another one replaces,
 * only these are reported
 */
export function readMigrations(folder: MigrationFolder): Promise<readonly Migration[]> {
  return readNamed(folder, true)
}

/**
 * Reads the migrations of a folder by name, whether or not their numbers follow each other.
 * @throws MigrationError with all errors: invalid names, files without an up part
 */
export function readUnnumbered(folder: MigrationFolder): Promise<readonly Migration[]> {
  return readNamed(folder, false)
}

async function readNamed(folder: MigrationFolder, isNumbered: boolean): Promise<readonly Migration[]> {
  const names = await fileNames(folder)
  const misnamed = nameErrors(names)
  const { migrations, errors } = await parseFiles(folder, names)
  const leftovers = leftoverErrors(migrations)
  if (leftovers.length > 0) throw new MigrationError(leftovers)
  // A first file with errors may be one that replaces others, so its number cannot be checked.
  const isFirstRead = migrations[0]?.name === stemOf(names[0] ?? '')
  const misnumbered =
    isNumbered && isFirstRead && misnamed.length === 0 ? numberErrors(names, firstNumber(migrations)) : []
  const all = [...misnamed, ...misnumbered, ...errors]
  if (all.length > 0) throw new MigrationError(all, isNumbered && hasClash(names) ? [RENUMBER] : [])
  return migrations
}

const RENUMBER = 'Give the file that no database has applied the next number: snippetctl migrate renumber'

/** An interrupted `migrate squash` leaves files that another one replaces. */
function leftoverErrors(migrations: readonly Migration[]): readonly string[] {
  return migrations.flatMap(({ name, replaces }) => {
    const left = migrations.filter((other) => replaces.some((each) => each.name === other.name))
    return left.map(({ file }) => `${file} is replaced by ${name}: delete it`)
  })
}

/** The number of the first file: 1, unless it replaces earlier ones. */
export function firstNumber([first]: readonly Migration[]): number {
  return first && first.replaces.length > 0 ? Number(numberOf(first.name)) : 1
}

/** The number of the next file. */
export function nextNumber(files: readonly Migration[]): number {
  return firstNumber(files) + files.length
}

/** The number of a migration, from its name. */
export function numberOf(name: string): string {
  return name.slice(0, NUMBER_DIGITS)
}

/** The name of a migration with another number. */
export function renumbered(name: string, number: number): string {
  return digitsOf(number) + name.slice(NUMBER_DIGITS)
}

/** The digits at the start of a migration's name. */
export function digitsOf(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0')
}

const NUMBER_DIGITS = 4

function hasClash(names: readonly string[]): boolean {
  return new Set(names.map(numberOf)).size < names.length
}

async function fileNames(folder: MigrationFolder): Promise<readonly string[]> {
  return (await list(pathOf(folder))).filter((name) => EXTENSION.test(name) && !name.startsWith('.')).sort()
}

async function parseFiles(folder: MigrationFolder, names: readonly string[]) {
  const directory = pathOf(folder)
  const errors: string[] = []
  const migrations: Migration[] = []
  for (const name of names) {
    const file = join(directory, name)
    const bytes = await readFile(file)
    const read = file.endsWith('.ts') ? readModule(folder, file, bytes) : parseMigration(stemOf(name), file, bytes)
    if ('errors' in read) errors.push(...read.errors)
    else migrations.push(read)
  }
  return { migrations, errors }
}

/** A TypeScript migration. It is compiled and imported only when it runs. */
function readModule(folder: MigrationFolder, file: string, bytes: Uint8Array) {
  if (typeof folder === 'string') return { errors: [`${file} is TypeScript, and only SQL can be read here`] }
  const text = decode(bytes)
  if (text === undefined) return { errors: [`${file} is not UTF-8 text`] }
  const statements = {
    up: [],
    down: [],
    owns: undefined,
    takenOver: [],
    adopted: [],
    known: [],
    replaces: [],
    extensions: extensionsIn(text),
  }
  return { name: stemOf(basename(file)), file, checksum: hashOf(text), ...statements, load: () => folder.load(file) }
}

/** Parses a migration file, or returns its errors. */
export function parseMigration(
  name: string,
  file: string,
  bytes: Uint8Array,
): Migration | { readonly errors: readonly string[] } {
  const text = decode(bytes)
  if (text === undefined) return { errors: [`${file} is not UTF-8 text`] }
  const comments = readLineComments(text)
  const marks = comments.flatMap(({ text: comment, line }) =>
    /^-- (?:up|down)\s*$/.test(comment) ? [{ part: comment.trim().slice(3), line }] : [],
  )
  const order = marks.map((mark) => mark.part).join(' ')
  if (order !== 'up' && order !== 'up down') {
    return {
      errors: [
        `${file} needs one line \`-- up\`, and after it at most one line \`-- down\`; it has: ${order || 'neither'}`,
      ],
    }
  }
  const lines = text.split('\n')
  const [{ line: start } = { line: 1 }] = marks
  const heading = comments.filter(({ line }) => line < start).map((comment) => comment.text)
  const isAlone = heading.some((line) => line.trimEnd() === NO_TRANSACTION)
  const [up, down] = marks.map(({ line }, position) => {
    const end = marks[position + 1]?.line ?? lines.length + 1
    const part = splitStatements(lines.slice(line, end - 1).join('\n'), line + 1).map(readConcurrent)
    return isAlone ? part.map(readRepeatable) : part
  })
  const before = splitStatements(lines.slice(0, start - 1).join('\n'))
  const errors = [
    ...before.map(({ line }) => `${file}:${line}: this statement comes before the line \`-- up\``),
    ...[...(up ?? []), ...(down ?? [])]
      .filter((statement) => TRANSACTION.test(statement.text))
      .map(
        ({ text, line }) =>
          `${file}:${line}: \`${text}\` is not allowed here: the migrator begins and ends transactions`,
      ),
    ...[up, down].flatMap((part) => (isAlone ? repeatErrors : mixtureErrors)(file, part)),
  ]
  if (errors.length > 0) return { errors }
  const [adopted, known] = [namedIn(heading, 'adopted'), namedIn(heading, 'known')]
  // A file that only lists known objects has nothing to revert.
  const reverts = down !== undefined && (down.length > 0 || known.length > 0)
  const common = {
    ...readLists(comments.map((comment) => comment.text)),
    adopted,
    known,
    replaces: replacedIn(heading),
    extensions: extensionsIn(text),
  }
  return { name, file, checksum: hashOf(text), up: up ?? [], down: reverts ? down : undefined, ...common }
}

const EXTENSION_MADE = /\bcreate\s+extension\s+(?:if\s+not\s+exists\s+)?(?:"([^"]+)"|(\w+))/gi

/** Searches the whole text: loading an extension that is not needed does no harm. */
function extensionsIn(text: string): readonly string[] {
  return [...text.matchAll(EXTENSION_MADE)].map(([, quoted, name = '']) => quoted ?? name.toLowerCase())
}

/** The objects in lines such as `-- known: books.title_search`. */
function namedIn(heading: readonly string[], word: 'adopted' | 'known'): readonly string[] {
  const start = `-- ${word}: `
  return heading.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length).trim())
}

/** The comment in the heading of a file for a migration that it replaces. */
export function formatReplaced({ name, checksum, by }: Replaced): string {
  return `-- replaces: ${name} ${checksum}${by === undefined ? '' : ` by ${by}`}\n`
}

const REPLACED = /^-- replaces: (\S+) ([0-9a-f]{64})(?: by (\S+))?\s*$/

function replacedIn(heading: readonly string[]): readonly Replaced[] {
  return heading.flatMap((line) => {
    const [, name, checksum, by] = REPLACED.exec(line) ?? []
    return name === undefined || checksum === undefined ? [] : [{ name, checksum, by }]
  })
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The name of a migration, from its name or path with or without extension. */
export function nameIn(path: string): string {
  return stemOf(basename(path))
}

function stemOf(name: string): string {
  return name.replace(EXTENSION, '')
}

/** Normalises line ends as git does, so that a checkout on another system is the same migration. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\r\n', '\n')
  } catch {
    return undefined
  }
}

function nameErrors(names: readonly string[]): readonly string[] {
  return names
    .filter((name) => !NAME.test(stemOf(name)))
    .map(
      (name) =>
        `${name} is not a valid name of a migration: use four digits and lower case, as in 0001_create_books.sql`,
    )
}

function numberErrors(names: readonly string[], start: number): readonly string[] {
  return names.flatMap((name, index) => {
    const expected = digitsOf(start + index)
    const number = numberOf(name)
    if (number === expected) return []
    const previous = names[index - 1]
    if (previous !== undefined && numberOf(previous) === number)
      return [`${previous} and ${name} have the same number: the later one needs the next number`]
    // A gap shifts all later numbers, so it is reported once.
    if (previous !== undefined && Number(number) === Number(numberOf(previous)) + 1) return []
    return [`${name} comes where number ${expected} is missing: numbers start at ${digitsOf(start)} and have no gaps`]
  })
}

async function list(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
