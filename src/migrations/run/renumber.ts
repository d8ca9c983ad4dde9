import { rename } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import type { Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import {
  firstNumber,
  type Migration,
  type MigrationFolder,
  nameIn,
  numberOf,
  readUnnumbered,
  renumbered,
} from '../files/files.js'
import { compareJournal, JOURNAL, type MigrationStatus } from '../files/journal.js'
import { asOnlyMigrator } from './lock.js'
import { onReplayed } from './scratch.js'

/** A file and its new name. */
export interface Renumbered {
  readonly from: string
  readonly to: string
}

interface RenumberRequest {
  /** The files that get later numbers, by name; if empty, all pending files from the first number that two files have. */
  readonly names: readonly string[]
  /** Whether named files that the database has applied are renamed in its journal as well. */
  readonly inJournal: boolean
  /** The database with the journal; undefined if the database does not exist yet. */
  readonly database: Database | undefined
  /** An empty database to run the files in. */
  readonly scratch: Database
}

/**
 * Gives migration files later numbers, so that no number is used twice. Applied files keep theirs. The files are run in the new order first.
 * @returns the renamed files, in their new order
 * @throws MigrationError if an applied file would get another number, if the choice of files is unclear, or if the files fail in the new order;
 * then nothing is renamed
 */
export async function renumber(folder: MigrationFolder, request: RenumberRequest): Promise<readonly Renumbered[]> {
  const { database, scratch, inJournal } = request
  const files = await readUnnumbered(folder)
  const statuses = database ? await compareJournal(database, files) : pendingAll(files)
  const applied = new Set(statuses.filter(({ state }) => state !== 'pending').map(({ name }) => name))
  const moved = request.names.length > 0 ? named(files, request.names) : choose(files, applied)
  const order = [...files.filter((file) => !moved.includes(file)), ...moved]
  const changes = order.flatMap((file, index) => {
    const to = renumbered(file.name, firstNumber(order) + index)
    return to === file.name ? [] : [{ file, to }]
  })
  rejectApplied(changes, { applied, inJournal, moved })
  rejectTaken(changes, statuses)
  rejectNamesakes(changes, files)
  await onReplayed(scratch, order, async () => undefined).catch((error: unknown) => {
    if (!(error instanceof MigrationError)) throw error
    throw new MigrationError(
      [`in the new order, ${order.map(({ name }) => name).join(', ')}, a migration fails: ${error.errors.join('; ')}`],
      [
        'Name every file of the later branch: snippetctl migrate renumber FILE…',
        'Or, if the order is right and no database has applied the file that fails: correct this file, or delete it and plan again',
      ],
      error,
    )
  })
  const renames = changes.map(({ file, to }) => ({
    from: file.file,
    to: join(dirname(file.file), to + extname(file.file)),
  }))
  if (!database || !inJournal) await renameFiles(renames)
  else await renameInJournal(database, changes, () => renameFiles(renames))
  return renames.map(({ from, to }) => ({ from: basename(from), to: basename(to) }))
}

function pendingAll(files: readonly Migration[]): readonly Pick<MigrationStatus, 'name' | 'state' | 'file'>[] {
  return files.map(({ name, file }) => ({ name, file, state: 'pending' }))
}

/** Finds files by their names, with or without folder and extension. */
function named(files: readonly Migration[], names: readonly string[]): readonly Migration[] {
  const wanted = names.map(nameIn)
  const unknown = wanted.filter((name) => !files.some((file) => file.name === name))
  if (unknown.length > 0) {
    throw new MigrationError(
      unknown.map((name) => `there is no migration ${name}`),
      [`There are: ${files.map(({ name }) => name).join(', ')}`],
    )
  }
  return files.filter(({ name }) => wanted.includes(name))
}

/** The pending files from the first number that two files have. Of files with one number, one must be applied. */
function choose(files: readonly Migration[], applied: ReadonlySet<string>): readonly Migration[] {
  const clashes = files.filter(({ name }) =>
    files.some((other) => other.name !== name && numberOf(other.name) === numberOf(name)),
  )
  const [first] = clashes
  if (!first) throw new MigrationError(['no number is used twice; nothing was renamed'])
  const unclear = clashes.filter(
    ({ name }) => !clashes.some((other) => numberOf(other.name) === numberOf(name) && applied.has(other.name)),
  )
  const [one] = unclear
  if (one) {
    throw new MigrationError(
      [`${unclear.map(({ name }) => name).join(' and ')} have the same number, and this database has applied neither`],
      [
        'Name the file that no other database has applied, such as the one of your branch: ' +
          `snippetctl migrate renumber ${unclear.at(-1)?.name ?? one.name}`,
      ],
    )
  }
  return files.filter(({ name }) => numberOf(name) >= numberOf(first.name) && !applied.has(name))
}

interface Change {
  readonly file: Migration
  /** The new name, without extension. */
  readonly to: string
}

function rejectApplied(
  changes: readonly Change[],
  rest: { readonly applied: ReadonlySet<string>; readonly inJournal: boolean; readonly moved: readonly Migration[] },
): void {
  const { applied, inJournal, moved } = rest
  const rejected = changes.filter(({ file }) => applied.has(file.name) && !(inJournal && moved.includes(file)))
  if (rejected.length === 0) return
  const names = rejected.map(({ file }) => file.name)
  throw new MigrationError(
    names.map((name) => `${name} is applied to this database, so its number cannot change`),
    [
      'Renumber the pending file instead: snippetctl migrate renumber',
      'Or, if no other database has applied it, rename it in the journal of this one as well: ' +
        `snippetctl migrate renumber --journal ${names.join(' ')}`,
    ],
  )
}

/** Numbers that are taken by migrations without a file here. */
function rejectTaken(changes: readonly Change[], statuses: readonly Pick<MigrationStatus, 'name' | 'file'>[]): void {
  const numbers = new Set(changes.map(({ to }) => numberOf(to)))
  const taken = statuses.filter(({ name, file }) => file === undefined && numbers.has(numberOf(name)))
  if (taken.length === 0) return
  throw new MigrationError(
    taken.map(
      ({ name }) => `${name} is applied to this database, and its file is missing here, so its number is taken`,
    ),
    ['Get the version of the project that has the file, and renumber then'],
  )
}

/** A file would overwrite another one whose name differs only in its number. */
function rejectNamesakes(changes: readonly Change[], files: readonly Migration[]): void {
  const clashes = changes.filter(({ to }) => files.some(({ name }) => name === to))
  if (clashes.length === 0) return
  throw new MigrationError(
    clashes.map(({ file, to }) => `${file.name} would become ${to}, which another file is called`),
    ['Rename one of the two first, after its number'],
  )
}

/** From the last to the first, so that an interruption leaves no new number used twice. */
async function renameFiles(renames: readonly Renumbered[]): Promise<void> {
  for (const { from, to } of renames.toReversed()) await rename(from, to)
}

async function renameInJournal(
  database: Database,
  changes: readonly Change[],
  finish: () => Promise<void>,
): Promise<void> {
  await asOnlyMigrator(database, async (session) => {
    for (const { file, to } of changes)
      await session.query({ text: `update ${JOURNAL} set name = $1 where name = $2`, values: [to, file.name] })
    await finish()
  })
}
