import { PLAIN } from '../dialects/index.js'
import { COUNT, envelopeOf, NEIGHBOUR, objectOf } from '../dialects/description.js'
import { linkMeasure, OUTGROWN } from '../config/parse/link-size.js'
import { offers, type ResourceDraft } from '../config/parse/resource-drafts.js'
import { doc, mapping, oneOfNames } from '../config/schema/parts.js'
import { membersOf } from '../config/schema/yaml-shape.js'
import { show } from '../config/words.js'
import type { Json, JsonSchema } from '../foundation/json.js'
import { PAGINATION_STYLES, paginationStyle } from '../pagination/index.js'
import type { PageSizes, PaginationStyle } from '../pagination/paginator.js'
import type { Feature, Scope } from './feature.js'

type CountMode = 'exact' | 'capped' | 'none'

export interface PaginationSpec {
  readonly pagination: PageSizes & {
    readonly style: PaginationStyle
    /** `stepwise` counts up to the cap, then exactly in a second statement: for callers who do not see all records. */
    readonly count: CountMode | 'stepwise'
    readonly envelope: 'none' | 'results'
  }
}

interface PaginationYaml {
  readonly style: string
  readonly page_size: number
  readonly max_page_size: number
  readonly max_offset: number
  readonly count: CountMode
  readonly envelope: 'none' | 'results'
}

/** The sizes of pages where the configuration names none. */
export const PAGE_SIZES = { page_size: 10, max_page_size: 100 } as const

const DEFAULTS = {
  style: 'page_number',
  ...PAGE_SIZES,
  max_offset: 1_000_000,
  count: 'capped',
  envelope: 'none',
} as const satisfies PaginationYaml

const MAX_PAGE_SIZE = 10_000
const MAX_OFFSET = 1_000_000_000

/** `pagination: { style: page_number, page_size: 20 }`: how lists are divided into pages. */
export const pagination: Feature<PaginationSpec> = {
  keys: {
    pagination: doc(
      paginationSchema(),
      'How lists are divided into pages.',
      'pagination: { style: page_number, page_size: 20 }',
    ),
  },

  parse(resource, scope) {
    checkSizes(resource, scope)
    checkInDialect(resource, scope)
    checkKeyLength(resource, scope)
    return ({ model }) => {
      const given = Object.fromEntries(membersOf(resource.given('pagination'))) as Partial<PaginationYaml>
      const { style: name, page_size, max_page_size, max_offset, count, envelope } = { ...DEFAULTS, ...given }
      const style = paginationStyle(name)
      // The shape was checked against the same list.
      if (style === undefined) throw new Error(`no style of pagination is named ${name}`)
      return {
        pagination: {
          style,
          pageSize: page_size,
          maxPageSize: max_page_size,
          maxOffset: max_offset,
          keyed: model.key.length > 0,
          count,
          envelope,
        },
      }
    }
  },

  /** Reserves the parameters of every style, so that a resource can change its style later. */
  reserves: () => PAGINATION_STYLES.flatMap(({ parameters }) => parameters),

  parameters({ pagination: paging, dialect }) {
    if (dialect !== undefined) return []
    return paging.style.describe(paging).map(({ name, description, schema }) => ({
      name,
      on: ['list'],
      role: name === paging.style.size ? 'size' : 'page',
      description,
      schema,
      typescript: schema['type'] === 'integer' ? 'number' : 'string',
    }))
  },

  options: ({ pagination: spec, operations, dialect }) =>
    operations.includes('list') && dialect === undefined
      ? { pagination: spec.style.describe(spec).map(({ name }) => name) }
      : {},

  restrict: ({ model, pagination: spec, dialect }, { seesAll, always }) => ({
    pagination: {
      ...spec,
      // An estimate would count records that the caller does not see.
      count: seesAll || !mayEstimate(spec.count, dialect !== undefined) ? spec.count : 'stepwise',
      // Cursors contain the key.
      keyed: spec.keyed && model.key.every(({ name }) => always(name)),
    },
  }),

  responses({ pagination: { style, count, envelope }, dialect }, { operation }) {
    if (operation !== 'list' || dialect !== undefined) return {}
    const total = count === 'none' ? [] : ['X-Total-Count', ...(count === 'capped' ? ['X-Total-Count-Estimated'] : [])]
    return {
      headers: [...(style.parameters.length > 0 ? ['Link'] : []), ...total],
      ...(envelope === 'results' && { wrap: (items: JsonSchema) => wrap(items, count) }),
    }
  },
}

function paginationSchema(): JsonSchema {
  const size = { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE }
  const styles = PAGINATION_STYLES.map(({ name, summary }) => `- \`${name}\`: ${summary}`).join('\n')
  return mapping('the pagination', {
    style: doc(
      oneOfNames(
        PAGINATION_STYLES.map(({ name }) => name),
        DEFAULTS.style,
      ),
      `How lists are divided into pages.\n${styles}`,
    ),
    page_size: doc(
      { ...size, default: DEFAULTS.page_size },
      'The number of records on a page if the request has no size.',
    ),
    max_page_size: doc({ ...size, default: DEFAULTS.max_page_size }, 'The maximum size of a page.'),
    max_offset: doc(
      { type: 'integer', minimum: 0, maximum: MAX_OFFSET, default: DEFAULTS.max_offset },
      'The maximum number of rows before a page that is requested by number or offset. The `cursor` in links reaches further.',
    ),
    count: doc(
      oneOfNames(['exact', 'capped', 'none'], DEFAULTS.count),
      'The totals of lists: exact, exact up to 10000 and estimated above, or none.',
    ),
    envelope: doc(
      oneOfNames(['none', 'results'], DEFAULTS.envelope),
      'Whether a list is a bare array or an object with `results`.',
    ),
  })
}

const SIZES = ['page_size', 'max_page_size'] as const
/** Settings without effect, by style. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  none: [...SIZES, 'max_offset'],
  cursor: ['max_offset'],
}

/** Reports settings without effect, and a `page_size` above `max_page_size`. */
function checkSizes({ path, given: valueOf, dialect }: ResourceDraft, { report }: Scope): void {
  const at = [...path, 'pagination']
  const sound = membersOf(valueOf('pagination')).filter(([key]) => !report.isInvalid([...at, key]))
  const given: Readonly<Record<string, Json>> = Object.fromEntries(sound)
  // A dialect pages in its own style.
  const style = dialect === PLAIN ? String(given['style']) : ''
  for (const key of UNUSED[style]?.filter((unused) => given[unused] !== undefined) ?? []) {
    report.add({
      code: 'SC319',
      path: [...at, key],
      part: 'key',
      message: `\`${key}\` has no effect: the style is \`${style}\``,
      help: [`remove \`${key}\`, or choose another style`],
    })
  }
  if (style === 'none') return
  const { page_size, max_page_size } = { ...DEFAULTS, ...(given as Partial<PaginationYaml>) }
  if (page_size <= max_page_size || report.isUncertain(at)) return
  const byDefault = (key: (typeof SIZES)[number]) => (given[key] === undefined ? ' (the default)' : '')
  const [later = 'page_size'] = SIZES.filter((key) => given[key] !== undefined).sort(
    (one, other) => report.offset([...at, other]) - report.offset([...at, one]),
  )
  const message = `\`page_size\` is ${page_size}${byDefault('page_size')}, which is more than \`max_page_size\`, ${max_page_size}${byDefault('max_page_size')}`
  report.add({ code: 'SC304', path: [...at, later], message })
}

/** Reports settings that a dialect overrides. */
function checkInDialect({ path, given, dialect }: ResourceDraft, { report }: Scope): void {
  if (dialect === PLAIN) return
  const paging = new Map(membersOf(given('pagination')))
  const isIdle = (key: string) => paging.has(key) && (key !== 'count' || paging.get(key) === 'none')
  for (const key of ['style', 'envelope', 'count'].filter(isIdle)) {
    const at = [...path, 'pagination', key]
    if (report.isInvalid(at)) continue
    const message =
      key === 'count'
        ? `responses in the dialect ${show(dialect)} always include the number of records`
        : `\`${key}\` has no effect: the dialect is ${show(dialect)}`
    report.add({ code: 'SC319', path: at, part: 'key', message, help: ['remove it'] })
  }
}

/** Reports a key that can make every cursor too long. */
function checkKeyLength(resource: ResourceDraft, { models, report }: Scope): void {
  const key = resource.model?.key ?? []
  const isTooLong = linkMeasure(resource, models, report)
  if (!isTooLong(key) || offers(resource, 'list', report) !== true) return
  const long = key.filter((field) => isTooLong([field]))
  // Values of the other fields, such as numbers, cannot become shorter.
  const limitable = long.length > 0 ? long : key.filter(({ type }) => 'max' in type.options)
  const names = (limitable.length > 0 ? limitable : key).map(({ name }) => show(name))
  const together = long.length > 0 || names.length === 1 ? '' : ' together'
  const message = `cursors contain the key, and ${names.join(', ')}${together} can make them too long`
  const help = ['give each a `max`, at most 500 in total for all text fields of an order, or choose another style']
  const path = [...resource.path, 'pagination', 'style']
  report.add({ ...OUTGROWN, path, message, ...(names.length > 1 && { help }) })
}

/** The type includes `integer`, because client generators cannot use a member that is always null. */
const UNCOUNTED: JsonSchema = {
  ...COUNT,
  type: ['integer', 'null'],
  description: 'Always null, because records are not counted.',
}

/** Whether the total of a list may be an estimate. In a dialect, `count: none` counts as `capped` does. */
export function mayEstimate(count: PaginationSpec['pagination']['count'], inDialect: boolean): boolean {
  return count === 'capped' || (count === 'none' && inDialect)
}

/** The object around the records of a list. */
function wrap(results: JsonSchema, count: PaginationSpec['pagination']['count']): JsonSchema {
  const members = { next: NEIGHBOUR, previous: NEIGHBOUR, results }
  if (count === 'none') return objectOf({ count: UNCOUNTED, ...members })
  return (count === 'capped' ? envelopeOf : objectOf)({ count: COUNT, ...members })
}
