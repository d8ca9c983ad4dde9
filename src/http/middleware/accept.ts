import { Problem } from '../../problem.js'
import type { Stage } from './endpoint.js'

const JSON_TYPE = 'application/json'
const RANGE = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** Rejects clients that cannot read the responses, as 406, before anything is done. */
export const accept: Stage = (next, { respondsJson, operation: { mediaType = JSON_TYPE } }) => {
  if (!respondsJson) return next
  return (context, input) => {
    const { accept } = context.headers
    if (accept !== undefined && !admits(mediaType, String(accept))) {
      throw new Problem('not_acceptable', `responses here are ${mediaType}, which \`Accept\` does not allow`)
    }
    return next(context, input)
  }
}

/** Whether an `Accept` takes a media type. The most specific range decides; invalid media ranges are ignored. */
function admits(mediaType: string, accept: string): boolean {
  if (accept === '*/*' || accept === mediaType) return true
  const weights = new Map<string, number>()
  for (const part of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    if (!RANGE.test(range)) continue
    const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find((found) => found !== undefined)
    weights.set(range, Math.max(Number(weight ?? 1), weights.get(range) ?? 0))
  }
  const decisive = [mediaType, `${mediaType.split('/')[0]}/*`, '*/*'].find((range) => weights.has(range))
  return decisive === undefined ? weights.size === 0 : weights.get(decisive) !== 0
}
