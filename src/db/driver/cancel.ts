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
 */
export function cancelStatement(client: pg.ClientBase): void {
  const { processID, secretKey, host, port, connectionParameters } = client as unknown as Session
  // The embedded database has no sessions; its statements end before anyone could cancel them.
  if (processID === null || secretKey === null) return
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
}

/** Closes a connection at once. A clean shutdown would wait for a frozen server or a network that drops packets. */
export function cutConnection(client: pg.PoolClient): void {
  client.release(true)
  cutStream(client)
}

export function cutStream(client: pg.ClientBase): void {
  ;(client as unknown as Session).connection.stream.destroy()
}
