import { inspect } from 'node:util'
import type { Reply } from '../route.js'

/** Wraps code of a plugin that responds: an error names the code if it returns anything but a reply. */
export function requireReply<Given extends readonly unknown[]>(
  respond: (...given: Given) => Reply | Promise<Reply>,
  nameOf: () => string,
): (...given: Given) => Reply | Promise<Reply> {
  const check = (reply: unknown): Reply => {
    if (isReply(reply)) return reply
    const returned = inspect(reply, { depth: 0 })
    throw new TypeError(`${nameOf()} returned ${returned}; it must return a reply, such as { status: 200, body: {} }`)
  }
  return (...given) => {
    const reply = respond(...given) as Reply | Promise<Reply> | null | undefined
    return typeof reply === 'object' && reply !== null && 'then' in reply ? reply.then(check) : check(reply)
  }
}

export function isReply(reply: unknown): reply is Reply {
  return typeof reply === 'object' && reply !== null && 'status' in reply
}
