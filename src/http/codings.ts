import type { Context } from './route.js'
import { readWeights } from './weights.js'

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
