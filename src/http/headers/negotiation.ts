import type { Context } from '../route.js'

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * Reads the weights of a header such as `Accept` (RFC 9110, 12.4.2): 1 without `q`, or with an invalid one.
 * @returns the highest weight of each name, in lower case
 */
export function readWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find((found) => found !== undefined)
    weights.set(name, Math.max(Number(weight ?? 1), weights.get(name) ?? 0))
  }
  return weights
}

/** The content codings of compressed responses, the shorter first. */
export const CODINGS = ['br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number]

/** Returns the codings that a client accepts (RFC 9110, 12.5.3), the shorter first. */
export function acceptedCodings({ headers }: Pick<Context, 'headers'>): readonly Coding[] {
  const weights = readWeights(String(headers['accept-encoding'] ?? ''))
  return CODINGS.filter((coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0)
}

/** Returns the entity tag of a compressed representation, because each coding has its own (RFC 9110, 8.8.3.3). */
export function codedTag(tag: string, coding: Coding): string {
  return `${tag.slice(0, -1)}-${coding}"`
}
