import type { Json } from '../../json.js'
import { checkFieldName } from './field-names.js'
import type { LinkContext } from './check-links.js'
import { isRelation, type ModelDraft, whyHidden } from './drafts.js'
import type { Path } from '../yaml/located.js'
import { offers, type ResourceDraft } from './resource-drafts.js'
import { EXPANDED, READS } from '../spec.js'
import { article, show, suggest } from '../words.js'
import { expansionsOf } from '../schema/yaml-shape.js'

/** Where something is said of an expansion. */
interface Place {
  readonly path: Path
  readonly part?: 'key'
}

/** Reports related records that cannot be shown. */
export const checkExpand = (resource: ResourceDraft, model: ModelDraft, context: LinkContext): void => {
  const { report } = context
  const at = [...resource.path, 'expand']
  if (report.isSpoiled(at)) return
  const expansions = expansionsOf(resource.yaml.expand as Json | undefined)
  const paths = new Set(expansions.map(({ path }) => path))
  for (const { path, place, yaml } of expansions) {
    const where: Place = { path: [...at, place], ...(typeof place === 'string' && { part: 'key' }) }
    if (report.isSpoiled(where.path)) continue
    const parent = path.split('.').slice(0, -1).join('.')
    if (parent !== '' && !paths.has(parent)) {
      const message = `${show(path)} needs ${show(parent)}, which is not declared here`
      report.add({ ...where, code: 'SC321', message, help: [`add ${show(parent)} to \`expand\``] })
      continue
    }
    const target = followPath(path, model, where, context)
    if (target === undefined) continue
    checkResource(target, yaml.resource, where, context)
    for (const [index, name] of (yaml.fields ?? []).entries()) {
      const placed = { path: [...where.path, 'fields', index] }
      if (!report.isSpoiled(placed.path)) checkShown(target, name, placed, context)
    }
  }
}

/** The model that relations lead to. */
const followPath = (
  path: string,
  from: ModelDraft,
  where: Place,
  { models, report }: LinkContext,
): ModelDraft | undefined => {
  let model: ModelDraft | undefined = from
  for (const name of path.split('.')) {
    if (!checkFieldName(model, name, where, report)) return undefined
    const field = model.fields.get(name)
    if (field === undefined) return undefined
    const reason = isRelation(field) ? whyHidden(field) : 'it is no relation'
    if (reason !== undefined) {
      const relations = [...model.fields].flatMap(([own, each]) => (each && isRelation(each) ? [show(own)] : []))
      const help = [relations.length > 0 ? `relations are ${relations.join(', ')}` : 'this model has no relation']
      report.add({ ...where, code: 'SC311', message: `${show(name)} cannot be expanded: ${reason}`, help })
      return undefined
    }
    if (model.fields.has(EXPANDED)) {
      const message = `the model ${show(model.name)} has a field \`${EXPANDED}\` of its own`
      report.add({ ...where, code: 'SC304', message })
      return undefined
    }
    model = models.get(field.yaml.model ?? '')
    if (model === undefined) return undefined
  }
  return model
}

const checkResource = (
  { name: model }: ModelDraft,
  wanted: string | undefined,
  where: Place,
  { resources, report }: LinkContext,
): void => {
  const reading = resources
    .filter(({ yaml }) => yaml.model === model)
    .filter((each) => READS.some((operation) => offers(each, operation, report) !== false))
    .map(({ name }) => name)
  if (wanted !== undefined) {
    if (reading.includes(wanted)) return
    const message = `no resource ${show(wanted)} shows ${article(model)} ${show(model)}`
    const path = [...where.path, 'resource']
    report.add({ code: 'SC321', path, message, help: suggest(wanted, reading, 'resource') })
  } else if (reading.length !== 1) {
    const known = reading.map(show).join(', ')
    const [message, help] =
      reading.length === 0
        ? [
            `no resource shows ${article(model)} ${show(model)}`,
            `add a resource of the model ${show(model)} that lists or retrieves`,
          ]
        : [
            `several resources show ${article(model)} ${show(model)}`,
            `say as which it is shown, by \`resource\`: ${known}`,
          ]
    report.add({ ...where, code: 'SC321', message, help: [help] })
  }
}

const checkShown = (model: ModelDraft, name: string, place: Place, { report }: LinkContext): void => {
  if (!checkFieldName(model, name, place, report)) return
  const field = model.fields.get(name)
  const reason = field && whyHidden(field)
  if (reason !== undefined) report.add({ ...place, code: 'SC311', message: `${show(name)} cannot be shown: ${reason}` })
}
