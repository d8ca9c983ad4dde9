import { inspect } from 'node:util'
import type { Reply } from '../route.js'

/** Wraps code of a plugin that responds: an error names the code if it returns anything but a reply. */
export function requireReply<Given extends readonly unknown[]>(
  respond: (...given: Given) => Reply | Promise<Reply>,
  nameOf: () => string,
): (...given: Given) => Reply | Promise<Reply> {
  const check = (reply: unknown): Reply => checkReply(reply, nameOf)
  return (...given) => {
    const reply = respond(...given) as Reply | Promise<Reply> | null | undefined
    return typeof reply === 'object' && reply !== null && 'then' in reply ? reply.then(check) : check(reply)
  }
}

/** Returns what code of a plugin returned. @throws TypeError that names the code if that is not a reply */
export function checkReply(returned: unknown, nameOf: () => string): Reply {
  const mistake = findMistake(returned)
  if (mistake !== undefined) throw new TypeError(`${nameOf()} returned ${mistake}`)
  return returned as Reply
}

/** Values are not shown, because they may be those of records. */
function findMistake(returned: unknown): string | undefined {
  if (typeof returned !== 'object' || returned === null || !('status' in returned))
    return `${describe(returned)}; it must return a reply, such as { status: 200, body: {} }`
  const { status, body, text, stream } = returned as Partial<Reply>
  if (!Number.isInteger(status) || Number(status) < 200 || Number(status) > 599)
    return `the status ${inspect(status, { depth: 0 })}; it must be an integer from 200 to 599`
  if (text !== undefined && typeof text !== 'string' && !(text instanceof Uint8Array))
    return `a \`text\` of another type: ${typeof text}; it must be a string or bytes`
  const contents = Object.entries({ body, text, stream }).filter(([, content]) => content !== undefined)
  if (contents.length < 2) return undefined
  return `${contents.map(([name]) => `\`${name}\``).join(' and ')}; a reply has at most one of them`
}

function describe(value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (typeof value !== 'object' || value === null) return inspect(value)
  if (Array.isArray(value)) return 'an array'
  const members = Object.keys(value)
  return members.length === 0 ? 'an empty object' : `an object with the members ${members.join(', ')}`
}
