import type { Json } from '../../json.js'
import type { Build } from '../../features/feature.js'
import { FEATURES } from '../../features/index.js'
import { checkBulk } from './check-bulk.js'
import { checkComputed } from './check-computed.js'
import { checkConcurrency } from './check-concurrency.js'
import { checkIdempotency } from './check-idempotency.js'
import { checkLinks, checkUrl } from './check-links.js'
import { checkFilters, checkNulls, checkOrders } from './check-lists.js'
import { checkDialect, checkMounts } from './check-mounts.js'
import type { Drafts, FieldDraft } from './drafts.js'
import type { Report } from './report.js'
import { draftResources, offers, type ResourceDraft } from './resource-drafts.js'
import { DEFAULTS } from '../schema/schema.js'
import { show, suggest } from '../words.js'
import { membersOf, type PaginationYaml } from '../schema/yaml-shape.js'

/** How the features of each resource are built, by its name. */
export type FeatureBuilds = ReadonlyMap<string, readonly Build<object>[]>

/**
 * Reports what is wrong with the resources, as far as their shape and that of the models allow.
 * @returns how their features are built, for a configuration without mistakes
 */
export const checkResources = (root: Json, models: Drafts, report: Report): FeatureBuilds => {
  const resources = draftResources(root, models, report)
  checkPaths(resources, report)
  checkWritable(resources, report)
  checkMounts(root, report)
  const scope = { resources, models, report }
  const builds = new Map<string, readonly Build<object>[]>()
  for (const resource of resources) {
    checkModelName(resource, models, report)
    checkOperations(resource, report)
    checkPagination(resource, report)
    checkDialect(root, resource, report)
    checkConcurrency(resource, report)
    checkIdempotency(resource, report)
    checkBulk(resource, report)
    builds.set(
      resource.name,
      FEATURES.map((feature) => feature.parse(resource, scope)),
    )
    if (resource.model === undefined) continue
    checkFilters(resource, resource.model, report)
    checkOrders(resource, resource.model, models, report)
    checkNulls(resource, resource.model, report)
    checkUrl(resource, resource.model, report)
    checkLinks(resource, resource.model, scope)
    checkComputed(resource, resource.model, report)
  }
  return builds
}

const checkPaths = (resources: readonly ResourceDraft[], report: Report): void => {
  const owners = new Map<string, string>()
  for (const { name, path, yaml, has } of resources) {
    if (!has('path')) continue
    const owner = owners.get(yaml.path)
    owners.set(yaml.path, owner ?? name)
    if (owner === undefined) continue
    const message = `the path ${show(yaml.path)} belongs to the resource ${show(owner)} already`
    report.add({ code: 'SC309', path: [...path, 'path'], message })
  }
}

const checkModelName = ({ path, yaml, has }: ResourceDraft, models: Drafts, report: Report): void => {
  if (!has('model') || models.has(yaml.model)) return
  const help = suggest(yaml.model, [...models.keys()], 'model')
  report.add({ code: 'SC306', path: [...path, 'model'], message: `no model is named ${show(yaml.model)}`, help })
}

const checkOperations = ({ path, yaml, has }: ResourceDraft, report: Report): void => {
  if (!has('operations') || !has('read_only') || yaml.read_only !== true) return
  const [second = 'read_only'] = ['operations', 'read_only'].sort(
    (one, other) => report.offset([...path, other]) - report.offset([...path, one]),
  )
  const help = ['`read_only: true` is exactly `operations: [list, retrieve]`']
  report.add({
    code: 'SC304',
    path: [...path, second],
    part: 'key',
    message: 'a resource cannot have both `operations` and `read_only`',
    help,
  })
}

/** A field that nobody can give a value makes every creation fail. */
const checkWritable = (resources: readonly ResourceDraft[], report: Report): void => {
  const seen = new Set<FieldDraft>()
  for (const resource of resources) {
    if (offers(resource, 'create', report) !== true) continue
    for (const field of resource.model?.fields.values() ?? []) {
      if (field === undefined || seen.has(field) || report.isDoubtful(field.path)) continue
      const { private: hidden, read_only, write_only, nullable, default: fallback, auto, primary_key } = field.yaml
      const key = hidden ? 'private' : read_only ? 'read_only' : undefined
      if (
        key === undefined ||
        write_only ||
        nullable ||
        auto !== undefined ||
        primary_key ||
        (fallback ?? null) !== null
      )
        continue
      seen.add(field)
      const message = `${show(field.name)} can never be written: it needs a value, and the resource ${show(resource.name)} creates records without it`
      report.add({
        code: 'SC317',
        path: [...field.path, key],
        part: 'key',
        message,
        help: ['add `nullable: true` or a `default`'],
      })
    }
  }
}

const SIZES = ['page_size', 'max_page_size'] as const
/** What has no effect, by style. */
const UNUSED: Readonly<Record<string, readonly (keyof PaginationYaml)[]>> = {
  none: [...SIZES, 'max_offset'],
  cursor: ['max_offset'],
}

const checkPagination = ({ path, yaml }: ResourceDraft, report: Report): void => {
  const at = [...path, 'pagination']
  const sound = membersOf(yaml.pagination as Json | undefined).filter(([key]) => !report.isSpoiled([...at, key]))
  const given: PaginationYaml = Object.fromEntries(sound)
  const { style = '' } = given
  for (const key of UNUSED[style]?.filter((unused) => given[unused] !== undefined) ?? []) {
    report.add({
      code: 'SC319',
      path: [...at, key],
      part: 'key',
      message: `\`${key}\` has no effect: the style is \`${style}\``,
      help: ['choose another style, or remove it'],
    })
  }
  if (style === 'none') return
  const { page_size, max_page_size } = { ...DEFAULTS.pagination, ...given }
  if (page_size <= max_page_size || report.isDoubtful(at)) return
  const byDefault = (key: (typeof SIZES)[number]) => (given[key] === undefined ? ' (the default)' : '')
  const [second = 'page_size'] = SIZES.filter((key) => given[key] !== undefined).sort(
    (one, other) => report.offset([...at, other]) - report.offset([...at, one]),
  )
  const message = `\`page_size\` is ${page_size}${byDefault('page_size')}, which is more than \`max_page_size\`, ${max_page_size}${byDefault('max_page_size')}`
  report.add({ code: 'SC304', path: [...at, second], message })
}
