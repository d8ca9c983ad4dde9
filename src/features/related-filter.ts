import type { ExpansionSpec, FieldSpec, ModelSpec } from '../config/core-spec.js'
import { isRelation, type ModelDraft, whyHidden, whyPartHidden } from '../config/parse/drafts.js'
import { checkFieldName, type NamePlace } from '../config/parse/field-names.js'
import { operationsOf } from '../config/parse/operations.js'
import { show } from '../config/words.js'
import { fail } from '../fail.js'
import type { Declared, Scope } from './feature.js'

/** How many relations can lead to the field of a filter. */
const MAX_RELATIONS = 3

/** The records to which relations of a record lead, one relation after another. Only the field of the comparison is asked about. */
export type RelatedRecords = ExpansionSpec

/** Splits `author.country.code` into its relations and its field. */
export function splitPath(name: string): readonly [relations: readonly string[], field: string] {
  const names = name.split('.')
  return [names.slice(0, -1), names.at(-1) ?? '']
}

/** Finds the model to which relations lead, and reports those that lead nowhere. */
export function checkPath(
  relations: readonly string[],
  from: ModelDraft,
  place: NamePlace,
  { models, report }: Scope,
): ModelDraft | undefined {
  if (relations.length > MAX_RELATIONS) {
    const message = `a filter follows at most ${MAX_RELATIONS} relations, and this one ${relations.length}`
    report.add({ ...place, code: 'SC311', message })
    return undefined
  }
  let model: ModelDraft | undefined = from
  for (const name of relations) {
    const joint = model.relations.get(name)
    if (joint === undefined && !checkFieldName(model, name, place, report)) return undefined
    const field = model.fields.get(name)
    const relation = joint ?? field
    if (relation === undefined) return undefined
    const reason = joint
      ? whyPartHidden(joint, model)
      : field && (isRelation(field) ? whyHidden(field) : 'it is not a relation')
    if (reason !== undefined) {
      report.add({ ...place, code: 'SC311', message: `lists cannot be filtered through ${show(name)}: ${reason}` })
      return undefined
    }
    model = models.get(relation.yaml.model ?? '')
    if (model === undefined) return undefined
  }
  return model
}

/** Builds the way to the field of a filter. Grants to the resource that shows a related record say which of them a caller may ask about. */
export function buildPath(
  name: string,
  { model, models, resources }: Declared,
): { readonly field: FieldSpec; readonly related: RelatedRecords | undefined } {
  const [relations, last] = splitPath(name)
  const below = (
    from: ModelSpec,
    [next, ...others]: readonly string[],
  ): { field: FieldSpec; related?: RelatedRecords } => {
    if (next === undefined) return { field: find(from.fields, last) }
    const relation = find(from.relations, next)
    const target = models.get(relation.target.model) ?? fail(`a relation that was never checked: ${next}`)
    const { field, related } = below(target, others)
    const shownBy = Object.entries(resources).find(
      ([, yaml]) => yaml.model === target.name && operationsOf(yaml).includes('retrieve'),
    )
    return {
      field,
      related: {
        path: next,
        relation,
        resource: shownBy?.[0] ?? '',
        model: target,
        fields: related ? related.relation.parts.map((part) => part.field) : [field],
        varies: false,
        url: false,
        links: {},
        expand: related ? [related] : [],
      },
    }
  }
  const { field, related } = below(model, relations)
  return { field, related }
}

function find<Named extends { readonly name: string }>(all: readonly Named[], name: string): Named {
  return all.find((each) => each.name === name) ?? fail(`a name that was never checked: ${name}`)
}

/** Whether a caller sees every field of the way that was declared. */
export function isWhole(declared: RelatedRecords, seen: RelatedRecords | undefined): seen is RelatedRecords {
  const [next] = declared.expand
  return (
    seen !== undefined &&
    seen.fields.length === declared.fields.length &&
    (next === undefined || isWhole(next, seen.expand[0]))
  )
}
