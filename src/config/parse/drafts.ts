import type { Typed } from '../../fields/cell.js'
import type { FieldType } from '../../fields/field-type.js'
import { fieldType } from '../../fields/index.js'
import { belongsTo } from '../../fields/relation.js'
import type { Json } from '../../json.js'
import { findValue, type Path } from '../yaml/located.js'
import type { Report } from './report.js'
import { type FieldYaml, itemsOf, membersOf } from '../schema/yaml-shape.js'

/** A field that is declared, of the right shape, and may still be wrong in other ways. */
export interface FieldDraft {
  readonly name: string
  readonly path: Path
  readonly type: FieldType
  readonly yaml: FieldYaml
}

/** A model as far as it is known. A field that is declared in a wrong shape is `undefined`. */
export interface ModelDraft {
  readonly name: string
  readonly path: Path
  readonly fields: ReadonlyMap<string, FieldDraft | undefined>
  /** The fields of the primary key, in its order; empty if there is none, or a wrong one. */
  readonly key: readonly FieldDraft[]
  /** Whether migrations make the table. */
  readonly isManaged: boolean
  /** Whether the model says that records have no key. */
  readonly isKeyless: boolean
}

/** A model whose fields cannot be read at all is `undefined`. */
export type Drafts = ReadonlyMap<string, ModelDraft | undefined>

/** The declared models, each as far as its shape allows. */
export const draftModels = (root: Json, report: Report): Drafts =>
  new Map(membersOf(findValue(root, ['models'])).map(([name, model]) => [name, draftModel(root, name, model, report)]))

const draftModel = (root: Json, name: string, model: Json, report: Report): ModelDraft | undefined => {
  const path = ['models', name]
  const members = membersOf(findValue(model, ['fields']))
  if (members.length === 0) return undefined
  const fields = new Map(members.map(([field, yaml]) => [field, draftField([...path, 'fields', field], yaml, report)]))
  const named = findValue(model, ['primary_key'])
  const isManaged = (findValue(model, ['managed']) ?? findValue(root, ['database', 'managed'])) !== false
  return { name, path, fields, key: keyOf(fields, named), isManaged, isKeyless: named === 'none' }
}

/** The names of the fields of a model's key, as far as the file says. */
export const keyNames = (root: Json, model: Pick<ModelDraft, 'path' | 'fields'>): ReadonlySet<string> => {
  const named = findValue(root, [...model.path, 'primary_key'])
  const marked = [...model.fields.values()].flatMap((field) => (field?.yaml.primary_key === true ? [field.name] : []))
  return new Set(named === undefined ? marked : itemsOf(named).map(String))
}

/** The key as the model names its fields, or as one field says that it is the key. */
const keyOf = (fields: ModelDraft['fields'], named: Json | undefined): readonly FieldDraft[] => {
  const marked = [...fields.values()].filter((field) => field?.yaml.primary_key === true)
  const given = named === undefined ? marked : itemsOf(named).map((name) => fields.get(String(name)))
  const key = given.flatMap((field) => field ?? [])
  const isValid = key.length === given.length && new Set(key).size === key.length && key.every(({ type }) => type.key)
  return isValid && (named !== undefined || key.length === 1) ? key : []
}

/** Whether the server assigns the values of a key's field: as `key` says; by default, if the field is the whole key and its type has a way. */
export const isAssigned = (field: FieldDraft, key: readonly FieldDraft[]): boolean => {
  if (!key.includes(field)) return false
  const { key: by = key.length === 1 ? field.type.assigned?.key : 'client' } = field.yaml
  return by !== undefined && by !== 'client'
}

const draftField = (path: Path, json: Json, report: Report): FieldDraft | undefined => {
  if (report.isSpoiled(path)) return undefined
  const yaml = json as unknown as FieldYaml
  const type = fieldType(yaml.type)
  return type === undefined ? undefined : { name: String(path.at(-1)), path, type, yaml }
}

export const isRelation = ({ type }: Pick<FieldDraft, 'type'>): boolean => type === belongsTo

/** Why answers do not show a field; undefined when they do. */
export const whyHidden = ({ yaml }: Pick<FieldDraft, 'yaml'>): string | undefined => {
  const hidden = (['private', 'write_only'] as const).find((key) => yaml[key] === true)
  return hidden && `responses do not include it (\`${hidden}\`)`
}

/** The column of a field: as the file names it, or by the name of the field. A relation stores the key of another record. */
export const columnOf = (field: FieldDraft): string =>
  field.yaml.column ?? (isRelation(field) ? `${field.name}_id` : field.name)

/** The options that the type declares, with those of a relation completed; undefined when the target is not known. */
export const optionsOf = ({ type, yaml }: FieldDraft, drafts: Drafts): object | undefined => {
  const given = Object.entries(yaml).filter(([key]) => Object.hasOwn(type.options, key))
  if (!isRelation({ type })) return Object.fromEntries(given)
  const key = keyOptions(drafts.get(yaml.model ?? '')?.key ?? [], drafts, [])
  return key === undefined ? undefined : { ...Object.fromEntries(given), key }
}

/** The type and options of the only field of a key; undefined if there are several, or relations that lead back to where they began. */
const keyOptions = (
  [field, ...others]: readonly FieldDraft[],
  drafts: Drafts,
  seen: readonly FieldDraft[],
): Typed | undefined => {
  if (field === undefined || others.length > 0 || seen.includes(field)) return undefined
  const { type, yaml } = field
  const options = Object.fromEntries(Object.entries(yaml).filter(([key]) => Object.hasOwn(type.options, key)))
  if (!isRelation(field)) return { type, options }
  const key = keyOptions(drafts.get(yaml.model ?? '')?.key ?? [], drafts, [...seen, field])
  return key && { type, options: { ...options, key } }
}
