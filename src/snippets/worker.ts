import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

/** Why there is no HTML: the language is unknown, the code is too slow, or the thread is too busy now. */
export type NoHtml = 'unknown' | 'slow' | 'busy'

export type Outcome = { readonly html: string } | { readonly none: NoHtml }

interface Limits {
  /** The time limit for one piece of code, in ms. */
  readonly deadline: number
  /** How long a piece of code waits for its turn, in ms. */
  readonly patience: number
}

const STARTUP_MS = 10_000

// The grammars are regular expressions, which can take seconds for some texts. They run in a thread that can be terminated. The script is a string,
// so that it is found however this module was compiled or bundled.
const SCRIPT = `
const { parentPort, workerData } = require('node:worker_threads')
const library = require(workerData)
parentPort.on('message', ({ code, language }) => {
  parentPort.postMessage(library.highlight(code, { language, ignoreIllegals: true }).value)
})
parentPort.postMessage(library.listLanguages().flatMap((name) => [name, ...(library.getLanguage(name).aliases ?? [])]))
`

async function answer(worker: Worker, milliseconds: number): Promise<unknown> {
  const overdue = new AbortController()
  // setImmediate lets a message through that arrived while this thread was busy.
  const timer = setTimeout(() => setImmediate(() => overdue.abort()), milliseconds)
  worker.ref()
  try {
    const [message]: unknown[] = await once(worker, 'message', { signal: overdue.signal })
    return message
  } finally {
    worker.unref()
    clearTimeout(timer)
  }
}

/**
 * A thread with highlight.js, started on first use. It handles one piece of code at a time, and is replaced if one exceeds `deadline`. It does not
 * keep the process alive while idle.
 */
export function createHighlightThread({ deadline, patience }: Limits) {
  const library = createRequire(import.meta.url).resolve('highlight.js')
  let running: Promise<Worker> | undefined
  let languages: ReadonlySet<string> | undefined
  let turns: Promise<unknown> = Promise.resolve()

  const open = async (): Promise<Worker> => {
    const worker = new Worker(SCRIPT, { eval: true, workerData: library })
    worker.on('error', () => close(worker))
    try {
      languages = new Set((await answer(worker, STARTUP_MS)) as readonly string[])
      return worker
    } catch (error) {
      close(worker)
      throw error
    }
  }

  const close = (worker: Worker): void => {
    running = undefined
    worker.terminate().catch(() => undefined)
  }

  const start = (): Promise<Worker> => {
    const opened = open()
    opened.catch(() => {
      running = undefined
    })
    return opened
  }

  const render = async (worker: Worker, code: string, language: string): Promise<Outcome> => {
    worker.postMessage({ code, language })
    try {
      return { html: (await answer(worker, deadline)) as string }
    } catch {
      close(worker)
      running = start()
      return { none: 'slow' }
    }
  }

  const take = async (code: string, language: string): Promise<Outcome> => {
    running ??= start()
    try {
      const worker = await running
      return languages?.has(language) ? await render(worker, code, language) : { none: 'unknown' }
    } catch {
      return { none: 'busy' }
    }
  }

  return (code: string, label: string): Promise<Outcome> => {
    const language = label.toLowerCase()
    if (languages && !languages.has(language)) return Promise.resolve({ none: 'unknown' })
    const submitted = performance.now()
    const turn = turns.then((): Outcome | Promise<Outcome> =>
      performance.now() - submitted > patience ? { none: 'busy' } : take(code, language),
    )
    turns = turn
    return turn
  }
}
