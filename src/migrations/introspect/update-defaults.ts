import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import type { Json } from '../../foundation/json.js'
import { find } from '../plan/compare/pair.js'
import { asBase, type CatalogColumn, type CatalogTable, isFilled } from './catalog/catalog.js'
import type { InspectedTable } from './catalog/inspect.js'
import { triggerOn } from './catalog/trigger-columns.js'
import type { ChosenModel } from './choose/choose.js'
import { formatSettings } from './render-models.js'
import { changeField, type EditOf, withColumns } from './update-fields.js'

/** A model, the table that it describes as the database has it, and the model that would be made for the table now. */
interface Described {
  readonly model: ModelSpec
  readonly now: Pick<ChosenModel, 'fields' | 'isView'>
  readonly there: InspectedTable
  readonly live: CatalogTable
}

/** Removes the defaults of the database that columns have lost. */
export function lostDefaults({ model, now, there, live }: Described): readonly EditOf[] {
  if (now.isView) return []
  return filledByRequests(model).flatMap((field) => {
    const column = find(live.columns, field.column)
    const isDescribed = now.fields.some((each) => each.column === field.column)
    const given = field.default
    if (!column || !isDescribed || !given || !('call' in given) || given.call !== 'database') return []
    const isUnfilled = !isFilled(asBase(column)) && !triggerOn(column, there)
    return isUnfilled ? [changeField(model, field, new Map(), ['default'])] : []
  })
}

/** The required fields whose columns have a default. Requests may have to send them on purpose, so the fields stay as they are. */
export function unusedDefaults({ model, now, live }: Described): readonly string[] {
  if (now.isView) return []
  return filledByRequests(model).flatMap((field) => {
    const words = now.fields.find(({ column }) => column === field.column)?.words
    const column = find(live.columns, field.column)
    if (!words || !column || field.default !== undefined || field.nullable) return []
    const remedy = remedyFor(field, new Map(words), column)
    return remedy === undefined
      ? []
      : [
          `${model.name}.${field.name}: the column has a default, which the field does not declare; if new records may omit the field, ${remedy}`,
        ]
  })
}

function remedyFor(field: FieldSpec, words: ReadonlyMap<string, Json>, column: CatalogColumn): string | undefined {
  if (words.has('default')) return `write \`${formatSettings([['default', { function: 'database' }]]).join()}\``
  const key = words.get('key')
  if (!field.primaryKey || key === 'client' || !isFilled(asBase(column))) return undefined
  return key === undefined ? 'remove `key: client`' : `write \`${formatSettings([['key', key]]).join()}\``
}

function filledByRequests(model: ModelSpec): readonly FieldSpec[] {
  return withColumns(model).filter(({ assigned, generated, auto }) => !assigned && !generated && auto === undefined)
}
