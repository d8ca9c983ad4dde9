import { literal } from '../../fields/sql-literal.js'
import type { Catalog, CatalogColumn } from '../introspect/catalog/catalog.js'
import type { WantedColumn } from '../plan/sql.js'
import { placeOf } from '../plan/steps/enum-steps.js'
import { enumColumns, enumOf, nameOfEnum } from '../plan/steps/replace-enum.js'
import type { Drift } from './drifted-object.js'

/** Finds the enums of the files whose values were renamed, removed or added in a database. Their order is not compared. */
export function findEnumDrift(files: Catalog, live: Catalog): readonly Drift[] {
  const there = labelsByType(live)
  return [...labelsByType(files)].flatMap(([type, made]) => driftOf(type, made, there.get(type) ?? made))
}

function labelsByType(catalog: Catalog): ReadonlyMap<string, readonly string[]> {
  return new Map(enumColumns(catalog).map(({ column }) => [enumOf(column), column.labels ?? []]))
}

function driftOf(type: string, made: readonly string[], there: readonly string[]): readonly Drift[] {
  const object = nameOfEnum(type)
  const missing = made.filter((label) => !there.includes(label))
  const added = there.filter((label) => !made.includes(label))
  // A value in the same place has probably another name.
  const former = (label: string) => added.find((each) => there.indexOf(each) === made.indexOf(label))
  const isRenamed = made.length === there.length && missing.every((label) => former(label) !== undefined)
  const lost = missing.map((label): Drift => {
    const name = isRenamed ? former(label) : undefined
    const instead = name === undefined ? '' : `, and has ${JSON.stringify(name)} in its place`
    const sql =
      name === undefined
        ? `alter type ${type} add value ${literal(label)}${placeOf(label, made, there)}`
        : `alter type ${type} rename value ${literal(name)} to ${literal(label)}`
    const text = `enum ${object} lacks the value ${JSON.stringify(label)} in the database${instead}`
    return { object, text, repair: { sql } }
  })
  if (isRenamed) return lost
  const extra = added.map((label): Drift => {
    const text = `enum ${object} has the value ${JSON.stringify(label)} only in the database`
    const sql = `alter type ${type} add value if not exists ${literal(label)}${placeOf(label, there, made)}`
    return { object, text, repair: { migrate: sql } }
  })
  return [...lost, ...extra]
}

/** The choices that an enum lacks. A later version of the project may have added others. */
export function missingChoices({ choices = [] }: WantedColumn, { labels }: CatalogColumn): readonly string[] {
  const missing = choices.filter((choice) => labels !== null && !labels.includes(choice))
  return missing.map((choice) => `has an enum that lacks the choice ${JSON.stringify(choice)}`)
}
