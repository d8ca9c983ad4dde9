import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { SECURITY_HEADERS } from '../http/server/replies/headers.js'
import { listen } from '../http/server/listen.js'
import { type Metrics, renderMetrics } from './metrics.js'
import type { Log } from '../http/log.js'
import type { Readiness } from './readiness.js'

/** The dependencies of the admin port. */
export interface AdminParts {
  readonly readiness: () => Promise<Readiness>
  /** The metrics of every process. */
  readonly metrics: () => Promise<readonly Metrics[]>
  readonly log: Log
}

/** A separate port for operators, whose paths cannot clash with the application's. */
export interface Admin {
  readonly url: string
  /** Closes every connection. */
  close(): void
}

interface AdminResponse {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** Timeouts for scrapers and probes, in ms; they connect from nearby. */
const LIMITS = { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8 * 1024 }

/**
 * Opens an admin port: `/livez`, `/readyz` and `/metrics`.
 * @throws Node's error if it cannot listen
 */
export async function openAdmin(
  address: { readonly port: number; readonly host: string },
  parts: AdminParts,
): Promise<Admin> {
  const answers = new Map<string, () => AdminResponse | Promise<AdminResponse>>([
    ['/livez', () => json(200, { live: true })],
    [
      '/readyz',
      async () => {
        const readiness = await parts.readiness()
        return json(readiness.ready ? 200 : 503, readiness)
      },
    ],
    ['/metrics', async () => ({ status: 200, ...(await renderMetrics(await parts.metrics())) })],
  ])
  const answer = async (request: IncomingMessage): Promise<AdminResponse> => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const make = answers.get(path)
    if (!make) return json(404, { error: `not found; the paths are ${[...answers.keys()].join(', ')}` })
    if (!['GET', 'HEAD'].includes(request.method ?? '')) return json(405, { error: 'this path takes GET, HEAD' })
    return make()
  }
  const server = createServer(LIMITS, (request, response) => {
    request.resume()
    answer(request).then(
      (given) => send(response, given),
      (cause: unknown) => {
        parts.log.error({ event: 'admin_failed', cause })
        send(response, json(500, { error: 'the response failed; see the log' }))
      },
    )
  })
  const { url } = await listen(server, address, parts.log)
  return {
    url,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function json(status: number, body: object): AdminResponse {
  return { status, type: 'application/json', text: `${JSON.stringify(body)}\n` }
}

function send(response: ServerResponse, { status, type, text }: AdminResponse): void {
  const length = String(Buffer.byteLength(text))
  const allow = status === 405 ? ['Allow', 'GET, HEAD'] : []
  response.writeHead(status, [...SECURITY_HEADERS, ...allow, 'Content-Type', type, 'Content-Length', length])
  response.end(text)
}
