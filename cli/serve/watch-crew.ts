import { addMetrics, DRAINING, lastingMetrics, type Metrics, type Readiness } from '../../src/internal.js'
import type { Log } from './log.js'
import type { Stop } from './stop.js'
import { type AdminOptions, listenForAdmin } from './watch.js'
import type { WorkerProcess } from './worker.js'

/** Asks the workers how they are, for the one admin port that they have. */
export interface CrewWatch {
  /** Counts a worker in, until it ends. */
  add(worker: WorkerProcess): void
  close(): void
}

interface CrewWatchParts {
  readonly options: AdminOptions
  readonly log: Log
  readonly stop: Stop
}

/**
 * Opens the admin port of a server with workers; undefined when none is wanted.
 * @throws Failure 2 when the port cannot be had
 */
export async function watchCrew(parts: CrewWatchParts): Promise<CrewWatch | undefined> {
  if (parts.options.adminPort === undefined) return undefined
  const workers = new Set<WorkerProcess>()
  // Without what workers counted that have ended, sums would shrink, which looks like a restart.
  let ended: Promise<Metrics> = Promise.resolve([])
  const close = await listenForAdmin(parts, {
    readiness: () => readinessOf([...workers], parts.stop.signal.aborted),
    metrics: async () => {
      const alive = await Promise.all([...workers].map(metricsOf))
      return [await ended, ...alive]
    },
  })
  return {
    add: (worker) => {
      workers.add(worker)
      void worker.ended.then(() => {
        workers.delete(worker)
        const last = lastingMetrics(worker.latestMetrics())
        ended = ended.then((sum) => addMetrics([sum, last]))
      })
    },
    close,
  }
}

/** Of a worker that does not answer, the latest that is known. */
async function metricsOf(worker: WorkerProcess): Promise<Metrics> {
  await worker.ask('metrics')
  return worker.latestMetrics()
}

/** Ready is a server that has a worker that is. */
async function readinessOf(workers: readonly WorkerProcess[], isDraining: boolean): Promise<Readiness> {
  if (isDraining) return DRAINING
  const serving = workers.filter((worker) => worker.isServing())
  if (serving.length === 0) return { ready: false, problems: [{ check: 'starting', detail: 'no worker listens' }] }
  const answers = await Promise.all(serving.map(readinessOfOne))
  return { ready: answers.some(({ ready }) => ready), problems: answers.flatMap(({ problems }) => problems) }
}

async function readinessOfOne(asked: WorkerProcess): Promise<Readiness> {
  const { worker } = asked.about
  const answer = (await asked.ask('readiness')) as Readiness | undefined
  if (answer === undefined) {
    return { ready: false, problems: [{ check: 'worker', detail: 'the worker does not answer', worker }] }
  }
  return { ...answer, problems: answer.problems.map((problem) => ({ ...problem, worker })) }
}
