import { checkFieldName } from '../field-names.js'
import {
  areWholeKey,
  type Drafts,
  hasMember,
  isRelation,
  type ModelDraft,
  referredField,
  referredFields,
  whyHidden,
  whyPartHidden,
} from '../drafts.js'
import type { Report } from '../report.js'
import type { Path } from '../../yaml/located.js'
import { offers, type ResourceDraft } from '../resource-drafts.js'
import { show, suggest } from '../../words.js'
import { membersOf } from '../../schema/yaml-shape.js'

/** Reports `url: true` where records can have no URL. */
export function checkUrl(resource: ResourceDraft, model: ModelDraft, report: Report): void {
  const { path, yaml, has } = resource
  if (!has('url') || yaml.url !== true) return
  const at = { path: [...path, 'url'], part: 'key' } as const
  if (hasMember(model, 'url'))
    report.add({ ...at, code: 'SC304', message: `the model ${show(model.name)} already has a field \`url\`` })
  if (offers(resource, 'retrieve', report) !== false) return
  report.add({
    ...at,
    code: 'SC320',
    message: '`url` links to the operation `retrieve`, which the resource does not have',
  })
}

/** The models and routes that links can refer to. */
export interface LinkContext {
  readonly resources: readonly ResourceDraft[]
  readonly models: Drafts
  readonly report: Report
}

/** Reports links that lead nowhere. */
export function checkLinks(
  { path, yaml }: ResourceDraft,
  model: ModelDraft,
  { resources, models, report }: LinkContext,
): void {
  for (const [name, json] of membersOf(yaml.links)) {
    const at = [...path, 'links', name]
    if (report.isInvalid(at)) continue
    const route = String(json)
    const linked = linkedBy(model, name, { at, models, report })
    if (linked === undefined) continue
    const { to, reason } = linked
    if (reason !== undefined)
      report.add({
        code: 'SC311',
        path: at,
        part: 'key',
        message: `${show(name)} cannot be a link: ${reason}`,
      })
    if (models.get(to) === undefined) continue
    const routes = resources
      .filter((each) => each.yaml.model === to && offers(each, 'retrieve', report) !== false)
      .map((each) => `${each.name}-detail`)
    if (routes.includes(route)) continue
    const message = `no route ${show(route)} returns a single ${show(to)}`
    report.add({
      code: 'SC307',
      path: at,
      message,
      help:
        routes.length === 0
          ? [`no resource of the model ${show(to)} has the operation \`retrieve\``]
          : suggest(route, routes, 'route'),
    })
  }
}

/** The model that a link leads to, or the reason why it leads nowhere. */
function linkedBy(
  model: ModelDraft,
  name: string,
  { at, models, report }: Pick<LinkContext, 'models' | 'report'> & { readonly at: Path },
): { readonly to: string; readonly reason: string | undefined } | undefined {
  const joint = model.relations.get(name)
  if (model.relations.has(name) && joint === undefined) return undefined
  if (joint === undefined && !checkFieldName(model, name, { path: at, part: 'key' }, report)) return undefined
  const field = model.fields.get(name)
  if (joint === undefined && field === undefined) return undefined
  const isLinkable = joint !== undefined || (field !== undefined && isRelation(field))
  if (!isLinkable) {
    const message = `${show(name)} cannot be a link: it is not a relation`
    report.add({ code: 'SC311', path: at, part: 'key', message })
    return undefined
  }
  const to = (joint ?? field)?.yaml.model ?? ''
  const target = models.get(to)
  const referred = field
    ? [referredField(field, models)?.name ?? '']
    : joint && target
      ? referredFields(joint, target)
      : []
  const hidden = (field && whyHidden(field)) ?? (joint && whyPartHidden(joint, model))
  const isOfKey =
    (joint ?? field)?.yaml.references === undefined || (target !== undefined && areWholeKey(target, referred))
  const named = referred.map(show).join(', ')
  return { to, reason: hidden ?? (isOfKey ? undefined : `it refers to ${named}, and paths have the primary key`) }
}
