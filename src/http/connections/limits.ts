/** The limits of a server. Times are in ms. */
export interface Limits {
  /** For the head of a request to arrive. */
  readonly headersTimeout: number
  /** For a request to arrive with its body. */
  readonly requestTimeout: number
  /** Between two requests on a connection. */
  readonly keepAliveTimeout: number
  /** Without a byte in either direction. */
  readonly idleTimeout: number
  /** For a handler to respond, not counting the time that it waits for the body. */
  readonly handlerTimeout: number
  /** For an export, and for its client to read something while the database waits for it. */
  readonly exportTimeout: number
  readonly exportStallTimeout: number
  /** For connections to finish during a drain, before they are closed. */
  readonly drainTimeout: number
  /** For requests to finish on a replaced version of the application, before its plugins are closed. */
  readonly replacedTimeout: number
  /** Between two checks for altered tables while there are requests and none of them reports a problem. */
  readonly tableCheckInterval: number
  /** The time and bytes for which a rejected body is read, so that the client sees the response. */
  readonly lingerTimeout: number
  readonly lingerBytes: number
  readonly headers: number
  readonly requestsPerConnection: number
  readonly connections: number
  /** Requests of one connection that are processed at once. */
  readonly inProgress: number
  /** Pipelined requests in progress, over all connections. */
  readonly pipelined: number
  /** Bytes of bodies that are arriving or being processed, over all connections, and how long one may arrive too slowly while others need room. */
  readonly receiveBytes: number
  readonly receiveStall: number
  /** Bytes of responses that wait for their clients, over all connections, and how long further lists wait for room. */
  readonly sendBytes: number
  readonly sendTimeout: number
  /** How long a client may read a large response too slowly, while others wait for room. */
  readonly stallTimeout: number
  /** The bytes per second below which a client is too slow. */
  readonly stallRate: number
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  idleTimeout: 60_000,
  handlerTimeout: 10_000,
  exportTimeout: 300_000,
  exportStallTimeout: 10_000,
  drainTimeout: 10_000,
  replacedTimeout: 600_000,
  tableCheckInterval: 10_000,
  lingerTimeout: 1_000,
  lingerBytes: 512 * 1024,
  headers: 100,
  requestsPerConnection: 1_000,
  connections: 10_000,
  inProgress: 8,
  pipelined: 64,
  receiveBytes: 128 * 1024 * 1024,
  receiveStall: 1_000,
  sendBytes: 64 * 1024 * 1024,
  sendTimeout: 5_000,
  stallTimeout: 3_000,
  stallRate: 32 * 1024,
})
