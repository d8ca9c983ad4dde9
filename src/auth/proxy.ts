import type { IncomingMessage } from 'node:http'
import { compileRanges } from '../config/address-ranges.js'
import type { AuthSpec, ProxySpec } from '../config/spec.js'
import { Problem } from '../foundation/problem.js'
import type { Identity } from '../resource/identity.js'
import { frozenIdentity, isSubject } from './claims.js'
import { unauthorized } from './unauthorized.js'

/**
 * Returns a function that reads the identity from the headers of a proxy; undefined if they name nobody.
 * @throws Problem `unauthorized` for these headers from another address, or a subject that is not UTF-8; `malformed_request` for a repeated header
 */
export function compileProxy(auth: AuthSpec, proxy: ProxySpec): (request: IncomingMessage) => Identity | undefined {
  const isProxy = compileRanges(proxy.from)
  return ({ headersDistinct, socket }) => {
    const [subjects = [], roles = []] = [proxy.subject, proxy.roles ?? ''].map((name) => headersDistinct[name])
    if (subjects.length === 0 && roles.length === 0) return undefined
    // The peer of the connection decides, because clients can choose every header.
    if (!isProxy(socket.remoteAddress)) throw unauthorized(auth, 'only the proxy says who a caller is')
    if (subjects.length > 1 || roles.length > 1)
      throw new Problem('malformed_request', 'the request has more than one header that says who the caller is')
    const subject = readUtf8(subjects[0] ?? '')?.trim()
    if (subject === '') return undefined
    if (!isSubject(subject)) throw unauthorized(auth, 'the proxy has sent no usable subject')
    const named = (roles[0] ?? '').split(/[ ,]/)
    return frozenIdentity({
      subject,
      roles: auth.roles.filter((role) => named.includes(role)),
      claims: {},
      method: 'proxy',
    })
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Node reads each byte of a header as a character; proxies send UTF-8. */
function readUtf8(bytes: string): string | undefined {
  try {
    return UTF8.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return undefined
  }
}
