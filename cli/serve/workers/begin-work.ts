import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { pluginFiles } from '../../../src/internal.js'
import type { Application } from '../../context.js'
import { Finished } from '../../failure.js'
import type { Log } from '../log/log.js'
import type { WorkerOptions } from './parent.js'

/**
 * Returns the digest of the files that a worker has loaded.
 * @throws Finished 2 if the other workers serve other files; the log says so
 */
export async function requireServedFiles(
  application: Application,
  { files }: WorkerOptions,
  log: Log,
): Promise<string> {
  const loaded = await digestFiles(application)
  if (files === undefined || files === loaded) return loaded
  log.error({
    event: 'files_changed',
    msg: 'this worker cannot start: the configuration, its plugins or its keys have changed since the other workers started; SIGUSR2 to the parent process replaces them all',
  })
  throw new Finished(2)
}

/** The files are the configuration, its plugins with the files that they import, and the file of its keys. */
async function digestFiles({ source, spec }: Application): Promise<string> {
  const keys = spec.auth?.jwt?.keys
  const plugins = [...(await pluginFiles(spec))].sort(([one], [other]) => (one < other ? -1 : 1))
  const parts = [source, plugins, keys && (await readFile(keys, 'utf8'))]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
