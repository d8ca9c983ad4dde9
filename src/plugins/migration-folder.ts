import { dirname } from 'node:path'
import { MigrationError } from '../migrations/files/error.js'
import type { MigrationFolder } from '../migrations/files/files.js'
import { importCompiled } from './compiled.js'
import { Unloadable } from './unloadable.js'

/** A folder of migrations. TypeScript migrations are compiled like plugins, when they run. */
export function migrationFolder(path: string): MigrationFolder {
  return { path, load: (file) => loadModule(file, dirname(path)) }
}

/** @throws MigrationError with the file and line of each mistake */
async function loadModule(file: string, folder: string): Promise<unknown> {
  try {
    return await importCompiled(file, folder)
  } catch (error) {
    if (!(error instanceof Unloadable)) throw error
    throw new MigrationError(
      error.mistakes.map(({ message }) => message),
      error.mistakes.flatMap(({ help }) => help),
      error,
    )
  }
}
