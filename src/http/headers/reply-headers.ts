import type { Reply } from '../route.js'

type Headers = NonNullable<Reply['headers']>

/** Adds `Accept-Encoding` to `Vary`. */
export function varied(headers: Headers): Headers {
  const vary = valueOf(headers, 'vary')
  if (vary === undefined) return { ...headers, Vary: 'Accept-Encoding' }
  return /accept-encoding|\*/i.test(vary) ? headers : withHeader(headers, 'Vary', `${vary}, Accept-Encoding`)
}

/** Handlers may spell the names of headers in any case. */
export function valueOf(headers: Headers, lowerCaseName: string): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === lowerCaseName)?.[1]
}

/** Replaces a header, however its name is spelled. */
export function withHeader(headers: Headers, name: string, value: string): Headers {
  const others = Object.entries(headers).filter(([other]) => other.toLowerCase() !== name.toLowerCase())
  return Object.fromEntries([...others, [name, value]])
}
