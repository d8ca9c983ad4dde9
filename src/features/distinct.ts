import type { FieldSpec } from '../config/model-spec.js'
import type { OrderSpec } from '../config/core-spec.js'
import { checkUsable, type FieldUse } from '../config/parse/field-names.js'
import { linkMeasure, OUTGROWN } from '../config/parse/link-size.js'
import { doc, listOf } from '../config/schema/parts.js'
import { itemsOf } from '../config/schema/yaml-shape.js'
import { show } from '../config/words.js'
import { Problem } from '../foundation/problem.js'
import { quote } from '../resource/query.js'
import type { Feature } from './feature.js'
import { oneOf } from './names.js'
import type { OrderableSpec, OrderPlan } from './orderable.js'

export interface DistinctSpec {
  /** The fields whose distinct values lists can return. */
  readonly distinct: readonly FieldSpec[]
}

export interface DistinctPlan extends OrderPlan {
  /** The field whose distinct values are listed, each as a record with only this member; undefined in lists of records. */
  distinct?: FieldSpec | undefined
}

const MAX_FIELDS = 20

const DISTINCT: FieldUse = {
  used: 'made distinct',
  whyNot: ({ type }) => (type.orderable ? undefined : `the type \`${type.name}\` has no order`),
}

/** `distinct: [language]`: `?distinct=language` lists the distinct values of the field instead of the records. */
export const distinct: Feature<DistinctSpec, DistinctPlan, OrderableSpec> = {
  plainOnly: true,

  keys: {
    distinct: doc(
      listOf({}, { maxItems: MAX_FIELDS }),
      'The fields whose distinct values `?distinct=` can list.',
      'distinct: [language, author]',
    ),
  },

  parse(resource, { models, report }) {
    const { path, model, given } = resource
    const names = itemsOf(given('distinct')).map(String)
    const outgrows = linkMeasure(resource, models, report)
    for (const [index, name] of names.entries()) {
      const at = [...path, 'distinct', index]
      if (!model || report.isInvalid(at)) continue
      const field = checkUsable(model, name, { path: at }, { report, use: DISTINCT })
      if (field === undefined || !outgrows([field])) continue
      const message = `lists with cursors cannot be made distinct by ${show(name)}: links contain its values and would become too long`
      report.add({ ...OUTGROWN, path: at, message })
    }
    return ({ field }) => ({ distinct: names.map(field) })
  },

  reserves: ({ given }) => (given('distinct') === undefined ? [] : ['distinct']),

  parameters({ distinct: fields, nulls }) {
    if (fields.length === 0) return []
    const orders = new Map(
      fields.map((field): [string, OrderSpec] => {
        const place = nulls[field.name]
        return [field.name, { field, descending: false, ...(place === 'first' && { nulls: place }) }]
      }),
    )
    const names = [...orders.keys()]
    return [
      {
        name: 'distinct',
        on: ['list'],
        description:
          'The field whose distinct values are listed in ascending order, each as a record with only this member, instead of the matching records.',
        schema: { type: 'string', enum: names },
        typescript: oneOf(names),
        partial: true,
        excludes: ['fields', 'expand', 'ordering'],
        read(text, plan) {
          const order = orders.get(text)
          if (order === undefined) {
            const message = `the parameter \`distinct\` must be one of: ${names.join(', ')}; got ${quote(text)}`
            throw new Problem('invalid_query', message)
          }
          plan.distinct = order.field
          plan.order = [order]
        },
      },
    ]
  },

  restrict: ({ distinct: fields }, { asks }) => ({ distinct: fields.filter(({ name }) => asks(name)) }),

  options: ({ distinct: fields, operations }) =>
    fields.length > 0 && operations.includes('list') ? { distinct: fields.map(({ name }) => name) } : {},
}
