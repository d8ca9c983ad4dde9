import { FEATURES } from '../../features/index.js'
import type { Json } from '../../json.js'
import { lookupsOfType } from '../../lookups/index.js'
import { PAGINATION_STYLES } from '../../pagination/index.js'
import { linkMeasure, OUTGROWN } from './link-size.js'
import { checkFieldName, checkUsable, type FieldUse } from './field-names.js'
import { type Drafts, type FieldDraft, type ModelDraft } from './drafts.js'
import type { Path } from '../yaml/located.js'
import type { Report } from './report.js'
import type { ResourceDraft } from './resource-drafts.js'
import { nameOf, show } from '../words.js'
import { itemsOf, membersOf } from '../schema/yaml-shape.js'

const FILTERED: FieldUse = {
  used: 'filtered',
  whyNot: () => undefined,
}

const ORDERED: FieldUse = {
  used: 'ordered',
  whyNot: ({ type }) => (type.orderable ? undefined : `the type \`${type.name}\` has no order`),
}

/** The parameters that lists of any style use themselves. */
const RESERVED = new Set(['ordering', ...PAGINATION_STYLES.flatMap(({ parameters }) => parameters)])

/** Reports what is wrong with the filters of a resource. */
export const checkFilters = (resource: ResourceDraft, model: ModelDraft, report: Report): void => {
  const { path, yaml } = resource
  const at = [...path, 'filterable']
  const reserved = new Set([...RESERVED, ...FEATURES.flatMap((feature) => feature.reserves?.(resource) ?? [])])
  const given = yaml.filterable as Json | undefined
  const short = Array.isArray(given)
  const entries: readonly (readonly [string, readonly string[]])[] = short
    ? given.map((name) => [nameOf(name), ['exact']])
    : membersOf(given).map(([name, lookups]) => [name, itemsOf(lookups).map(nameOf)])
  for (const [position, [name, lookups]] of entries.entries()) {
    const place = [...at, short ? position : name]
    if (report.isSpoiled(place)) continue
    const part = short ? {} : ({ part: 'key' } as const)
    const field = checkUsable(model, name, { path: place, ...part }, { report, use: FILTERED })
    if (field === undefined) continue
    if (reserved.has(name))
      report.add({
        code: 'SC313',
        path: place,
        ...part,
        message: `a filter cannot be called ${show(name)}: lists use that parameter`,
      })
    checkParameter(name, entries, { path: place, report, ...part })
    const offered = lookupsOfType(field.type).map((lookup) => lookup.name)
    for (const [index, lookup] of lookups.entries()) {
      if (offered.includes(lookup)) continue
      const message = `the type \`${field.type.name}\` of ${show(name)} has no lookup \`${lookup}\``
      report.add({
        code: 'SC312',
        path: short ? place : [...place, index],
        message,
        help: [`its lookups: ${offered.join(', ')}`],
      })
    }
  }
}

/** A field called `title__in` and the lookup `in` of `title` would be one parameter. */
const checkParameter = (
  name: string,
  entries: readonly (readonly [string, readonly string[]])[],
  { path, part, report }: { readonly path: Path; readonly part?: 'key'; readonly report: Report },
): void => {
  if (!name.includes('__')) return
  const owner = entries.find(([other, lookups]) => lookups.some((lookup) => `${other}__${lookup}` === name))
  if (owner === undefined) return
  report.add({
    code: 'SC313',
    path,
    ...(part === undefined ? {} : { part }),
    message: `the filter ${show(name)} is also a lookup of ${show(owner[0])}`,
  })
}

/** Reports what is wrong with the orders that a resource allows, and with its own. */
export const checkOrders = (resource: ResourceDraft, model: ModelDraft, models: Drafts, report: Report): void => {
  const { path, yaml } = resource
  const use = { report, use: ORDERED }
  const outgrows = linkMeasure(resource, models, report)
  const key = model.key === undefined ? [] : [model.key]
  for (const [index, name] of itemsOf(yaml.orderable).entries()) {
    const at = [...path, 'orderable', index]
    const field = report.isSpoiled(at) ? undefined : checkUsable(model, String(name), { path: at }, use)
    if (field !== undefined && outgrows([...key, field]))
      report.add({ ...OUTGROWN, path: at, message: outgrown(field) })
  }
  const seen = new Set<string>()
  const order: FieldDraft[] = [...key]
  for (const [index, term] of itemsOf(yaml.default_order).entries()) {
    const at = [...path, 'default_order', index]
    if (report.isSpoiled(at)) continue
    const name = String(term).replace(/^-/, '')
    const field = checkUsable(model, name, { path: at }, use)
    if (seen.has(name)) report.add({ code: 'SC316', path: at, message: `${show(name)} stands twice in one order` })
    else if (field !== undefined && outgrows([...order, field]))
      report.add({ ...OUTGROWN, path: at, message: outgrown(field) })
    else if (field !== undefined) order.push(field)
    seen.add(name)
  }
}

/** Reports places of nulls that no list has: of a field that is unknown, never null, or that no list is ordered by. */
export const checkNulls = ({ path, yaml }: ResourceDraft, model: ModelDraft, report: Report): void => {
  const orders = (['orderable', 'default_order'] as const).map((key) => [...path, key])
  const terms = [...itemsOf(yaml.orderable), ...itemsOf(yaml.default_order)].map(nameOf)
  const ordered = new Set(terms.map((term) => term.replace(/^-/, '')))
  for (const [name] of membersOf(yaml.nulls)) {
    const at = { path: [...path, 'nulls', name], part: 'key' } as const
    if (!checkFieldName(model, name, at, report)) continue
    const field = model.fields.get(name)
    if (field === undefined || report.isDoubtful(field.path)) continue
    if (field.yaml.nullable !== true)
      report.add({
        ...at,
        code: 'SC322',
        message: `${show(name)} is never null`,
        help: ['remove it, or add `nullable: true` to the field'],
      })
    else if (!ordered.has(name) && !orders.some((each) => report.isSpoiled(each)))
      report.add({
        ...at,
        code: 'SC322',
        message: `no list can be ordered by ${show(name)}`,
        help: [`add ${show(name)} to \`orderable\`, or remove it here`],
      })
  }
}

const outgrown = ({ name }: FieldDraft): string =>
  `lists with cursors cannot be ordered by ${show(name)}: links hold its values, and would become too long`
