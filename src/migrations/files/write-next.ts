import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createWhole } from '../../foundation/write-whole.js'
import { MigrationError } from './error.js'
import { digitsOf, type MigrationFolder, nextNumber, pathOf, readMigrations } from './files.js'

/**
 * Writes a text as the next file of a directory.
 * @returns its path
 * @throws MigrationError if the name is invalid
 */
export async function writeNext(directory: MigrationFolder, name: string, text: string): Promise<string> {
  if (!/^[a-z0-9_]+$/.test(name)) {
    throw new MigrationError([
      `${JSON.stringify(name)} is not a valid name of a migration: use lower-case letters, digits and _`,
    ])
  }
  const number = nextNumber(await readMigrations(directory))
  const file = join(pathOf(directory), `${digitsOf(number)}_${name}.sql`)
  await mkdir(pathOf(directory), { recursive: true })
  await createWhole(file, text)
  return file
}
