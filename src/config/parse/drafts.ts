import { canBeKey, type FieldType, type KeySource, type Typed } from '../../fields/field-type.js'
import { fieldType } from '../../fields/index.js'
import { belongsTo } from '../../fields/types/relation.js'
import type { Json } from '../../foundation/json.js'
import { findValue, type Path } from '../yaml/located.js'
import type { Report } from './report.js'
import { type FieldYaml, itemsOf, membersOf, type RelationYaml } from '../schema/yaml-shape.js'

/** A declared field of the right shape; it may have other mistakes. */
export interface FieldDraft {
  readonly name: string
  readonly path: Path
  readonly type: FieldType
  readonly yaml: FieldYaml
}

/** A relation over several fields, of the right shape. */
export interface RelationDraft {
  readonly name: string
  readonly path: Path
  readonly yaml: RelationYaml
}

/** A model as far as it can be read. A field of the wrong shape is `undefined`. */
export interface ModelDraft {
  readonly name: string
  readonly path: Path
  readonly fields: ReadonlyMap<string, FieldDraft | undefined>
  /** The relations over several fields; `undefined` for a wrong shape. */
  readonly relations: ReadonlyMap<string, RelationDraft | undefined>
  /** The combinations of fields that are unique among all records, by a unique index without conditions. */
  readonly combinations: readonly (readonly string[])[]
  /** The names of the fields of the primary key as written, right or wrong. */
  readonly keyNames: ReadonlySet<string>
  /** The fields of the primary key, in its order; empty without a key, and for a wrong one. */
  readonly key: readonly FieldDraft[]
  /** Whether migrations create the table or the view. */
  readonly isOurs: boolean
  /** Whether the model has the query of a view. */
  readonly isView: boolean
  /** Whether migrations create a table. */
  readonly isManaged: boolean
  /** Whether the model says that records have no key. */
  readonly isKeyless: boolean
}

/** A model whose fields cannot be read at all is `undefined`. */
export type Drafts = ReadonlyMap<string, ModelDraft | undefined>

/** The declared models, each as far as its shape allows. */
export function draftModels(root: Json, report: Report): Drafts {
  return new Map(
    membersOf(findValue(root, ['models'])).map(([name, model]) => [name, draftModel(root, name, model, report)]),
  )
}

function draftModel(root: Json, name: string, model: Json, report: Report): ModelDraft | undefined {
  const path = ['models', name]
  const members = membersOf(findValue(model, ['fields']))
  if (members.length === 0) return undefined
  const fields = new Map(members.map(([field, yaml]) => [field, draftField([...path, 'fields', field], yaml, report)]))
  const named = findValue(model, ['primary_key'])
  const isOurs = (findValue(model, ['managed']) ?? findValue(root, ['database', 'managed'])) !== false
  const isView = findValue(model, ['view']) !== undefined
  return {
    name,
    path,
    fields,
    relations: relationsOf(model, path, report),
    combinations: itemsOf(findValue(model, ['indexes']))
      .filter((index) => findValue(index, ['unique']) === true)
      .filter((index) => findValue(index, ['where']) === undefined && findValue(index, ['ignore_case']) !== true)
      .map((index) => itemsOf(findValue(index, ['fields'])).map(String)),
    ...keyOf(fields, named),
    isOurs,
    isView,
    isManaged: isOurs && !isView,
    isKeyless: named === 'none',
  }
}

function relationsOf(model: Json, path: Path, report: Report): ModelDraft['relations'] {
  return new Map(
    membersOf(findValue(model, ['relations'])).map(([name, yaml]) => {
      const at = [...path, 'relations', name]
      return [name, report.isInvalid(at) ? undefined : { name, path: at, yaml: yaml as unknown as RelationYaml }]
    }),
  )
}

/** The key that the model names, or the field that declares itself the key. */
function keyOf(fields: ModelDraft['fields'], named: Json | undefined): Pick<ModelDraft, 'key' | 'keyNames'> {
  const marked = [...fields.values()].flatMap((field) => (field?.yaml.primary_key === true ? [field.name] : []))
  const names = named === undefined ? marked : itemsOf(named).map(String)
  const keyNames = new Set(names)
  const key = names.flatMap((name) => fields.get(name) ?? [])
  const isValid =
    key.length === keyNames.size &&
    keyNames.size === names.length &&
    key.every(({ type, yaml }) => canBeKey(type, yaml))
  return { keyNames, key: isValid && (named !== undefined || key.length === 1) ? key : [] }
}

/**
 * The source of a key field's values: as `key` says; by default the server, if the field is the whole key and its type can generate values.
 * @param isWhole whether the key has no other field
 */
export function keySourceOf({ type, yaml }: FieldDraft, isWhole: boolean): KeySource {
  return yaml.key ?? (isWhole ? type.assigned?.key : undefined) ?? 'client'
}

function draftField(path: Path, json: Json, report: Report): FieldDraft | undefined {
  if (report.isInvalid(path)) return undefined
  const yaml = json as unknown as FieldYaml
  const type = fieldType(yaml.type)
  return type === undefined ? undefined : { name: String(path.at(-1)), path, type, yaml }
}

export function isRelation({ type }: Pick<FieldDraft, 'type'>): boolean {
  return type === belongsTo
}

const HIDDEN = ['private', 'write_only'] as const

/** Returns why responses do not show a field; undefined if they do. */
export function whyHidden({ yaml }: Pick<FieldDraft, 'yaml'>): string | undefined {
  const hidden = HIDDEN.find((key) => yaml[key] === true)
  return hidden && `responses do not include it (\`${hidden}\`)`
}

/** The column of a field: as the file names it, or by the name of the field. A relation stores the key of another record. */
export function columnOf(field: FieldDraft): string {
  return field.yaml.column ?? (isRelation(field) ? `${field.name}_id` : field.name)
}

/** The fields of the other model that a relation over several fields refers to. */
export function referredFields({ yaml }: RelationDraft, target: ModelDraft): readonly string[] {
  return yaml.references ?? target.key.map(({ name }) => name)
}

/** Whether these fields are the primary key of a model, in any order. */
export function areWholeKey({ key }: ModelDraft, names: readonly string[]): boolean {
  return key.length === names.length && key.every(({ name }) => names.includes(name))
}

/** Returns why responses do not show a relation over several fields; undefined if they do. */
export function whyPartHidden({ yaml }: RelationDraft, model: ModelDraft): string | undefined {
  for (const name of yaml.fields) {
    const field = model.fields.get(name)
    const hidden = HIDDEN.find((key) => field?.yaml[key] === true)
    if (hidden !== undefined) return `its field \`${name}\` is \`${hidden}\``
  }
  return undefined
}

/** Whether records may have a member of this name: a field or a relation. */
export function hasMember({ fields, relations }: ModelDraft, name: string): boolean {
  return fields.has(name) || relations.has(name)
}

/** Whether a field is the primary key of a model, and not only a part of it. */
export function isWholeKey({ key: [first, ...others] }: ModelDraft, field: FieldDraft | undefined): boolean {
  return field !== undefined && first === field && others.length === 0
}

/** The field of the other model that a relation refers to: the one in `references`, or the only field of the primary key. */
export function referredField({ yaml }: FieldDraft, drafts: Drafts): FieldDraft | undefined {
  const target = drafts.get(yaml.model ?? '')
  if (yaml.references !== undefined) return target?.fields.get(yaml.references)
  const [field, ...others] = target?.key ?? []
  return others.length === 0 ? field : undefined
}

/** A field's type and options, resolved for relations; undefined if a relation refers to no known field, or in a circle. */
export function typedOf(field: FieldDraft, drafts: Drafts, seen: readonly FieldDraft[] = []): Typed | undefined {
  if (seen.includes(field)) return undefined
  const { type, yaml } = field
  const options = Object.fromEntries(Object.entries(yaml).filter(([key]) => Object.hasOwn(type.options, key)))
  if (!isRelation(field)) return { type, options }
  const target = referredField(field, drafts)
  const key = target && typedOf(target, drafts, [...seen, field])
  return key && { type, options: { ...options, references: target.name, key } }
}
