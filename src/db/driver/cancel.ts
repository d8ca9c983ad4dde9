import pg from 'pg'

/** The parts of the driver's client and connection that its types do not declare. */
interface Session {
  readonly processID: number | null
  readonly secretKey: number | null
  readonly host: string
  readonly port: number
  readonly connection: { readonly stream: { destroy(): void } }
  readonly connectionParameters: { readonly ssl: unknown; readonly sslnegotiation?: string }
}

interface Wire extends pg.Connection {
  connect(port: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
}

const Connection = pg.Connection as unknown as new (config: {
  readonly ssl: unknown
  readonly sslNegotiation: string | undefined
}) => Wire

/** How long a cancel request may take, in ms. */
const CONNECT_TIMEOUT_MS = 1_000

/**
 * Asks the server to cancel a client's current statement, on a separate connection as the protocol requires. The statement's own response says
 * whether that worked. A late request would cancel the next statement, so the client must not be used again.
 * @returns false if nothing can be cancelled
 */
export function cancelStatement(client: pg.ClientBase): boolean {
  const { processID, secretKey, host, port, connectionParameters } = client as unknown as Session
  // The embedded database has no sessions; its statements end before anyone could cancel them.
  if (processID === null || secretKey === null) return false
  const { ssl, sslnegotiation } = connectionParameters
  const wire = new Connection({ ssl, sslNegotiation: sslnegotiation })
  const timer = setTimeout(() => wire.stream.destroy(), CONNECT_TIMEOUT_MS)
  wire.on('error', () => wire.stream.destroy())
  wire.on('end', () => clearTimeout(timer))
  const cancel = () => wire.cancel(processID, secretKey)
  wire.on('sslconnect', cancel)
  wire.on('connect', () => {
    if (!ssl) cancel()
    else if (sslnegotiation !== 'direct') wire.requestSsl()
  })
  if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`)
  else wire.connect(port, host)
  return true
}

/** A statement outside of transactions that a signal can end. */
export interface Abortable {
  /** `giveUp` takes it out of the queue. */
  waits(giveUp: (() => void) | undefined): void
  sent(client: pg.ClientBase): void
  /** It has been answered, or failed. @returns whether it was cancelled, so that its client must not be used again */
  over(): boolean
}

/** Ends a statement when the signal is given: it leaves the queue or is cancelled, and is rejected with the reason of the signal at once. */
export function abortOn(signal: AbortSignal, reject: (reason: Error) => void): Abortable {
  let end: (() => void) | undefined
  let isCancelled = false
  const abort = () => {
    end?.()
    reject(signal.reason as Error)
  }
  signal.addEventListener('abort', abort, { once: true })
  return {
    waits: (giveUp) => {
      end ??= giveUp
    },
    sent: (client) => {
      end = () => {
        isCancelled = cancelStatement(client)
      }
    },
    over: () => {
      signal.removeEventListener('abort', abort)
      return isCancelled
    },
  }
}

/** Closes a connection at once. A clean shutdown would wait for a frozen server or a network that drops packets. */
export function cutConnection(client: pg.PoolClient): void {
  client.release(true)
  cutStream(client)
}

export function cutStream(client: pg.ClientBase): void {
  ;(client as unknown as Session).connection.stream.destroy()
}
