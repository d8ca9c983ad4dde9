import { Problem } from '../problem.js'
import type { Handler } from './route.js'

/** What can be answered, and the ranges that hold it, the most telling first. */
const RANGES = ['application/json', 'application/*', '*/*']
const RANGE = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** A handler that answers JSON, and does nothing for clients who say that they cannot read it: they are refused, as 406. */
export function answeringJson(handle: Handler): Handler {
  return (context) => {
    const { accept } = context.headers
    if (accept !== undefined && !admitsJson(String(accept))) {
      throw new Problem('not_acceptable', 'this is answered as application/json, which `Accept` does not take')
    }
    return handle(context)
  }
}

/** Whether an `Accept` takes JSON. The most telling range decides; what is no media range is as if it were not there. */
function admitsJson(accept: string): boolean {
  if (accept === '*/*' || accept === 'application/json') return true
  const weights = new Map<string, number>()
  for (const part of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    if (!RANGE.test(range)) continue
    const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find((found) => found !== undefined)
    weights.set(range, Math.max(Number(weight ?? 1), weights.get(range) ?? 0))
  }
  const decisive = RANGES.find((range) => weights.has(range))
  return decisive === undefined ? weights.size === 0 : weights.get(decisive) !== 0
}
