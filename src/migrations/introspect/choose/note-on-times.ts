import { formOf } from '../../../fields/columns.js'
import { type CatalogColumn, isFilled } from '../catalog/catalog.js'
import type { InspectedTable } from '../catalog/inspect.js'
import { triggerOn } from '../catalog/trigger-columns.js'

/** The usual names of columns that have the time of the creation or of the last change, such as `created_at`, `createdAt` and `modified`. */
const TIMES: readonly (readonly [auto: string, name: RegExp])[] = [
  ['on_create', /^(?:created|inserted)(?:_?(?:at|on|date|time))?$/i],
  ['on_update', /^(?:updated|modified|changed)(?:_?(?:at|on|date|time))?$/i],
]

/** Says how the service can set the times that another program has set until now: nothing in the database does. */
export function noteOnTimes(inspected: InspectedTable, columns: readonly CatalogColumn[]): readonly string[] {
  const isRequired = (column: CatalogColumn) => !column.nullable && !isFilled(column) && !triggerOn(column, inspected)
  const required = columns.filter((column) => isRequired(column) && formOf(column)?.type.functions?.now !== undefined)
  return TIMES.flatMap(([auto, usual]) =>
    required
      .filter(({ name }) => usual.test(name))
      .map(
        ({ name }) =>
          `${inspected.name}.${name}: requests must send it; if the other program sets it, \`auto: ${auto}\` lets the service do so`,
      ),
  )
}
