import type { Resource } from '../resource/resource.js'
import { type JsonPart, reference } from './json-part.js'
import { anyOther, rejection, rejectionName, renderedProblem } from './responses.js'

/** The error responses of a resource by status; a dialect may have its own shape. */
export function rejecting({ spec }: Resource): (status: number | 'other') => JsonPart {
  const isRendered = spec.dialect?.rejection !== undefined
  if (!isRendered) return (status) => reference('responses', status === 'other' ? 'AnyOther' : rejectionName(status))
  return (status) => ({
    ...(status === 'other' ? anyOther() : rejection(status)),
    content: renderedProblem(spec.dialect?.rejectionSchema),
  })
}
