import cluster, { type Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Metrics } from '../../src/internal.js'
import { type Answer, isOurs, type Listening, type Orders, type Question, type Report } from './parent.js'

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A worker process, as its parent sees it. */
export interface WorkerProcess {
  /** The number of the worker and of its process, for the log. */
  readonly about: { readonly worker: number; readonly worker_pid: number | undefined }
  /** undefined when it ended without ever listening. */
  readonly listening: Promise<Listening | undefined>
  /** Resolves when it takes no more connections: it says so, or it ended. */
  readonly leaving: Promise<unknown>
  readonly ended: Promise<End>
  /** Whether it takes connections. */
  isServing(): boolean
  /** Whether somebody wanted it to end. */
  isRetired(): boolean
  /** Lets it finish the requests under way. */
  stop(): void
  /** Ends it at once. */
  kill(): void
  tellPrepared(): void
  /** undefined when it does not answer within a second. */
  ask(question: Question): Promise<unknown>
  /** What it said last when it was asked for its metrics. */
  latestMetrics(): Metrics
}

/** Starts a worker process, by the set-up of the cluster. It gets its orders as they are when it asks for them. */
export function startWorker(orders: () => Orders): WorkerProcess {
  const worker = cluster.fork()
  const { pid } = worker.process
  const state = { serving: false, retired: false }
  const tell = (answer: Answer) => {
    // It may end at any moment; that is told by its end, and not by this.
    if (worker.isConnected()) worker.send(answer, () => {})
  }
  const ended = endOf(worker).finally(() => (state.serving = false))
  const heard = hear(worker)
  void heard.hello.then(() => tell({ snippetctl: 'begin', orders: orders() }))
  const leaving = heard.leaving.then(() => {
    state.serving = false
    tell({ snippetctl: 'released' })
  })
  const retire = (signal: NodeJS.Signals) => {
    state.retired = true
    worker.process.kill(signal)
  }
  return {
    about: { worker: worker.id, worker_pid: pid },
    listening: Promise.race([
      heard.listening.then((listening) => {
        state.serving = true
        return listening
      }),
      ended.then(() => undefined),
    ]),
    leaving: Promise.race([leaving, ended]),
    ended,
    isServing: () => state.serving,
    isRetired: () => state.retired,
    stop: () => retire('SIGTERM'),
    kill: () => retire('SIGKILL'),
    ...createAsking(worker, tell),
    tellPrepared: () => tell({ snippetctl: 'prepared' }),
  }
}

const PATIENCE = 1_000

/** Asks a worker, each time with a number that its answer repeats. */
function createAsking(worker: Worker, tell: (answer: Answer) => void): Pick<WorkerProcess, 'ask' | 'latestMetrics'> {
  const waiting = new Map<number, (value: unknown) => void>()
  let metrics: Metrics = []
  let asked = 0
  worker.on('message', (message: unknown) => {
    if (!isOurs<Report>(message)) return
    if (message.snippetctl === 'counted') metrics = message.metrics
    if (message.snippetctl === 'told') waiting.get(message.ask)?.(message.value)
  })
  return {
    ask: async (question) => {
      const ask = (asked += 1)
      const answered = new Promise<unknown>((resolve) => waiting.set(ask, resolve))
      tell({ snippetctl: 'ask', ask, question })
      const value = await Promise.race([answered, delay(PATIENCE, undefined, { ref: false })])
      waiting.delete(ask)
      if (question === 'metrics' && value !== undefined) metrics = value as Metrics
      return value
    },
    latestMetrics: () => metrics,
  }
}

function endOf(worker: Worker): Promise<End> {
  return new Promise((resolve) => {
    worker.process.once('exit', (code: End['code'], signal: End['signal']) => resolve({ code, signal }))
    // A process that could not be started has no exit, only an error.
    worker.on('error', () => {
      if (worker.process.pid === undefined) resolve({ code: null, signal: null })
    })
  })
}

/** What the worker says, each thing once. */
function hear(worker: Worker) {
  const reported = <Kind extends Report['snippetctl']>(kind: Kind) =>
    new Promise<Extract<Report, { snippetctl: Kind }>>((resolve) => {
      worker.on('message', (message: unknown) => {
        if (isOurs<Extract<Report, { snippetctl: Kind }>>(message) && message.snippetctl === kind) resolve(message)
      })
    })
  return {
    hello: reported('hello'),
    listening: reported('listening').then(({ listening }) => listening),
    leaving: reported('leaving'),
  }
}
