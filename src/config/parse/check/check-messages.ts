import { constraintFields, declaredIndexName } from '../constraint-names.js'
import type { Report } from '../report.js'
import type { AppSpec, ModelSpec } from '../../spec.js'
import { show } from '../../words.js'

/** Reports messages for constraints whose declaration has a `message` of its own. */
export function checkMessages({ models }: AppSpec, report: Report): void {
  for (const model of models) {
    const names = Object.keys(model.messages)
    if (names.length === 0) continue
    const places = declaredPlaces(model)
    for (const name of names) {
      const place = places.get(name)
      if (place === undefined) continue
      report.add({
        code: 'SC323',
        path: ['models', model.name, 'messages', name],
        part: 'key',
        message: `the message of ${show(name)} belongs next to its declaration`,
        help: [`write it as \`message\` under \`models.${model.name}.${place}\``],
      })
    }
  }
}

/** The declarations of a model that have a message of their own, by the name of the constraint. */
function declaredPlaces(model: ModelSpec): ReadonlyMap<string, string> {
  const rules = [...constraintFields(model)].filter(([, { kind }]) => kind === 'check')
  return new Map([
    ...rules.map(([name, { fields }]) => [name, `fields.${fields.join()}`] as const),
    ...model.indexes.flatMap((index, place) =>
      index.unique ? [[declaredIndexName(model.table, index), `indexes[${place}]`] as const] : [],
    ),
  ])
}
