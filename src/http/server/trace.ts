import type { IncomingHttpHeaders } from 'node:http'

/** Where a request belongs among those of other services, as its client said it (W3C Trace Context). */
export interface Trace {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** What the client was doing: 16 hexadecimal digits. */
  readonly parentId: string
  /** Whether the client keeps what it records. */
  readonly sampled: boolean
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NOBODY = /^0+$/
const SAMPLED = 1

/** The trace of a request; undefined when the client named none, or none that is valid. */
export function readTrace({ traceparent }: IncomingHttpHeaders): Trace | undefined {
  // Most requests have none.
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || NOBODY.test(traceId) || NOBODY.test(parentId)) return undefined
  // Later versions may say more; the first says exactly this.
  if (version === '00' && more !== undefined) return undefined
  return Object.freeze({ traceId, parentId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED })
}
