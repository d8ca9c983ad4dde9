import type { Resource } from '../resource/resource.js'
import { type Part, reference } from './json-part.js'
import { anyOther, refusal, refusalName, renderedProblem } from './responses.js'

/** Refusals of the operations of a resource by their status; those of a dialect may have a shape of their own. */
export function refusing({ spec }: Resource): (status: number | 'other') => Part {
  const isRendered = spec.dialect?.refusal !== undefined
  if (!isRendered) return (status) => reference('responses', status === 'other' ? 'AnyOther' : refusalName(status))
  return (status) => ({
    ...(status === 'other' ? anyOther() : refusal(status)),
    content: renderedProblem(spec.dialect?.refusalSchema),
  })
}
