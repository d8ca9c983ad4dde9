import type { IncomingHttpHeaders } from 'node:http'

/** The trace of a request, as sent by the client (W3C Trace Context). */
export interface Trace {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** The span of the client: 16 hexadecimal digits. */
  readonly parentId: string
  /** Whether the client records the trace. */
  readonly sampled: boolean
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ALL_ZEROS = /^0+$/
const SAMPLED = 1

/** Parses the trace of a request; undefined if the header is missing or invalid. */
export function readTrace({ traceparent }: IncomingHttpHeaders): Trace | undefined {
  // Most requests have none.
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || ALL_ZEROS.test(traceId) || ALL_ZEROS.test(parentId)) return undefined
  // Later versions may add parts; version 00 has exactly these.
  if (version === '00' && more !== undefined) return undefined
  return Object.freeze({ traceId, parentId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED })
}
