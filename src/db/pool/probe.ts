import type pg from 'pg'
import { isLost, isUnsent, toProblem, toRejection } from '../driver/errors.js'
import type { PipelinedConnections } from './pipelined-connections.js'
import type { SendOnce } from './send-once.js'

interface ProbeParts {
  readonly pool: pg.Pool
  readonly pipelined: PipelinedConnections | undefined
  readonly once: SendOnce
}

/**
 * Asks whether the database answers, without admission control. A response to any other statement counts as well, so that an overloaded database is
 * not taken for an unavailable one.
 */
export function createProbe({ pool, pipelined, once }: ProbeParts): () => Promise<void> {
  return async () => {
    const ask = () => once({ text: 'select 1', values: [], follows: true })
    const others = listenForAnswers(pool, pipelined)
    try {
      await Promise.race([others.heard, askWithRetry(ask)])
    } catch (error) {
      throw toRejection(error) ?? toProblem(error)
    } finally {
      others.stop()
    }
  }
}

const LISTEN_INTERVAL_MS = 50

/** `heard` resolves with the next response to any statement; `stop` ends the listening. It costs nothing while no probe is running. */
function listenForAnswers(pool: pg.Pool, pipelined: PipelinedConnections | undefined) {
  const since = performance.now()
  let stop = (): void => {}
  const heard = new Promise<void>((resolve) => {
    const onRelease = (error: unknown) => {
      if (!error) resolve()
    }
    const timer = setInterval(() => pipelined?.hasAnsweredSince(since) && resolve(), LISTEN_INTERVAL_MS).unref()
    pool.on('release', onRelease)
    stop = () => {
      clearInterval(timer)
      pool.off('release', onRelease)
    }
  })
  return { heard, stop: () => stop() }
}

/** Retries once, because an idle connection may have been lost. */
async function askWithRetry(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    if (!isUnsent(error) && !isLost(error)) throw error
    return ask()
  }
}
