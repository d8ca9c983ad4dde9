import type { CatalogTable } from './catalog.js'
import { isPlainIndex, isPlainUnique } from './plain-parts.js'
import { type IndexedField, type IndexSettings, readIndex } from './read-index.js'

/**
 * Chooses the indexes that the model of a table declares. Only migrations create indexes, so other indexes of unmanaged tables are not reported.
 * @param fields the fields of the model, by column
 * @returns also the constraints and indexes of several columns that the model does not describe
 */
export function chooseIndexes(
  { live, managed }: { readonly live: CatalogTable; readonly managed: boolean },
  fields: ReadonlyMap<string, IndexedField>,
): { readonly indexes: readonly IndexSettings[]; readonly left: readonly string[] } {
  const settingsOf = (columns: readonly (string | null)[], unique: boolean): IndexSettings | undefined => {
    const names = columns.flatMap((column) => fields.get(column ?? '')?.name ?? [])
    return names.length === columns.length ? { fields: names, unique } : undefined
  }
  const parts = [
    ...live.constraints
      .filter(({ kind, columns }) => kind === 'other' || (kind === 'unique' && columns.length > 1))
      .map((part) => ({
        part,
        plain: true,
        said: part.kind === 'unique' && isPlainUnique(part) ? settingsOf(part.columns, true) : undefined,
      })),
    ...live.indexes.map((part) => {
      const unique = isPlainIndex(live.name, part, 'unique')
      const plain = unique || isPlainIndex(live.name, part)
      return { part, plain, said: plain ? settingsOf(part.columns, unique) : readIndex(live, part, fields) }
    }),
  ]
  // Unique fields are declared as such.
  const listed = parts.flatMap(({ plain, said }) =>
    said && !(plain && said.unique && said.fields.length === 1) ? [said] : [],
  )
  const keyOf = ({ fields: names, ...others }: IndexSettings) =>
    JSON.stringify([names, 'ignore_case' in others || 'where' in others || 'using' in others ? others : {}])
  const indexes = [...new Map(listed.toReversed().map((each) => [keyOf(each), each])).values()].toReversed()
  const multiple = live.constraints
    .filter(({ kind, columns }) => kind === 'check' && columns.length !== 1)
    .map(({ name, definition }) => `${live.name}.${name}: stays as it is: ${definition}`)
  const unsaid = parts
    .filter(({ said }) => said === undefined)
    .map(({ part }) => `${live.name}.${part.name}: stays as it is: ${part.definition}`)
  return { indexes, left: managed ? [...multiple, ...unsaid] : [] }
}
