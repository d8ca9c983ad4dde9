import cluster, { type Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Metrics } from '../../../src/internal.js'
import {
  isOurs,
  type Listening,
  type ParentMessage,
  type Question,
  type WorkerMessage,
  type WorkerOptions,
} from './parent.js'

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A worker process, as its parent sees it. */
export interface WorkerProcess {
  /** The number of the worker and of its process, for the log. */
  readonly about: { readonly worker: number; readonly worker_pid: number | undefined }
  /** Resolves to undefined if the process ended before it listened. */
  readonly listening: Promise<Listening | undefined>
  /** Resolves when it accepts no more connections, or has ended. */
  readonly leaving: Promise<unknown>
  readonly ended: Promise<End>
  /** Whether it accepts connections. */
  isServing(): boolean
  /** The digest of the files that it serves; undefined unless it serves and will go on. */
  servedFiles(): string | undefined
  /** Whether `stop` or `kill` was called. */
  isRetired(): boolean
  /** Stops it after its running requests. */
  stop(): void
  kill(): void
  tellPrepared(): void
  /** Resolves to undefined if it does not answer within a second. */
  query(question: Question): Promise<unknown>
  /** The metrics that it sent last. */
  latestMetrics(): Metrics
}

interface WorkerParts {
  /** Computed when the worker requests them. */
  readonly options: () => WorkerOptions
  /** Whether any worker accepts connections. */
  readonly isServed: () => boolean
}

/** Starts a worker process with the settings of `cluster.setupPrimary`. */
export function startWorker({ options, isServed }: WorkerParts): WorkerProcess {
  const worker = cluster.fork()
  const { pid } = worker.process
  const state = { serving: false, retired: false, files: undefined as string | undefined }
  const tell = (message: ParentMessage) => {
    // The worker may end at any moment; `ended` reports that, so a failed send is ignored.
    if (worker.isConnected()) worker.send(message, () => {})
  }
  const ended = endOf(worker).finally(() => (state.serving = false))
  returnConnections(worker, isServed)
  const received = receive(worker)
  void received.hello.then(() => tell({ snippetctl: 'begin', options: options() }))
  const leaving = received.leaving.then(() => {
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
      received.listening.then(({ listening, files }) => {
        Object.assign(state, { serving: true, files })
        return listening
      }),
      ended.then(() => undefined),
    ]),
    leaving: Promise.race([leaving, ended]),
    ended,
    isServing: () => state.serving && worker.isConnected(),
    servedFiles: () => (state.serving && !state.retired ? state.files : undefined),
    isRetired: () => state.retired,
    stop: () => retire('SIGTERM'),
    kill: () => retire('SIGKILL'),
    ...createQueries(worker, tell),
    tellPrepared: () => tell({ snippetctl: 'prepared' }),
  }
}

/** The message by which Node's cluster hands a connection to a worker. */
interface Handover {
  readonly act?: string
  /** The listening socket. */
  readonly key?: string
  readonly seq?: number
}

/**
 * Takes back the connections that a worker has been handed but has not confirmed when it dies: Node waits for the confirmation for ever,
 * and neither serves the connection nor closes it. Each listening socket has at most one, because a worker is handed the next after it
 * confirms the last. This gives the answer in place of the worker: a rejected connection goes to another worker, an accepted one is closed
 * here. Node ignores an answer that it has already had.
 */
function returnConnections({ process: child }: Worker, isServed: () => boolean): void {
  const send = child.send.bind(child) as (...given: readonly unknown[]) => boolean
  const handed = new Map<string | undefined, number | undefined>()
  child.send = (...given: readonly unknown[]) => {
    const { act, key, seq } = given[0] as Handover
    if (act === 'newconn') handed.set(key, seq)
    return send(...given)
  }
  const giveAnswers = () => {
    // The last messages of a process, such as a confirmation, may be read after it has ended.
    if (child.connected) return void setImmediate(giveAnswers)
    // Node does not emit this while a connection is unconfirmed, and would hand the process further ones.
    child.emit('disconnect')
    for (const seq of handed.values())
      child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: !isServed() })
  }
  child.once('exit', giveAnswers)
}

const QUERY_TIMEOUT_MS = 1_000

/** Queries a worker. Each query has a number, which the answer repeats. */
function createQueries(
  worker: Worker,
  tell: (message: ParentMessage) => void,
): Pick<WorkerProcess, 'query' | 'latestMetrics'> {
  const waiting = new Map<number, (value: unknown) => void>()
  let metrics: Metrics = []
  let asked = 0
  worker.on('message', (message: unknown) => {
    if (!isOurs<WorkerMessage>(message)) return
    if (message.snippetctl === 'counted') metrics = message.metrics
    if (message.snippetctl === 'answer') waiting.get(message.ask)?.(message.value)
  })
  return {
    query: async (question) => {
      const ask = (asked += 1)
      const answered = new Promise<unknown>((resolve) => waiting.set(ask, resolve))
      tell({ snippetctl: 'ask', ask, question })
      const value = await Promise.race([answered, delay(QUERY_TIMEOUT_MS, undefined, { ref: false })])
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
    // A process that could not be started emits no exit event, only an error.
    worker.on('error', () => {
      if (worker.process.pid === undefined) resolve({ code: null, signal: null })
    })
  })
}

/** The messages of a worker that come at most once, as promises. */
function receive(worker: Worker) {
  const reported = <Kind extends WorkerMessage['snippetctl']>(kind: Kind) =>
    new Promise<Extract<WorkerMessage, { snippetctl: Kind }>>((resolve) => {
      worker.on('message', (message: unknown) => {
        if (isOurs<Extract<WorkerMessage, { snippetctl: Kind }>>(message) && message.snippetctl === kind)
          resolve(message)
      })
    })
  return {
    hello: reported('hello'),
    listening: reported('listening'),
    leaving: reported('leaving'),
  }
}
