import type { CatalogTable } from './catalog.js'
import { isPlainIndex, isPlainUnique } from './plain-parts.js'

/** An index of a model, by the names of its fields. */
export interface ChosenIndex {
  readonly fields: readonly string[]
  readonly unique: boolean
}

/**
 * Chooses the indexes that the model of a table declares. Only migrations make indexes, so those of other tables are not mentioned otherwise.
 * @param byColumn the fields of the model
 * @returns also the constraints and indexes of several columns that the model does not describe
 */
export function chooseIndexes(
  { live, managed }: { readonly live: CatalogTable; readonly managed: boolean },
  byColumn: ReadonlyMap<string, string>,
): { readonly indexes: readonly ChosenIndex[]; readonly left: readonly string[] } {
  const fieldsOf = (columns: readonly (string | null)[]) =>
    columns.flatMap((column) => byColumn.get(column ?? '') ?? [])
  const parts = [
    ...live.constraints
      .filter(({ kind, columns }) => kind === 'other' || (kind === 'unique' && columns.length > 1))
      .map((part) => ({ part, unique: true, plain: part.kind === 'unique' && isPlainUnique(part) })),
    ...live.indexes.map((part) => ({ part, ...kindOf(live.name, part) })),
  ]
  const single = ({ part, unique }: (typeof parts)[number]) => unique && part.columns.length === 1
  const said = parts.filter((each) => each.plain && fieldsOf(each.part.columns).length === each.part.columns.length)
  const indexes = [
    ...new Map(
      said
        .filter((each) => !single(each))
        .map(({ part, unique }) => [JSON.stringify(part.columns), { fields: fieldsOf(part.columns), unique }] as const)
        .toReversed(),
    ).values(),
  ].toReversed()
  const multiple = live.constraints
    .filter(({ kind, columns }) => kind === 'check' && columns.length !== 1)
    .map(({ name, definition }) => `${live.name}.${name}: stays as it is: ${definition}`)
  const unsaid = parts
    .filter((each) => !said.includes(each))
    .map(({ part }) => `${live.name}.${part.name}: stays as it is: ${part.definition}`)
  return { indexes, left: managed ? [...multiple, ...unsaid] : [] }
}

function kindOf(table: string, index: CatalogTable['indexes'][number]) {
  const unique = isPlainIndex(table, index, 'unique')
  return { unique, plain: unique || isPlainIndex(table, index) }
}
