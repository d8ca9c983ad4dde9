import { createHash } from 'node:crypto'
import { fileKeysOf } from '../../../src/internal.js'
import type { Application } from '../../context.js'
import { Finished } from '../../failure.js'
import type { Log } from '../log/log.js'
import type { Listening, Parent, WorkerOptions } from './parent.js'

/** A worker that has loaded the files that it may serve. */
export interface WorkerRun extends WorkerOptions {
  /** Reports to the parent where the worker listens. */
  announce(listening: Listening): void
}

/**
 * Requests the options of this worker from its parent.
 * @throws Finished 2 if the other workers serve other files; the log says so
 */
export async function beginWork(parent: Parent, application: Application, log: Log): Promise<WorkerRun> {
  const files = digestFiles(application)
  const options = await parent.begin()
  const { served, started } = options
  if (served.length === 0 || served.includes(files)) {
    return { ...options, announce: (listening) => parent.announce(listening, files) }
  }
  const next = started ? 'SIGUSR2 to the parent process replaces them all' : 'start the server again'
  log.error({
    event: 'files_changed',
    msg: `this worker cannot start: the configuration, its plugins or its keys have changed since the other workers started; ${next}`,
  })
  throw new Finished(2)
}

/** The files are the configuration, its plugins as they were imported, and its keys as they were read. */
function digestFiles({ source, compiled, spec }: Application): string {
  const jwt = spec.auth?.jwt
  const parts = [source, compiled, jwt && fileKeysOf(jwt)]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
