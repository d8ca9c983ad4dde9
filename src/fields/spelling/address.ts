import { isIPv4, isIPv6 } from 'node:net'

/** An IP address, and the length of its network's prefix. */
interface Address {
  /** As PostgreSQL prints it. */
  readonly host: string
  readonly words: readonly number[]
  readonly bits: number
  readonly most: number
}

/**
 * An address as PostgreSQL prints it, with the length of the prefix unless it is a single address; undefined for any
 * other text.
 */
export function canonicalAddress(text: string): string | undefined {
  const address = readAddress(text)
  if (!address) return undefined
  const { host, bits, most } = address
  return bits === most ? host : `${host}/${bits}`
}

/** A network as PostgreSQL prints it, always with the length of its prefix; undefined if bits after the prefix are set. */
export function canonicalNetwork(text: string): string | undefined {
  const address = readAddress(text)
  return address && isNetwork(address) ? `${address.host}/${address.bits}` : undefined
}

function readAddress(text: string): Address | undefined {
  const [, host = '', length] = /^([0-9a-fA-F:.]{2,45})(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? []
  const words = isIPv4(host) ? wordsOfIPv4(host) : isIPv6(host) ? wordsOfIPv6(host) : undefined
  if (!words) return undefined
  const most = 16 * words.length
  const bits = length === undefined ? most : Number(length)
  return bits > most ? undefined : { host: words.length === 2 ? dotted(words) : printIPv6(words), words, bits, most }
}

function wordsOfIPv4(host: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = host.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}

function wordsOfIPv6(host: string): readonly number[] {
  const [start = '', end] = host.split('::')
  const [left, right] = [wordsBetweenColons(start), wordsBetweenColons(end ?? '')]
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function wordsBetweenColons(part: string): readonly number[] {
  if (part === '') return []
  return part.split(':').flatMap((word) => (word.includes('.') ? wordsOfIPv4(word) : [parseInt(word, 16)]))
}

function dotted(words: readonly number[]): string {
  return words.flatMap((word) => [word >> 8, word & 255]).join('.')
}

/** Omits the first of the longest runs of zeros, and prints IPv4 addresses within IPv6 in their own form. */
function printIPv6(words: readonly number[]): string {
  const [at, length] = longestRun(words)
  const isMapped = at === 0 && (length === 6 || (length === 5 && words[5] === 0xffff))
  const printed = words.map((word) => word.toString(16))
  const all = isMapped ? [...printed.slice(0, 6), dotted(words.slice(6))] : printed
  return length < 2 ? all.join(':') : `${all.slice(0, at).join(':')}::${all.slice(at + length).join(':')}`
}

function longestRun(words: readonly number[]): readonly [at: number, length: number] {
  let best: readonly [number, number] = [0, 0]
  for (let at = 0; at < words.length; at++) {
    let end = at
    while (words[end] === 0) end += 1
    if (end - at > best[1]) best = [at, end - at]
  }
  return best
}

function isNetwork({ words, bits }: Address): boolean {
  return words.every((word, index) => {
    const own = Math.min(16, Math.max(0, bits - 16 * index))
    return (word & (0xffff >> own)) === 0
  })
}
