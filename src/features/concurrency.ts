import type { Operation } from '../config/core-spec.js'
import { offers, type ResourceDraft } from '../config/parse/resource-drafts.js'
import { doc, oneOfNames } from '../config/schema/parts.js'
import type { Feature, HeaderDescription, Scope } from './feature.js'

export interface ConcurrencySpec {
  /** Whether changes must name the version that they apply to. */
  readonly concurrency: Concurrency
}

type Concurrency = 'optional' | 'required'

const DEFAULT: Concurrency = 'optional'
const CHANGES: readonly Operation[] = ['update', 'partial_update', 'destroy']

/** `concurrency: required`: changes must name the version of the record in `If-Match`. */
export const concurrency: Feature<ConcurrencySpec> = {
  keys: {
    concurrency: doc(
      oneOfNames(['optional', 'required'], DEFAULT),
      'Whether changes and deletions must have `If-Match` with the version of the record.',
      'concurrency: required',
    ),
  },

  parse(resource, scope) {
    checkNeeded(resource, scope)
    return () => ({ concurrency: (resource.given('concurrency') as Concurrency | undefined) ?? DEFAULT })
  },

  responses({ concurrency: mode }, { operation, bulk }) {
    // A version belongs to one record.
    if (bulk || operation === 'list' || operation === 'action') return {}
    if (operation === 'create') return { headers: ['ETag'] }
    if (operation === 'retrieve')
      return {
        requestHeaders: {
          'If-Match': versions(
            'The versions that are wanted, or `*` for any; if the record has none of them, the status is 412.',
          ),
          'If-None-Match': versions('Versions that the client has; if the record has one of them, the status is 304.'),
        },
        headers: ['ETag'],
        answers: { 304: { description: 'The client has this version.', headers: ['ETag'] } },
        problems: ['malformed_request', 'precondition_failed'],
      }
    const isRequired = mode === 'required'
    return {
      requestHeaders: {
        'If-Match': versions('The versions that the change is meant for, or `*` for any.', isRequired),
        'If-None-Match': versions('The versions that the change is not meant for.'),
      },
      headers: operation === 'destroy' ? [] : ['ETag'],
      problems: isRequired ? ['precondition_failed', 'precondition_required'] : ['precondition_failed'],
    }
  },
}

function versions(description: string, required = false): HeaderDescription {
  return { description, required, schema: { type: 'string' }, any: () => '*' }
}

/** Reports required versions where no operation changes records, or where clients cannot learn the version. */
function checkNeeded(resource: ResourceDraft, { report }: Scope): void {
  if (!resource.has('concurrency') || resource.given('concurrency') !== 'required') return
  const at = { path: [...resource.path, 'concurrency'], part: 'key' } as const
  if (CHANGES.every((operation) => offers(resource, operation, report) === false)) {
    const message = '`concurrency` has no effect: the resource neither updates nor deletes records'
    report.add({ ...at, code: 'SC319', message, help: ['remove it'] })
  } else if (offers(resource, 'retrieve', report) === false) {
    const message = '`concurrency: required` needs the operation `retrieve`, which gives clients the ETag of a record'
    report.add({ ...at, code: 'SC320', message })
  }
}
