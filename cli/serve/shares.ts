import { Failure } from '../failure.js'
import { count } from '../output.js'

/** What DATABASE_POOL is when it is not set. */
const CUSTOMARY = 10
/** With one connection, a single slow statement would hold up every request of a worker. */
const LEAST = 2

/**
 * Divides the connections to the database among workers. `pool` is DATABASE_POOL, which is a number: the database was opened with it.
 * @throws Failure 2 when there are too few
 */
export function shareConnections(pool: string | undefined, workers: number): readonly number[] {
  const connections = Number(pool ?? CUSTOMARY)
  if (connections < LEAST * workers) throw tooFew(connections, workers)
  const rest = connections % workers
  return Array.from({ length: workers }, (_, at) => Math.floor(connections / workers) + (at < rest ? 1 : 0))
}

function tooFew(connections: number, workers: number): Failure {
  const most = Math.floor(connections / LEAST)
  const given = `${count(connections, 'connection')} to the database ${connections === 1 ? 'is' : 'are'} too few`
  return new Failure(2, `${given} for ${count(workers, 'worker')}: each needs ${LEAST} of them`, [
    `allow more, if the server does: DATABASE_POOL=${LEAST * workers}`,
    ...(most > 0 ? [`or start fewer: --workers ${most}`] : []),
  ])
}
