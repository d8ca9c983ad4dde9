import { show, suggest } from '../../words.js'
import {
  type Drafts,
  type FieldDraft,
  isRelation,
  isWholeKey,
  type ModelDraft,
  referredField,
  typedOf,
  whyHidden,
} from '../drafts.js'
import { canBeKey } from '../../../fields/field-type.js'
import { checkFieldName } from '../field-names.js'
import type { Report } from '../report.js'

/** Reports mistakes in the model and the field that a relation refers to. */
export function checkRelation(field: FieldDraft, drafts: Drafts, report: Report): void {
  const { model = '', on_delete, nullable = false } = field.yaml
  if (!drafts.has(model)) {
    const help = suggest(model, [...drafts.keys()], 'model')
    report.add({ code: 'SC306', path: [...field.path, 'model'], message: `no model is named ${show(model)}`, help })
  }
  const target = drafts.get(model)
  if (target !== undefined) checkReferred(field, target, { drafts, report })
  if (on_delete === 'set_null' && !nullable && !report.isUncertain(field.path)) {
    const message = `${show(field.name)} cannot be set to null: it is not nullable`
    report.add({ code: 'SC304', path: [...field.path, 'on_delete'], message, help: ['add `nullable: true`'] })
  }
}

/** Reports a relation whose value would not identify a record. */
function checkReferred(
  field: FieldDraft,
  target: ModelDraft,
  { drafts, report }: { readonly drafts: Drafts; readonly report: Report },
): void {
  const { references } = field.yaml
  const path = [...field.path, references === undefined ? 'model' : 'references']
  if (references !== undefined && !checkFieldName(target, references, { path }, report)) return
  const referred = referredField(field, drafts)
  const reason = references === undefined ? whyNoLoneKey(target) : referred && whyNotReferred(referred, target)
  const isCircle = referred !== undefined && typedOf(field, drafts) === undefined
  if (reason === undefined && !isCircle) return
  const name = references === undefined ? show(target.name) : `${show(references)} of ${show(target.name)}`
  const message = `${show(field.name)} cannot refer to ${name}: ${reason ?? 'its primary key is part of a circle of relations'}`
  const help = [
    references === undefined && target.key.length > 1
      ? `declare a field for each of ${target.key.map(({ name }) => show(name)).join(', ')}, and the relation in the model: \`relations: { ${field.name}: { model: ${target.name}, fields: […] } }\``
      : 'name one of its unique fields in `references`, or declare the column as a field of its own type',
  ]
  report.add({ code: 'SC311', path, message, help })
}

/** Returns why a relation cannot refer to a model's key; undefined if it can, or if the key itself is wrong. */
function whyNoLoneKey({ isKeyless, key }: ModelDraft): string | undefined {
  if (isKeyless) return 'its records have no primary key'
  return key.length > 1 ? 'its primary key has several fields' : undefined
}

/** Returns why a relation cannot refer to a field; undefined if it can. */
function whyNotReferred(field: FieldDraft, target: ModelDraft): string | undefined {
  const isWhole = isWholeKey(target, field)
  if (field.yaml.unique !== true && !isWhole) return 'it is not unique'
  if (isRelation(field) && !isWhole) return 'it is a relation itself'
  return canBeKey(field.type, field.yaml)
    ? whyHidden(field)
    : `a field of the type \`${field.type.name}\` has no single spelling`
}
