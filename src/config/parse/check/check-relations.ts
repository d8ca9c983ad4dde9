import { EXPANDED } from '../../core-spec.js'
import { show, suggest } from '../../words.js'
import { areWholeKey, type Drafts, type ModelDraft, type RelationDraft, referredFields, typedOf } from '../drafts.js'
import { checkFieldName } from '../field-names.js'
import type { Typed } from '../../../fields/field-type.js'
import type { Report } from '../report.js'

/** Reports mistakes in the relations of a model over several fields. */
export function checkRelations(model: ModelDraft, drafts: Drafts, report: Report): void {
  for (const relation of model.relations.values()) {
    if (relation === undefined) continue
    checkName(model, relation, report)
    const known = relation.yaml.fields.map((name, place) =>
      checkFieldName(model, name, { path: [...relation.path, 'fields', place] }, report),
    )
    checkOnDelete(model, relation, report)
    const { model: to } = relation.yaml
    if (!drafts.has(to)) {
      const help = suggest(to, [...drafts.keys()], 'model')
      const path = [...relation.path, 'model']
      report.add({ code: 'SC306', path, message: `no model is named ${show(to)}`, help })
    }
    const target = drafts.get(to)
    if (target !== undefined && !known.includes(false)) checkTarget({ model, relation, target }, drafts, report)
  }
}

function checkName({ name: model, fields }: ModelDraft, { name, path }: RelationDraft, report: Report): void {
  const isField = fields.has(name)
  if (!isField && name !== EXPANDED) return
  const reason = isField ? `the model ${show(model)} has a field of that name` : 'records have a member of that name'
  const message = `a relation cannot be called ${show(name)}: ${reason}`
  report.add({ code: 'SC304', path, part: 'key', message })
}

function checkOnDelete(model: ModelDraft, { name, path, yaml }: RelationDraft, report: Report): void {
  if (yaml.on_delete !== 'set_null') return
  const fixed = yaml.fields.find((each) => {
    const field = model.fields.get(each)
    return field !== undefined && field.yaml.nullable !== true && !report.isUncertain(field.path)
  })
  if (fixed === undefined) return
  const message = `${show(name)} cannot be set to null: ${show(fixed)} is not nullable`
  const help = [`add \`nullable: true\` to ${show(fixed)}`]
  report.add({ code: 'SC304', path: [...path, 'on_delete'], message, help })
}

interface Referring {
  readonly model: ModelDraft
  readonly relation: RelationDraft
  readonly target: ModelDraft
}

/** Reports a relation whose values would not identify a record, or whose types differ from those of its target. */
function checkTarget({ model, relation, target }: Referring, drafts: Drafts, report: Report): void {
  const { name, path, yaml } = relation
  const { references } = yaml
  const named = references?.map((each, place) =>
    checkFieldName(target, each, { path: [...path, 'references', place] }, report),
  )
  if (named?.includes(false)) return
  const isUnique = references === undefined || areWholeKey(target, references) || isCombination(target, references)
  const at = { code: 'SC311', path: [...path, references === undefined ? 'model' : 'references'] } as const
  const start = `${show(name)} cannot refer to ${show(target.name)}:`
  if (!isUnique) {
    const message = `${start} ${references.map(show).join(' and ')} are not unique together`
    const help = [`add an index to ${show(target.name)}: \`{ fields: [${references.join(', ')}], unique: true }\``]
    report.add({ ...at, message, help })
    return
  }
  const referred = referredFields(relation, target)
  if (referred.length === 0 && (!target.isKeyless || target.keyNames.size > 0)) return
  if (referred.length !== yaml.fields.length) {
    const reason = target.isKeyless
      ? 'its records have no primary key'
      : `${references ? '`references`' : 'its primary key'} has ${count(referred.length)}, and \`fields\` has ${yaml.fields.length}`
    const help =
      referred.length === 1 && references === undefined ? [`make it a field of the type \`belongs_to\``] : undefined
    report.add({ ...at, message: `${start} ${reason}`, ...(help && { help }) })
    return
  }
  for (const [place, own] of yaml.fields.entries()) {
    const [one, other] = [leafOf(model, own, drafts), leafOf(target, referred[place] ?? '', drafts)]
    if (!one || !other || isSame(one, other)) continue
    const message = `${show(own)} cannot have the values of ${show(referred[place] ?? '')} of ${show(target.name)}: ${formatTypes(one, other)}`
    report.add({ code: 'SC311', path: [...path, 'fields', place], message })
  }
}

function count(fields: number): string {
  return fields === 1 ? 'one field' : `${fields} fields`
}

function isCombination({ combinations }: ModelDraft, names: readonly string[]): boolean {
  return combinations.some((fields) => fields.length === names.length && fields.every((name) => names.includes(name)))
}

/** The type of a field; for a relation, the type of its target. */
function leafOf(model: ModelDraft, name: string, drafts: Drafts): Typed | undefined {
  const field = model.fields.get(name)
  let typed = field && typedOf(field, drafts)
  while (typed !== undefined && 'key' in typed.options) typed = typed.options.key as Typed
  return typed
}

/** Whether the columns of two fields can have the same values. Texts can whatever rules they have: a text with `choices` can refer to any text. */
function isSame(one: Typed, other: Typed): boolean {
  const [own, referred] = [columnOf(one), columnOf(other)]
  return one.type === other.type ? own === referred : own === referred && isText(own)
}

const TEXT = /^(?:text|varchar(?:\(\d+\))?)(?= |$)/

/** The type of a column; that of a text is `text`, however long it may be. */
function columnOf({ type, options }: Typed): string {
  return type.column(options).replace(TEXT, 'text')
}

function isText(column: string): boolean {
  return TEXT.test(column)
}

function formatTypes(...both: readonly [Typed, Typed]): string {
  const [one, other] = both.map(({ type }) => type.name)
  const [own, referred] = one === other ? both.map(({ type, options }) => type.column(options)) : [one, other]
  return `one is ${show(own ?? '')}, the other ${show(referred ?? '')}`
}
