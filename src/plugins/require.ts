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
