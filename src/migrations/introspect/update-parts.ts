import { uniqueColumns } from './choose/choose-key.js'
import { addIndex, addRelation, commentIndex } from '../../config/edit/edit-index.js'
import { setSetting } from '../../config/edit/edit-field.js'
import { formatValue } from '../../config/edit/format-value.js'
import { columnsOf, type IndexSpec, type ModelSpec } from '../../config/spec.js'
import type { CatalogIndex, CatalogTable } from './catalog/catalog.js'
import type { ChosenModel } from './choose/choose.js'
import { adviceForOperations } from './choose/choose-operations.js'
import { freeName } from './choose/field-names.js'
import { keyOfIndex, keyOfSettings } from './catalog/index-key.js'
import { readIndex } from './catalog/read-index.js'
import { formatIndex, formatRelation } from './render-models.js'
import { tryText } from './spec-of-text.js'
import type { EditOf } from './update-fields.js'

/** A model, and the model that introspection makes of its table as it is now. */
interface Followed {
  readonly model: ModelSpec
  readonly now: ChosenModel
  readonly live: CatalogTable
}

/** Adds the indexes that a table has and its model does not declare, and turns declared indexes that are gone into comments. */
export function changedIndexes(followed: Followed): readonly EditOf[] {
  const { model, now } = followed
  const declared = new Set(model.indexes.map(keyOfIndex))
  const there = new Set(now.indexes.map((index) => keyOfSettings(index, model)))
  const added = now.indexes.filter((index) => !declared.has(keyOfSettings(index, model)))
  const gone = model.indexes.filter((index) => !there.has(keyOfIndex(index)) && !isThere(index, followed))
  return [
    ...added.map((index): EditOf => {
      const spelled = formatIndex(index)
      return (file) => ({
        model: model.name,
        what: `${model.name}: added the index ${spelled}`,
        apply: (text) => addIndex(text, file, model.name, spelled),
      })
    }),
    ...gone.map((index): EditOf => {
      const reason = `the index ${index.columns.map((column) => JSON.stringify(column)).join(', ')} is gone`
      return (file) => ({
        model: model.name,
        what: `${model.name}: commented out: ${reason}`,
        apply: (text) => commentGone(text, file, { model: model.name, key: keyOfIndex(index), reason }),
      })
    }),
  ]
}

/** Whether a table may have an index in a form that introspection writes in another way, or cannot read. */
function isThere({ columns, unique, where }: IndexSpec, { now, live }: Followed): boolean {
  const [column, ...others] = columns
  const field = now.fields.find((each) => each.column === column)
  if (unique && others.length === 0 && field?.words.some(([key]) => key === 'unique')) return true
  const fields = new Map(now.fields.map((each) => [each.column, each]))
  const isRead = (index: CatalogIndex) => readIndex(live, index, fields) !== undefined
  const used = [...columns, ...where.map((condition) => condition.field.column)]
  return live.indexes.some((index) => !isRead(index) && used.every((each) => index.uses.includes(each)))
}

interface GoneIndex {
  readonly model: string
  readonly key: string
  readonly reason: string
}

/** Earlier changes may have moved the index. */
function commentGone(text: string, file: string, { model, key, reason }: GoneIndex): string | undefined {
  const spec = tryText(text, file)
  const indexes = 'models' in spec ? (spec.models.find(({ name }) => name === model)?.indexes ?? []) : []
  const at = indexes.findIndex((index) => keyOfIndex(index) === key)
  return at < 0 ? undefined : commentIndex(text, file, { model, at, reason })
}

/** How a model gets the primary key that its table has now. */
export function newKeys({ model, now, live }: Followed): readonly string[] {
  const primary = live.constraints.find(({ kind }) => kind === 'primary_key')
  const isDescribed = now.key.every((name) => model.fields.some((field) => field.name === name))
  if (!primary || now.key.length === 0 || !isDescribed) return []
  const step = `write \`primary_key: ${formatValue(now.key)}\``
  if (model.key.length === 0) {
    const steps = `${step} and ${adviceForOperations(['list'], now.operations)}`
    return [`${model.table}: records can only be listed, although the table has a primary key now; ${steps}`]
  }
  const columns = model.key.map(({ column }) => column)
  const isUnique = uniqueColumns(live).some((unique) => unique.every(({ name }) => columns.includes(name)))
  const isPart = columns.length < primary.columns.length && columns.every((each) => primary.columns.includes(each))
  if (isUnique || !isPart) return []
  const names = model.key.map(({ name }) => name).join(', ')
  return [
    `${model.table}: several records can have the key \`${names}\` of the model, because the primary key of the table has more columns now; ${step}`,
  ]
}

type Related = Pick<Followed, 'model' | 'now'>

function keyOfColumns(columns: readonly string[]): string {
  return JSON.stringify(columns.toSorted())
}

function keyOfFields(names: readonly string[], { fields }: ChosenModel): string {
  return keyOfColumns(names.map((name) => fields.find((field) => field.name === name)?.column ?? name))
}

/** Sets the `on_delete` of relations over several columns to the action of their foreign keys. */
export function changedActions({ model, now }: Related): readonly EditOf[] {
  return model.relations.flatMap(({ name, target, parts }): readonly EditOf[] => {
    const columns = keyOfColumns(columnsOf({ parts }))
    const key = now.relations.find((each) => each.model === target.model && keyOfFields(each.fields, now) === columns)
    if (parts.length < 2 || !key || key.onDelete === target.onDelete) return []
    const value = key.onDelete === 'restrict' ? undefined : key.onDelete
    return [
      (file) => ({
        model: model.name,
        what: `${model.name}.${name}: follows its foreign key: on_delete: ${key.onDelete}`,
        apply: (text) => setSetting(text, file, { model: model.name, relation: name }, { key: 'on_delete', value }),
      }),
    ]
  })
}

/** Adds relations for new foreign keys of several columns. */
export function newRelations({ model, now }: Related): readonly EditOf[] {
  const known = new Set(model.relations.map((relation) => keyOfColumns(columnsOf(relation))))
  const used = new Set([...model.fields, ...model.relations].map(({ name }) => name))
  return now.relations
    .filter(({ fields }) => !known.has(keyOfFields(fields, now)))
    .map((relation) => {
      const { name } = freeName([relation.name], used)
      used.add(name)
      const spelled = formatRelation({ ...relation, name })
      return (file) => ({
        model: model.name,
        what: `${model.name}: added the relation ${spelled}`,
        apply: (text) => addRelation(text, file, model.name, spelled),
      })
    })
}
