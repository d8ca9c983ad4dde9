import { execFile } from 'node:child_process'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Database, type Growth, type Migration, recordedChecksum, writeWhole } from '../../src/internal.js'

/** The migration that the server wrote for saved additions, and that later additions may still change. */
interface Mark {
  readonly name: string
  readonly checksum: string
  /** A text that the database may have applied already. */
  readonly next?: { readonly checksum: string; readonly file: string; readonly text: string }
}

/** @param config the path of the configuration */
function markFile(config: string): string {
  return join(dirname(config), '.snippetctl', 'open-migration.json')
}

async function readMark(config: string): Promise<Mark | undefined> {
  const text = await readFile(markFile(config), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Mark
  } catch {
    // Damaged, or edited by hand.
    return undefined
  }
}

async function writeMark(config: string, mark: Mark): Promise<void> {
  const file = markFile(config)
  await mkdir(dirname(file), { recursive: true })
  await writeWhole(file, JSON.stringify(mark))
}

/** Marks a migration as open, after the server wrote and applied it. */
export function markOpen(config: string, { name, checksum }: Pick<Migration, 'name' | 'checksum'>): Promise<void> {
  return writeMark(config, { name, checksum })
}

/** Closes the open migration, because a database has applied it from its file. */
export async function closeApplied(config: string, applied: readonly Pick<Migration, 'name'>[]): Promise<void> {
  const mark = await readMark(config)
  if (mark && applied.some(({ name }) => name === mark.name)) await rm(markFile(config), { force: true })
}

/** The last migration, if it is open: its file is as the server wrote it, and git can still commit it for the first time. */
export async function findOpen(config: string, files: readonly Migration[]): Promise<Migration | undefined> {
  const [mark, last] = [await readMark(config), files.at(-1)]
  const isMarked = last !== undefined && mark?.name === last.name && mark.checksum === last.checksum
  return isMarked && (await isUntracked(last.file)) ? last : undefined
}

/** Whether a file is in a repository of git that neither tracks nor ignores it. Without git, nobody knows who else has the file. */
async function isUntracked(file: string): Promise<boolean> {
  const args = ['ls-files', '--others', '--exclude-standard', '--', file]
  const { stdout } = await promisify(execFile)('git', args, { cwd: dirname(file) }).catch(() => ({ stdout: '' }))
  return stdout !== ''
}

/** Gives the open migration its new text. If the process ends between the two writes, `finishGrowth` writes the file. */
export async function growOpen(
  config: string,
  old: Migration,
  growth: Growth,
  apply: () => Promise<void>,
): Promise<void> {
  const { name, checksum, file } = growth.grown
  await writeMark(config, { name, checksum: old.checksum, next: { checksum, file, text: growth.text } })
  try {
    await apply()
  } catch (error) {
    await markOpen(config, old)
    throw error
  }
  await writeWhole(file, growth.text)
  await markOpen(config, growth.grown)
}

/** Writes the file of a growth that the database has applied. */
export async function finishGrowth(config: string, database: Database): Promise<void> {
  const mark = await readMark(config)
  if (!mark?.next) return
  const { name, checksum, next } = mark
  const isApplied = (await recordedChecksum(database, name)) === next.checksum
  if (isApplied) await writeWhole(next.file, next.text)
  await markOpen(config, { name, checksum: isApplied ? next.checksum : checksum })
}
