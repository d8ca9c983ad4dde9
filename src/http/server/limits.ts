/** What a server puts up with. Times are milliseconds. */
export interface Limits {
  /** Until the head of a request has arrived. */
  readonly headersTimeout: number
  /** Until a request has arrived with its body. */
  readonly requestTimeout: number
  /** Between two requests on one connection. */
  readonly keepAliveTimeout: number
  /** Without a byte in either direction. */
  readonly idleTimeout: number
  /** Until a handler has answered, not counting the time in which it waits for the body. */
  readonly handlerTimeout: number
  /** Until connections are cut that a drain waits for. */
  readonly drainTimeout: number
  /** Until plugins close what a version of the application opened that was replaced, though requests still use it. */
  readonly replacedTimeout: number
  /** How long and how much of a refused body is read, so that the client gets to see the refusal. */
  readonly lingerTimeout: number
  readonly lingerBytes: number
  readonly headers: number
  readonly requestsPerConnection: number
  readonly connections: number
  /** Requests of one connection that are worked on at once. */
  readonly inProgress: number
  /** Requests in progress that were sent before an earlier one of their connection was answered, over all connections. */
  readonly pipelined: number
  /** Bytes of answers that wait for their clients, over all connections; further lists wait until there is room, so long at most. */
  readonly sendBytes: number
  readonly sendTimeout: number
  /** How long a client may take a large answer more slowly than so many bytes a second, while others wait for room. */
  readonly stallTimeout: number
  readonly stallRate: number
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  idleTimeout: 60_000,
  handlerTimeout: 10_000,
  drainTimeout: 10_000,
  replacedTimeout: 600_000,
  lingerTimeout: 1_000,
  lingerBytes: 512 * 1024,
  headers: 100,
  requestsPerConnection: 1_000,
  connections: 10_000,
  inProgress: 8,
  pipelined: 64,
  sendBytes: 64 * 1024 * 1024,
  sendTimeout: 5_000,
  stallTimeout: 3_000,
  stallRate: 32 * 1024,
})
