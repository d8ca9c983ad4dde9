import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MigrationError } from '../migrations/error.js'
import type { MigrationFolder } from '../migrations/files.js'
import { compiledPlugin } from './compiled.js'
import { Unloadable } from './unloadable.js'

/** A folder of migrations whose TypeScript is compiled as that of plugins is, when it is run. */
export function migrationFolder(path: string): MigrationFolder {
  return { path, load: (file) => loadModule(file, dirname(path)) }
}

/** @throws MigrationError with the file and line of each mistake */
async function loadModule(file: string, folder: string): Promise<unknown> {
  try {
    const compiled = await compiledPlugin(file, folder)
    // From here on stacks speak of the file's own lines.
    process.setSourceMapsEnabled(true)
    return await import(pathToFileURL(compiled).href)
  } catch (error) {
    if (!(error instanceof Unloadable)) throw error
    throw new MigrationError(
      error.mistakes.map(({ message }) => message),
      error.mistakes.flatMap(({ help }) => help),
      error,
    )
  }
}
