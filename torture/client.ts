import { Agent, request } from 'node:http'

/** A request. */
export interface Question {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
}

/** The result; `status` is 0 without a complete response, and `failure` says why. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
  /** Milliseconds. */
  readonly time: number
  readonly failure?: string
  /** Whether the request surely never reached anybody. */
  readonly unsent?: boolean
}

/** Asks one server over connections that are kept. */
export interface Client {
  /** Never rejects. */
  ask(question: Question): Promise<Answered>
  close(): void
}

const PATIENCE = 20_000
/** Nothing can have been received where no connection was made. */
const UNSENT = new Set(['ECONNREFUSED'])

/**
 * @param connections how many requests may be under way at once; the others wait
 * @param patience milliseconds after which a client gives up
 */
export function createClient(port: number, connections: number, patience = PATIENCE): Client {
  // All of them are kept, and used in turn, so that none is idle for so long that the server closes it.
  const agent = new Agent({
    keepAlive: true,
    maxSockets: connections,
    maxFreeSockets: connections,
    scheduling: 'fifo',
    noDelay: true,
  })
  const ask = ({ method = 'GET', path, body }: Question) =>
    new Promise<Answered>((resolve) => {
      const started = performance.now()
      const text = body === undefined ? undefined : JSON.stringify(body)
      const headers: Record<string, string | number> =
        text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
      const fail = (error: NodeJS.ErrnoException) => {
        const failure = error.code ?? error.message
        const time = performance.now() - started
        resolve({ status: 0, headers: {}, body: '', time, failure, unsent: UNSENT.has(failure) })
      }
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent, timeout: patience })
      sent.on('error', fail)
      sent.on('timeout', () => sent.destroy(new Error('late')))
      sent.on('response', (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (piece: string) => (body += piece))
        response.on('error', fail)
        response.on('end', () => {
          if (!response.complete) return fail(new Error('the answer was cut'))
          const time = performance.now() - started
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body, time })
        })
      })
      sent.end(text)
    })
  return { ask, close: () => agent.destroy() }
}

/** Polls until the status is 200; resolves with the milliseconds that took. */
export async function untilAnswered(port: number, path: string, patience = 30_000): Promise<number> {
  const client = createClient(port, 1)
  const started = performance.now()
  try {
    for (;;) {
      const { status } = await client.ask({ path })
      const waited = performance.now() - started
      if (status === 200) return waited
      if (waited > patience) throw new Error(`${path} was not answered with 200 within ${patience} ms, but ${status}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  } finally {
    client.close()
  }
}
