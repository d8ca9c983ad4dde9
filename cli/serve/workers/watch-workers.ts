import { addMetrics, DRAINING, lastingMetrics, type Metrics, type Readiness } from '../../../src/internal.js'
import type { Log } from '../log/log.js'
import type { Stop } from '../stop.js'
import { type AdminOptions, listenForAdmin } from '../watch.js'
import type { WorkerProcess } from './worker.js'

/** Collects readiness and metrics from all workers, for their one admin port. */
export interface WorkerWatch {
  /** Includes a worker until it ends. */
  add(worker: WorkerProcess): void
  close(): void
}

interface WorkerWatchParts {
  readonly options: AdminOptions
  readonly log: Log
  readonly stop: Stop
}

/**
 * Opens the admin port of a server with workers; returns undefined if `--admin-port` is not set.
 * @throws Failure 2 if the port cannot be opened
 */
export async function watchWorkers(parts: WorkerWatchParts): Promise<WorkerWatch | undefined> {
  if (parts.options.adminPort === undefined) return undefined
  const workers = new Set<WorkerProcess>()
  // Counters of ended workers are kept: a sum that shrinks looks like a restart.
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

/** Falls back to the latest known metrics if the worker does not answer. */
async function metricsOf(worker: WorkerProcess): Promise<Metrics> {
  await worker.query('metrics')
  return worker.latestMetrics()
}

/** The server is ready if at least one worker is. */
async function readinessOf(workers: readonly WorkerProcess[], isDraining: boolean): Promise<Readiness> {
  if (isDraining) return DRAINING
  const serving = workers.filter((worker) => worker.isServing())
  if (serving.length === 0) return { ready: false, problems: [{ check: 'starting', detail: 'no worker listens' }] }
  const answers = await Promise.all(serving.map(readinessOfOne))
  return { ready: answers.some(({ ready }) => ready), problems: answers.flatMap(({ problems }) => problems) }
}

async function readinessOfOne(process: WorkerProcess): Promise<Readiness> {
  const { worker } = process.about
  const answer = (await process.query('readiness')) as Readiness | undefined
  if (answer === undefined) {
    return { ready: false, problems: [{ check: 'worker', detail: 'the worker does not answer', worker }] }
  }
  return { ...answer, problems: answer.problems.map((problem) => ({ ...problem, worker })) }
}
