import cluster from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import process from 'node:process'
import type { Metrics } from '../../src/internal.js'
import { Failure } from '../failure.js'

/** What a worker process needs to know before it can serve. */
export interface Orders {
  /** Its part of the connections to the database. */
  readonly connections: number
  readonly port: number
  /** Whether somebody has seen to the schema of the database. */
  readonly prepared: boolean
  /** Whether somebody asks how it is. */
  readonly watched: boolean
}

/** What a parent may want to know at any time. */
export type Question = 'metrics' | 'readiness'

/** What is served, once it listens. */
export interface Listening {
  readonly url: string
  readonly resources: number
  readonly routes: number
  /** A path that can be tried out. */
  readonly example: string | undefined
  /** Whether there are pages for people. */
  readonly explore: boolean
}

/** What a worker tells its parent. Other messages are those of plugins, and nobody's business here. */
export type Report =
  | { readonly snippetctl: 'hello' }
  | { readonly snippetctl: 'listening'; readonly listening: Listening }
  | { readonly snippetctl: 'leaving' }
  | { readonly snippetctl: 'told'; readonly ask: number; readonly value: unknown }
  | { readonly snippetctl: 'counted'; readonly metrics: Metrics }

/** What a parent says: to `hello`, when the database is prepared later, to `leaving`, and when it wants to know something. */
export type Answer =
  | { readonly snippetctl: 'begin'; readonly orders: Orders }
  | { readonly snippetctl: 'prepared' }
  | { readonly snippetctl: 'released' }
  | { readonly snippetctl: 'ask'; readonly ask: number; readonly question: Question }

/** The process that started this one as one of its workers. */
export interface Parent {
  /** The number of this worker; no two of one parent have the same. */
  readonly worker: number
  /** Asks for the orders. */
  begin(): Promise<Orders>
  /** Resolves once somebody has seen to the schema. */
  readonly prepared: Promise<unknown>
  announce(listening: Listening): void
  /** Resolves when the parent hands this process no more connections, which the listening socket does not say. */
  release(): Promise<void>
  /** Answers what the parent wants to know. */
  onAsk(answer: (question: Question) => Promise<unknown>): void
  /** Tells what was counted, unasked. */
  tellMetrics(metrics: Metrics): void
  /** Takes over the end of the parent. */
  onGone(listener: () => void): void
  /** Lets go of the parent, so that this process can end. */
  leave(): void
}

/** The parent, when this process is a worker. */
export function findParent(): Parent | undefined {
  const self = cluster.worker
  if (self === undefined) return undefined
  // Node would end this process at once when its parent is gone, in the middle of requests.
  self.exitedAfterDisconnect = true
  const answers = new EventEmitter()
  process.on('message', (message) => {
    if (isOurs<Answer>(message)) answers.emit(message.snippetctl, message)
  })
  const gone = new Promise<unknown[]>((resolve) => process.once('disconnect', () => resolve([])))
  const tell = (report: Report) => {
    if (process.connected) process.send?.(report, undefined, undefined, () => {})
  }
  const ask = async (report: Report, answer: Answer['snippetctl']): Promise<unknown> => {
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
      if (isOurs<Extract<Answer, { orders: Orders }>>(message)) return message.orders
      throw new Failure(2, 'the process that started this worker ended before it had said what to do')
    },
    prepared: once(answers, 'prepared'),
    announce: (listening) => tell({ snippetctl: 'listening', listening }),
    release: async () => void (await ask({ snippetctl: 'leaving' }, 'released')),
    onAsk: (answer) => {
      answers.on('ask', ({ ask, question }: Extract<Answer, { question: Question }>) => {
        // The parent does without an answer that does not come.
        answer(question).then(
          (value) => tell({ snippetctl: 'told', ask, value }),
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

/** Whether a message is of the kind that parents and workers exchange, and not one that a plugin sends. */
export function isOurs<Message extends Report | Answer>(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'snippetctl' in message
}
