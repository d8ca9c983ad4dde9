import type { CoreSpec, OrderSpec } from '../config/core-spec.js'
import type { FieldSpec } from '../config/model-spec.js'
import { orderBy, totalOrder, uniformStart } from '../config/indexes/coverage.js'
import type { FieldDraft, ModelDraft } from '../config/parse/drafts.js'
import { checkFieldName, checkUsable, type FieldUse } from '../config/parse/field-names.js'
import { linkMeasure, OUTGROWN } from '../config/parse/link-size.js'
import type { ResourceDraft } from '../config/parse/resource-drafts.js'
import { doc, listOf } from '../config/schema/parts.js'
import { itemsOf, membersOf } from '../config/schema/yaml-shape.js'
import { nameOf, show } from '../config/words.js'
import type { NullsPlace } from '../pagination/paginator.js'
import { Problem } from '../foundation/problem.js'
import { quote } from '../resource/query.js'
import type { Feature, IndexNeed, Scope } from './feature.js'
import { someOf } from './names.js'
import type { PaginationSpec } from './pagination.js'

export interface OrderableSpec {
  readonly orderable: readonly FieldSpec[]
  /** Without the primary key that is appended to every ordering. */
  readonly defaultOrder: readonly OrderSpec[]
  /** The place of nulls by the name of the field; other fields have PostgreSQL's default. */
  readonly nulls: Readonly<Record<string, NullsPlace>>
}

export interface OrderPlan {
  /** Left out if the request names no order. */
  order?: readonly OrderSpec[]
}

const ORDERED: FieldUse = {
  used: 'ordered',
  whyNot: ({ type }) => (type.orderable ? undefined : `the type \`${type.name}\` has no order`),
}

/** `orderable: [title]`, `default_order: [-created_at]`: the orders that requests can choose, and the default. */
export const orderable: Feature<OrderableSpec, OrderPlan, PaginationSpec> = {
  keys: {
    orderable: doc(
      listOf({}, { minItems: 0 }),
      'The fields that lists can be ordered by.',
      'orderable: [created_at, title]',
    ),
    default_order: doc(
      listOf({}),
      'The order of lists without `?ordering=`; the primary key is always appended.',
      'default_order: [-created_at]',
    ),
    nulls: doc(
      { type: 'object', additionalProperties: { enum: ['first', 'last'] } },
      'Where nulls come in an ordering by a nullable field: `first` or `last`, in both directions. By default they come last, or first in descending order.',
      'nulls: { published_on: last }',
    ),
  },

  synonyms: {
    default_order: ['ordering', 'order_by'],
    orderable: ['ordering', 'sortable'],
    nulls: ['nulls_first', 'nulls_last'],
  },

  parse(resource, scope) {
    const { given, model } = resource
    if (model) {
      checkOrders(resource, model, scope)
      checkNulls(resource, model, scope)
    }
    const nulls = Object.fromEntries(membersOf(given('nulls'))) as Readonly<Record<string, NullsPlace>>
    return ({ field }) => ({
      orderable: itemsOf(given('orderable')).map((name) => field(String(name))),
      defaultOrder: itemsOf(given('default_order')).map((term) => {
        const name = fieldOf(String(term))
        return orderBy(field(name), name !== term, nulls[name])
      }),
      nulls,
    })
  },

  reserves: () => ['ordering'],

  parameters(spec) {
    const { orderable: fields, dialect } = spec
    if (fields.length === 0 || dialect !== undefined) return []
    const names = fields.flatMap(({ name }) => [name, `-${name}`])
    return [
      {
        name: 'ordering',
        on: ['list'],
        role: 'order',
        description: describeOrders(spec),
        schema: { type: 'array', items: { type: 'string', enum: names }, minItems: 1, uniqueItems: true },
        several: true,
        typescript: someOf(names),
        choices: names,
        read: compileOrder(spec),
      },
    ]
  },

  restrict: ({ orderable: fields }, { always }) => ({ orderable: fields.filter(({ name }) => always(name)) }),

  options: ({ orderable: fields, operations, dialect }) =>
    operations.includes('list') && dialect === undefined ? { ordering: fields.map(({ name }) => name) } : {},

  indexes(spec) {
    const { model, orderable: fields, defaultOrder, pagination } = spec
    const ownOrder = totalOrder(spec, defaultOrder)
    const [first] = ownOrder
    // Without a key, every order has all fields: no index serves it.
    if (first === undefined || model.key.length === 0) return []
    // Lists without pages are for tables that stay small, and are sorted.
    if (pagination.style.parameters.length === 0) return [...fields, first.field].map((field) => ({ field }))
    const cost = 'no index serves this order: every page sorts the whole table'
    return [
      ...fields.map((field, place) => {
        const order = totalOrder(spec, [{ field, descending: false }])
        const cost = `no index serves \`ordering=${field.name}\`: every page sorts the whole table`
        return { field, need: needOf(order, { key: 'orderable', place, cost }) }
      }),
      {
        field: first.field,
        ...(defaultOrder.length > 0 && { need: needOf(ownOrder, { key: 'default_order', cost }) }),
      },
    ]
  },
}

/** The name of the field in a term such as `-title`. */
function fieldOf(term: string): string {
  return term.replace(/^-/, '')
}

function needOf(total: readonly OrderSpec[], asked: Pick<IndexNeed, 'key' | 'place' | 'cost'>): IndexNeed {
  const order = uniformStart(total)
  return { ...asked, wanted: { equal: [], order }, best: order.map(({ field }) => field) }
}

/** Reads fields separated by commas; a leading `-` means descending. */
function compileOrder(spec: CoreSpec & OrderableSpec): (text: string, plan: OrderPlan) => void {
  const choices = new Map<string, OrderSpec>()
  for (const field of spec.orderable) {
    const nulls = spec.nulls[field.name]
    choices.set(field.name, orderBy(field, false, nulls))
    choices.set(`-${field.name}`, orderBy(field, true, nulls))
  }
  const allowed = spec.orderable.map((field) => field.name).join(', ')

  const readOne = (name: string): OrderSpec => {
    const order = choices.get(name)
    if (order) return order
    const help = `allowed are ${allowed}, each with an optional leading -`
    throw new Problem('invalid_query', `the parameter \`ordering\` names ${quote(name)}; ${help}`)
  }

  return (text, plan) => {
    const order = text.split(',', choices.size + 1).map(readOne)
    if (new Set(order.map(({ field }) => field)).size < order.length) {
      throw new Problem('invalid_query', 'the parameter `ordering` names a field twice')
    }
    plan.order = totalOrder(spec, order)
  }
}

function describeOrders(spec: CoreSpec & OrderableSpec): string {
  const { orderable: fields, defaultOrder, nulls } = spec
  const standard = totalOrder(spec, defaultOrder).map(({ field, descending }) =>
    descending ? `-${field.name}` : field.name,
  )
  return (
    `The order: one or several fields, each at most once, with \`-\` for descending. ` +
    `Without it: ${standard.join(', ')}.` +
    describeNulls(fields, nulls)
  )
}

/** Describes the position of nulls; empty if no orderable field is nullable. */
function describeNulls(fields: readonly FieldSpec[], nulls: OrderableSpec['nulls']): string {
  const nullable = fields.filter((field) => field.nullable)
  const named = (place: NullsPlace | undefined) =>
    nullable.filter(({ name }) => nulls[name] === place).map(({ name }) => `\`${name}\``)
  const sentences = [
    ['Nulls come first in either direction', named('first')],
    ['Nulls come last in either direction', named('last')],
    ['Nulls come last, or first if the field is descending', named(undefined)],
  ] as const
  return sentences
    .filter(([, names]) => names.length > 0)
    .map(([sentence, names]) => ` ${sentence}: ${names.join(', ')}.`)
    .join('')
}

/** Reports mistakes in the orders that a resource allows, and in its default order. */
function checkOrders(resource: ResourceDraft, model: ModelDraft, { models, report }: Scope): void {
  const { path, given } = resource
  const use = { report, use: ORDERED }
  const measure = linkMeasure(resource, models, report)
  // `pagination` reports a key that is too long.
  const isKeyTooLong = measure(model.key)
  const outgrows = (order: readonly FieldDraft[]) => !isKeyTooLong && measure(order)
  for (const [index, name] of itemsOf(given('orderable')).entries()) {
    const at = [...path, 'orderable', index]
    const field = report.isInvalid(at) ? undefined : checkUsable(model, String(name), { path: at }, use)
    if (field !== undefined && outgrows([...model.key, field]))
      report.add({ ...OUTGROWN, path: at, message: outgrown(field) })
  }
  const seen = new Set<string>()
  const order: FieldDraft[] = [...model.key]
  for (const [index, term] of itemsOf(given('default_order')).entries()) {
    const at = [...path, 'default_order', index]
    if (report.isInvalid(at)) continue
    const name = fieldOf(String(term))
    const field = checkUsable(model, name, { path: at }, use)
    if (seen.has(name))
      report.add({ code: 'SC316', path: at, message: `${show(name)} appears twice in the same order` })
    else if (field !== undefined && outgrows([...order, field]))
      report.add({ ...OUTGROWN, path: at, message: outgrown(field) })
    else if (field !== undefined) order.push(field)
    seen.add(name)
  }
}

/** Reports entries of `nulls` that have no effect: for a field that is unknown, never null, or not used in any order. */
function checkNulls({ path, given }: ResourceDraft, model: ModelDraft, { report }: Scope): void {
  const orders = ['orderable', 'default_order']
  const ordered = new Set(orders.flatMap((key) => itemsOf(given(key)).map((term) => fieldOf(nameOf(term)))))
  for (const [name] of membersOf(given('nulls'))) {
    const at = { path: [...path, 'nulls', name], part: 'key' } as const
    if (!checkFieldName(model, name, at, report)) continue
    const field = model.fields.get(name)
    if (field === undefined || report.isUncertain(field.path)) continue
    if (field.yaml.nullable !== true)
      report.add({
        ...at,
        code: 'SC322',
        message: `${show(name)} is never null`,
        help: ['remove it, or add `nullable: true` to the field'],
      })
    else if (!ordered.has(name) && !orders.some((key) => report.isInvalid([...path, key])))
      report.add({
        ...at,
        code: 'SC322',
        message: `no list can be ordered by ${show(name)}`,
        help: [`add ${show(name)} to \`orderable\`, or remove it here`],
      })
  }
}

function outgrown({ name }: FieldDraft): string {
  return `lists with cursors cannot be ordered by ${show(name)}: links contain its values and would become too long`
}
