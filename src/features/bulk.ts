import { BULK_OPERATIONS, type BulkOperation } from '../config/core-spec.js'
import { offers } from '../config/parse/resource-drafts.js'
import { doc, listOf } from '../config/schema/parts.js'
import { itemsOf } from '../config/schema/yaml-shape.js'
import { show } from '../config/words.js'
import type { Feature } from './feature.js'

export interface BulkSpec {
  /** The operations that accept several records. */
  readonly bulk: {
    readonly operations: readonly BulkOperation[]
    /** The maximum number of records in one request. */
    readonly max: number
  }
}

const DEFAULTS = { bulk: [], bulk_max: 100 } as const
const MAX_AT_ONCE = 1_000

/** `bulk: [create]`: operations on several records in one request, all or nothing. */
export const bulk: Feature<BulkSpec> = {
  keys: {
    bulk: doc(
      listOf({ enum: BULK_OPERATIONS }, { minItems: 0, default: DEFAULTS.bulk }),
      'Operations that accept several records in one request, in one transaction.',
      'bulk: [create, partial_update, destroy]',
    ),
    bulk_max: doc(
      { type: 'integer', minimum: 1, maximum: MAX_AT_ONCE, default: DEFAULTS.bulk_max },
      'The maximum number of records in such a request.',
    ),
  },

  parse(resource, { report }) {
    const { path, given, has } = resource
    const asked = itemsOf(given('bulk')) as readonly BulkOperation[]
    if (has('bulk_max') && (given('bulk') === undefined || (has('bulk') && asked.length === 0))) {
      const message = '`bulk_max` has no effect without `bulk`'
      const help = ['add `bulk: [create]`, or remove it']
      report.add({ code: 'SC319', path: [...path, 'bulk_max'], part: 'key', message, help })
    }
    const isVersioned = has('concurrency') && given('concurrency') === 'required'
    for (const [place, operation] of has('bulk') ? asked.entries() : []) {
      const at = [...path, 'bulk', place]
      if (offers(resource, operation, report) === false) {
        const message = `the resource ${show(resource.name)} does not have the operation ${show(operation)}`
        report.add({ code: 'SC320', path: at, message })
      } else if (isVersioned && operation !== 'create') {
        const message = `${show(operation)} in bulk cannot send an ETag for each record, which \`concurrency: required\` requires`
        report.add({ code: 'SC304', path: at, message, help: ['remove one of the two'] })
      }
    }
    return () => ({
      bulk: {
        operations: BULK_OPERATIONS.filter((operation) => asked.includes(operation)),
        max: (given('bulk_max') as number | undefined) ?? DEFAULTS.bulk_max,
      },
    })
  },

  options({ operations, bulk: { operations: several, max } }) {
    const offered = several.filter((operation) => operations.includes(operation))
    return offered.length > 0 ? { bulk: offered, bulk_max: max } : {}
  },
}
