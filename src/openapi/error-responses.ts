import type { Resource } from '../resource/resource.js'
import { type Part, reference } from './json-part.js'
import { anyOther, refusal, refusalName, renderedProblem } from './responses.js'

/** The error responses of a resource by status; a dialect may have its own shape. */
export function refusing({ spec }: Resource): (status: number | 'other') => Part {
  const isRendered = spec.dialect?.refusal !== undefined
  if (!isRendered) return (status) => reference('responses', status === 'other' ? 'AnyOther' : refusalName(status))
  return (status) => ({
    ...(status === 'other' ? anyOther() : refusal(status)),
    content: renderedProblem(spec.dialect?.refusalSchema),
  })
}
