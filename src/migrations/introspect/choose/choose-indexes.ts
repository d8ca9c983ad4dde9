import type { CatalogIndex, CatalogTable } from '../catalog/catalog.js'
import { adviceForMessage, NO_PLAN } from './advice.js'
import { isPlainIndex, isPlainUnique } from '../catalog/plain-parts.js'
import { type IndexedField, type IndexSettings, plainSettings, readIndex } from '../catalog/read-index.js'

/**
 * Chooses the indexes that the model of a table declares. Only migrations create indexes, so other indexes of unmanaged tables are not reported.
 * @param fields the fields of the model, by column
 * @returns also the constraints and indexes of several columns that the model does not describe
 */
export function chooseIndexes(
  { live, managed }: { readonly live: CatalogTable; readonly managed: boolean },
  fields: ReadonlyMap<string, IndexedField>,
): { readonly indexes: readonly IndexSettings[]; readonly left: readonly string[] } {
  const parts = [
    ...live.constraints
      .filter(({ kind, columns }) => kind === 'other' || (kind === 'unique' && columns.length > 1))
      .map((part) => ({
        part,
        ofField: false,
        said: part.kind === 'unique' && isPlainUnique(part) ? plainSettings(part.columns, true, fields) : undefined,
      })),
    ...live.indexes.map((part) => ({
      part,
      // Unique fields are declared as such.
      ofField: part.columns.length === 1 && isPlainIndex(live.name, part, 'unique'),
      said: readIndex(live, part, fields),
    })),
  ]
  const listed = parts.flatMap(({ ofField, said }) => (said && !ofField ? [said] : []))
  const keyOf = ({ fields: names, ...others }: IndexSettings) =>
    JSON.stringify([names, 'ignore_case' in others || 'where' in others || 'using' in others ? others : {}])
  const indexes = [...new Map(listed.toReversed().map((each) => [keyOf(each), each])).values()].toReversed()
  const multiple = live.constraints
    .filter(({ kind, columns }) => kind === 'check' && columns.length !== 1)
    .map(({ name, definition }) => `${live.name}.${name}: stays as it is: ${definition}; ${adviceForMessage(name)}`)
  const unsaid = parts
    .filter(({ said }) => said === undefined)
    .map(
      ({ part }) =>
        `${live.name}.${part.name}: ${'valid' in part && !part.valid ? 'is not valid, so PostgreSQL does not read it' : 'stays as it is'}: ${part.definition}; ${canFail(part) ? adviceForMessage(part.name) : NO_PLAN}`,
    )
  return { indexes, left: managed ? [...multiple, ...unsaid] : [] }
}

/** Whether requests can violate a constraint or index. */
function canFail({ definition }: Pick<CatalogIndex, 'definition'>): boolean {
  return !/^CREATE INDEX /.test(definition)
}
