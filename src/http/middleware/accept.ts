import { Problem } from '../../foundation/problem.js'
import { readWeights } from '../headers/negotiation.js'
import type { Stage } from './endpoint.js'

const JSON_TYPE = 'application/json'
const RANGE = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/

/** Rejects requests whose `Accept` excludes the media type of the response (406), before plugins and the operation run. */
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

/** Whether an `Accept` header allows a media type. The most specific range decides; invalid media ranges are ignored. */
function admits(mediaType: string, accept: string): boolean {
  if (accept === '*/*' || accept === mediaType) return true
  const weights = new Map([...readWeights(accept)].filter(([range]) => RANGE.test(range)))
  const decisive = [mediaType, `${mediaType.split('/')[0]}/*`, '*/*'].find((range) => weights.has(range))
  return decisive === undefined ? weights.size === 0 : weights.get(decisive) !== 0
}
