import { checkFieldName } from './field-names.js'
import { type Drafts, isRelation, isWholeKey, type ModelDraft, whyHidden } from './drafts.js'
import type { Report } from './report.js'
import { offers, type ResourceDraft } from './resource-drafts.js'
import { show, suggest } from '../words.js'
import { membersOf } from '../schema/yaml-shape.js'

/** Reports an own address that could not be answered. */
export const checkUrl = (resource: ResourceDraft, model: ModelDraft, report: Report): void => {
  const { path, yaml, has } = resource
  if (!has('url') || yaml.url !== true) return
  const at = { path: [...path, 'url'], part: 'key' } as const
  if (model.fields.has('url'))
    report.add({ ...at, code: 'SC304', message: `the model ${show(model.name)} already has a field \`url\`` })
  if (offers(resource, 'retrieve', report) !== false) return
  report.add({
    ...at,
    code: 'SC320',
    message: '`url` links to the operation `retrieve`, which the resource does not have',
  })
}

/** What there is to refer to. */
export interface LinkContext {
  readonly resources: readonly ResourceDraft[]
  readonly models: Drafts
  readonly report: Report
}

/** Reports links that lead nowhere. */
export const checkLinks = (
  { path, yaml }: ResourceDraft,
  model: ModelDraft,
  { resources, models, report }: LinkContext,
): void => {
  for (const [name, json] of membersOf(yaml.links)) {
    const at = [...path, 'links', name]
    if (report.isSpoiled(at)) continue
    const route = String(json)
    if (!checkFieldName(model, name, { path: at, part: 'key' }, report)) continue
    const field = model.fields.get(name)
    if (field === undefined) continue
    if (!isRelation(field)) {
      report.add({
        code: 'SC311',
        path: at,
        part: 'key',
        message: `${show(name)} cannot be a link: it is not a relation`,
      })
      continue
    }
    const { references, model: to = '' } = field.yaml
    const target = models.get(to)
    const isOfKey =
      references === undefined || (target !== undefined && isWholeKey(target, target.fields.get(references)))
    const reason =
      whyHidden(field) ?? (isOfKey ? undefined : `it refers to ${show(references)}, and paths have the primary key`)
    if (reason !== undefined)
      report.add({
        code: 'SC311',
        path: at,
        part: 'key',
        message: `${show(name)} cannot be a link: ${reason}`,
      })
    if (target === undefined) continue
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
