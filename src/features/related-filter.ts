import type { ExpansionSpec } from '../config/core-spec.js'
import type { FieldSpec, ModelSpec } from '../config/model-spec.js'
import { isRelation, type ModelDraft, whyHidden, whyPartHidden } from '../config/parse/drafts.js'
import { checkFieldName, type NamePlace } from '../config/parse/field-names.js'
import { operationsOf } from '../config/parse/resource-drafts.js'
import { show } from '../config/words.js'
import { fail } from '../foundation/fail.js'
import type { Declared, Scope } from './feature.js'

/** How many relations can lead to the field of a filter. */
const MAX_RELATIONS = 3

/** The related records that a filter reaches through one or more relations. Only the field at the end of the path is compared. */
export type RelatedRecords = ExpansionSpec

/** Splits `author.country.code` into its relations and its field. */
export function splitPath(name: string): readonly [relations: readonly string[], field: string] {
  const names = name.split('.')
  return [names.slice(0, -1), names.at(-1) ?? '']
}

/** Finds the model at the end of a path of relations; reports relations that are unknown, hidden, or too many. */
export function checkPath(
  relations: readonly string[],
  from: ModelDraft,
  place: NamePlace,
  { models, report }: Scope,
): ModelDraft | undefined {
  if (relations.length > MAX_RELATIONS) {
    const message = `a filter can follow at most ${MAX_RELATIONS} relations; this one follows ${relations.length}`
    report.add({ ...place, code: 'SC311', message })
    return undefined
  }
  let model: ModelDraft | undefined = from
  for (const name of relations) {
    const composite = model.relations.get(name)
    if (composite === undefined && !checkFieldName(model, name, place, report)) return undefined
    const field = model.fields.get(name)
    const relation = composite ?? field
    if (relation === undefined) return undefined
    const reason = composite
      ? whyPartHidden(composite, model)
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

interface FilterPath {
  readonly field: FieldSpec
  readonly related?: RelatedRecords | undefined
}

/** The name of a filter: `author.country.code`. */
export function nameOfFilter({ field, related }: FilterPath): string {
  return related ? `${related.relation.name}.${nameOfFilter({ field, related: related.expand[0] })}` : field.name
}

/** Resolves the path of a filter. The grants of the resource that retrieves a related model decide which of its records match. */
export function buildPath(name: string, { model, models, resources }: Declared): FilterPath {
  const [relations, last] = splitPath(name)
  const below = (from: ModelSpec, [next, ...others]: readonly string[]): FilterPath => {
    if (next === undefined) return { field: find(from.fields, last), related: undefined }
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
  return below(model, relations)
}

function find<Named extends { readonly name: string }>(all: readonly Named[], name: string): Named {
  return all.find((each) => each.name === name) ?? fail(`a name that was never checked: ${name}`)
}

/** Whether a caller sees every field of the declared path. */
export function isWhole(declared: RelatedRecords, seen: RelatedRecords | undefined): seen is RelatedRecords {
  const [next] = declared.expand
  return (
    seen !== undefined &&
    seen.fields.length === declared.fields.length &&
    (next === undefined || isWhole(next, seen.expand[0]))
  )
}
