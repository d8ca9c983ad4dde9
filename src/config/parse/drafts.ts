import type { FieldType } from '../../fields/field-type.js'
import { fieldType } from '../../fields/index.js'
import { belongsTo } from '../../fields/relation.js'
import type { Json } from '../../json.js'
import { findValue, type Path } from '../yaml/located.js'
import type { Report } from './report.js'
import { type FieldYaml, membersOf } from '../schema/yaml-shape.js'

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
  /** The field with `primary_key: true`, when there is exactly one and it can be one. */
  readonly key: FieldDraft | undefined
}

/** A model whose fields cannot be read at all is `undefined`. */
export type Drafts = ReadonlyMap<string, ModelDraft | undefined>

/** The declared models, each as far as its shape allows. */
export const draftModels = (root: Json, report: Report): Drafts =>
  new Map(membersOf(findValue(root, ['models'])).map(([name, model]) => [name, draftModel(name, model, report)]))

const draftModel = (name: string, model: Json, report: Report): ModelDraft | undefined => {
  const path = ['models', name]
  const members = membersOf(findValue(model, ['fields']))
  if (members.length === 0) return undefined
  const fields = new Map(members.map(([field, yaml]) => [field, draftField([...path, 'fields', field], yaml, report)]))
  const keys = [...fields.values()].filter((field) => field?.yaml.primary_key === true)
  return { name, path, fields, key: keys.length === 1 && keys[0]?.type.key ? keys[0] : undefined }
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
  return hidden && `answers do not show it (\`${hidden}\`)`
}

/** The column of a field: as the file names it, or by the name of the field. A relation stores the key of another record. */
export const columnOf = (field: FieldDraft): string =>
  field.yaml.column ?? (isRelation(field) ? `${field.name}_id` : field.name)

/** The options that the type declares, with those of a relation completed; undefined when the target is not known. */
export const optionsOf = ({ type, yaml }: FieldDraft, drafts: Drafts): object | undefined => {
  const given = Object.entries(yaml).filter(([key]) => Object.hasOwn(type.options, key))
  if (!isRelation({ type })) return Object.fromEntries(given)
  const key = drafts.get(yaml.model ?? '')?.key?.type
  return key === undefined ? undefined : { ...Object.fromEntries(given), key }
}
