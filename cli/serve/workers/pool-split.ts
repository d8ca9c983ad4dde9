import { Failure } from '../../failure.js'
import { count } from '../../output.js'

const DEFAULT_POOL_SIZE = 10
/** With a single connection, one slow statement would block all requests of a worker. */
const MIN_PER_WORKER = 2

/**
 * Splits the connections of `DATABASE_POOL` among the workers. `pool` has been validated when the database was opened.
 * @throws Failure 2 if there are too few connections
 */
export function splitPool(pool: string | undefined, workers: number): readonly number[] {
  const connections = Number(pool ?? DEFAULT_POOL_SIZE)
  if (connections < MIN_PER_WORKER * workers) throw tooFew(connections, workers)
  const rest = connections % workers
  return Array.from({ length: workers }, (_, at) => Math.floor(connections / workers) + (at < rest ? 1 : 0))
}

function tooFew(connections: number, workers: number): Failure {
  const most = Math.floor(connections / MIN_PER_WORKER)
  const given = `${count(connections, 'connection')} to the database ${connections === 1 ? 'is' : 'are'} too few`
  return new Failure(2, `${given} for ${count(workers, 'worker')}: each needs at least ${MIN_PER_WORKER}`, [
    `raise the pool size, if the PostgreSQL server allows it: DATABASE_POOL=${MIN_PER_WORKER * workers}`,
    ...(most > 0 ? [`or start fewer workers: --workers ${most}`] : []),
  ])
}
