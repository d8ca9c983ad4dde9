import { inspect } from 'node:util'

export function requireName(what: string, given: unknown): void {
  if (typeof given === 'string' && given !== '') return
  throw new Error(`${what} is ${inspect(given)}; it must be a text`)
}

export function requireFunction(what: string, given: unknown): void {
  if (typeof given === 'function') return
  throw new Error(`${what} is ${inspect(given, { depth: 0 })}; it must be a function`)
}

export function isMapping(given: unknown): given is Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** Clients resolve `.` and `..` before they send a path, so such a path could never be requested. */
export function requirePath(what: string, given: unknown): void {
  const segments = typeof given === 'string' ? given.split('/') : []
  const sound = segments.at(0) === '' && segments.at(-1) === ''
  if (given === '/' || (sound && segments.slice(1, -1).every((segment) => !['', '.', '..'].includes(segment)))) return
  throw new Error(
    `${what} is ${inspect(given)}; it must start and end with a slash, with no doubled slash, \`.\` or \`..\` in between`,
  )
}
