import cluster from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import process from 'node:process'
import type { Metrics } from '../../../src/internal.js'
import { Failure } from '../../failure.js'

/** The settings that the parent process gives a worker. */
export interface WorkerOptions {
  /** The number of database connections. */
  readonly connections: number
  readonly port: number
  /** Whether the parent has checked the schema of the database. */
  readonly prepared: boolean
  /** Whether the parent will query readiness and metrics. */
  readonly watched: boolean
  /** The digests of the files that the other workers serve. The worker must serve the same; any files if it is the first. */
  readonly served: readonly string[]
  /** Whether all workers have listened once: until then, the end of one ends the parent. */
  readonly started: boolean
}

/** What a parent can query at any time. */
export type Question = 'metrics' | 'readiness'

/** Describes a server that listens. */
export interface Listening {
  readonly url: string
  readonly resources: number
  readonly routes: number
  /** The path of a GET route without parameters, to try out. */
  readonly example: string | undefined
  /** Whether Explore is served. */
  readonly explore: boolean
  /** Whether Swagger UI is installed for the page of the API's documentation. */
  readonly swaggerUi: boolean
  /** Whether grants decide who may do what. */
  readonly auth: boolean
}

/** Messages from a worker to its parent. Messages without the key `snippetctl` come from plugins and are ignored. */
export type WorkerMessage =
  | { readonly snippetctl: 'hello' }
  | { readonly snippetctl: 'listening'; readonly listening: Listening; readonly files: string }
  | { readonly snippetctl: 'leaving' }
  | { readonly snippetctl: 'answer'; readonly ask: number; readonly value: unknown }
  | { readonly snippetctl: 'counted'; readonly metrics: Metrics }

/** Messages from the parent: the replies to `hello` and `leaving`, the news that the schema is ready, and queries. */
export type ParentMessage =
  | { readonly snippetctl: 'begin'; readonly options: WorkerOptions }
  | { readonly snippetctl: 'prepared' }
  | { readonly snippetctl: 'released' }
  | { readonly snippetctl: 'ask'; readonly ask: number; readonly question: Question }

/** The process that started this one as one of its workers. */
export interface Parent {
  /** The number of this worker, unique within the parent. */
  readonly worker: number
  /** Requests the options of this worker. */
  begin(): Promise<WorkerOptions>
  /** Resolves once the parent has checked the schema. */
  readonly prepared: Promise<unknown>
  /** Reports where this process listens, with the digest of the files that it serves. */
  announce(listening: Listening, files: string): void
  /** Resolves when the parent passes no more connections to this process. The listening socket does not tell. */
  release(): Promise<void>
  /** Sets the function that answers queries of the parent. */
  onAsk(answer: (question: Question) => Promise<unknown>): void
  /** Sends metrics without being queried. */
  tellMetrics(metrics: Metrics): void
  /** Sets the listener for the unexpected end of the parent. */
  onGone(listener: () => void): void
  /** Disconnects from the parent, so that this process can exit. */
  leave(): void
}

/** Returns the parent if this process is a worker. */
export function findParent(): Parent | undefined {
  const self = cluster.worker
  if (self === undefined) return undefined
  // Otherwise Node would end this process in the middle of requests when the parent is gone.
  self.exitedAfterDisconnect = true
  const answers = new EventEmitter()
  process.on('message', (message) => {
    if (isOurs<ParentMessage>(message)) answers.emit(message.snippetctl, message)
  })
  const gone = new Promise<unknown[]>((resolve) => process.once('disconnect', () => resolve([])))
  const tell = (report: WorkerMessage) => {
    if (process.connected) process.send?.(report, undefined, undefined, () => {})
  }
  const ask = async (report: WorkerMessage, answer: ParentMessage['snippetctl']): Promise<unknown> => {
    const answered = once(answers, answer)
    tell(report)
    const [message]: unknown[] = await Promise.race([answered, gone])
    return message
  }
  let left = false
  return {
    worker: self.id,
    begin: async () => {
      const message = await ask({ snippetctl: 'hello' }, 'begin')
      if (isOurs<Extract<ParentMessage, { options: WorkerOptions }>>(message)) return message.options
      throw new Failure(2, 'the parent process ended before it had configured this worker')
    },
    prepared: once(answers, 'prepared'),
    announce: (listening, files) => tell({ snippetctl: 'listening', listening, files }),
    release: async () => void (await ask({ snippetctl: 'leaving' }, 'released')),
    onAsk: (answer) => {
      answers.on('ask', ({ ask, question }: Extract<ParentMessage, { question: Question }>) => {
        // The parent times out if no answer comes.
        answer(question).then(
          (value) => tell({ snippetctl: 'answer', ask, value }),
          () => {},
        )
      })
    },
    tellMetrics: (metrics) => tell({ snippetctl: 'counted', metrics }),
    onGone: (listener) => {
      void gone.then(() => {
        if (!left) listener()
      })
    },
    leave: () => {
      left = true
      if (process.connected) process.disconnect()
    },
  }
}

/** Whether a message belongs to this protocol, not to a plugin. */
export function isOurs<Message extends WorkerMessage | ParentMessage>(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'snippetctl' in message
}
