import { Problem } from '../../foundation/problem.js'
import type { Result, Statement } from '../database.js'
import { isLost, isStale, isUnsent, toProblem } from '../driver/errors.js'
import { parameterOf } from '../driver/misfits.js'
import { toOutcome } from '../driver/outcome.js'
import {
  createLatencyTracker,
  isLarge,
  isQuick,
  type Latency,
  record,
  recordFailure,
  recordPipelined,
} from './latency-tracker.js'
import { PipelineUnavailable, type PipelinedConnections } from './pipelined-connections.js'
import type { SendOnce } from './send-once.js'

/** Sends statements outside of transactions: quick reads on pipelined connections, and again where the first try had no effect. */
export function createQueries(
  once: SendOnce,
  pipelined: PipelinedConnections | undefined,
): (statement: Statement) => Promise<Result> {
  const latencies = createLatencyTracker()

  const first = async (statement: Statement): Promise<Result> => {
    if (!pipelined || !statement.quick) return once(statement)
    // Without a name, its latency is unknown.
    if (statement.name === undefined)
      return statement.quick === true ? pipelined.query(statement, UNNAMED_MS) : once(statement)
    const latency = latencies.of(statement.name)
    try {
      if (!mayPipeline(statement, latency, pipelined)) {
        const answer = await once(statement)
        record(latency, answer.time, answer.size)
        return answer
      }
      const answer = await pipelined.query(statement, latency.cost)
      recordPipelined(latency, answer.time, answer.size)
      return answer
    } catch (error) {
      // A statement that only waited says nothing about its latency.
      if (!(error instanceof PipelineUnavailable || error instanceof Problem)) recordFailure(latency)
      throw error
    }
  }

  return async (statement) => {
    try {
      return await first(statement)
    } catch (error) {
      const second = secondTry(statement, error)
      const toFailure = statement.retry ? toProblem<unknown> : toOutcome
      if (second === undefined) throw toFailure(error)
      // A statement that was accepted is not rejected after waiting.
      const follows = second.follows === true || !(error instanceof PipelineUnavailable) || error.waited
      return once({ ...second, follows }).catch((error: unknown) => {
        throw toFailure(error)
      })
    }
  }
}

/** The expected milliseconds of an unnamed quick statement. */
const UNNAMED_MS = 1

/** Whether others may wait behind a statement. A lookup by key is quick; for other statements, the recent latency decides. */
function mayPipeline({ quick }: Statement, latency: Latency, pipelined: PipelinedConnections): boolean {
  return quick === true ? !isLarge(latency) : isQuick(latency) && pipelined.hasRoom()
}

/**
 * Returns the statement to retry after an error; undefined if the first try may have had an effect, or if a retry would fail as well. A statement that was
 * prepared before a column changed expects values of its old type. An insert that fails by anything else has already taken a value of its sequence:
 * another one would tell callers, by their next key, which error it was.
 */
function secondTry(statement: Statement, error: unknown): Statement | undefined {
  const isOutdated = isStale(error) || (statement.name !== undefined && parameterOf(error) !== undefined)
  if (isOutdated) return { ...statement, name: undefined }
  if (isUnsent(error) || (statement.retry && isLost(error))) return statement
  if (error instanceof PipelineUnavailable) return statement
  return undefined
}
