import pg from 'pg'

/** The driver's client and connection, as far as their declared types leave it out. */
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

/** Milliseconds for asking the server to cancel something. */
const CONNECT_TIMEOUT = 1_000

/**
 * Asks the server, on a connection of its own as the protocol has it, to cancel what it does for a client. Whether it did is told by the answer of
 * the statement. A request that comes late would meet the next statement, so the client must not be used again.
 */
export function cancelStatement(client: pg.ClientBase): void {
  const { processID, secretKey, host, port, connectionParameters } = client as unknown as Session
  // The embedded database has no sessions: what it does is done before anybody could ask.
  if (processID === null || secretKey === null) return
  const { ssl, sslnegotiation } = connectionParameters
  const wire = new Connection({ ssl, sslNegotiation: sslnegotiation })
  const timer = setTimeout(() => wire.stream.destroy(), CONNECT_TIMEOUT)
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

/** Ends a connection at once: a farewell would wait for a server that may be frozen, or for a network that swallows it. */
export function cutConnection(client: pg.PoolClient): void {
  client.release(true)
  cutStream(client)
}

export function cutStream(client: pg.ClientBase): void {
  ;(client as unknown as Session).connection.stream.destroy()
}
