import type { IndexSpec, ModelSpec } from '../../config/spec.js'
import { relationIndexes } from '../../config/indexes/coverage.js'
import { isPlain } from '../../config/model-spec.js'
import { declaredIndexName, indexName } from '../../config/parse/constraint-names.js'
import { identifier, literal } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'

/** An index as resources.yaml describes it. */
export interface WantedIndex {
  readonly name: string
  /** Whether it belongs to a foreign key and is not declared in the file. */
  readonly implied: boolean
  readonly unique: boolean
  /** Whether it contains every row, in the order of its columns. */
  readonly isPlain: boolean
  readonly columns: readonly string[]
  /** The SQL of the indexed expressions. */
  readonly keys: readonly string[]
  /** The SQL of the condition on its rows; undefined if it contains all rows. */
  readonly condition: string | undefined
  /** The kind of the index, if it is not a B-tree. */
  readonly method: string | undefined
}

/** The declared indexes, and one for each foreign key: without it, deleting a target reads the whole table. */
export function wantedIndexes(model: ModelSpec): readonly WantedIndex[] {
  const { table, indexes } = model
  const declared = indexes.filter((index) => !(index.unique && isPlain(index)))
  const named = [
    ...declared.map((index) => ({
      name: declaredIndexName(table, index),
      implied: false,
      unique: index.unique,
      isPlain: isPlain(index),
      columns: index.columns,
      keys: index.columns.map((column) =>
        index.ignoreCase.includes(column) ? `lower(${identifier(column)})` : identifier(column),
      ),
      condition: conditionOf(index),
      method: index.method === 'btree' ? undefined : index.method,
    })),
    ...relationIndexes(model).map((columns) => ({
      name: indexName(table, columns),
      implied: true,
      unique: false,
      isPlain: true,
      columns,
      keys: columns.map(identifier),
      condition: undefined,
      method: undefined,
    })),
  ]
  // Those of one name with different definitions are clashes.
  return [...new Map(named.map((index) => [`${index.name} ${indexDefinition(index)}`, index])).values()]
}

export function createIndex(table: { readonly name: string }, index: WantedIndex): string {
  const { name, unique } = index
  return `create ${unique ? 'unique ' : ''}index ${identifier(name)} on ${tableSql(table.name)} ${indexDefinition(index)}`
}

/** The definition after the name of the table. */
export function indexDefinition({ keys, condition, method }: WantedIndex): string {
  const list = `(${keys.join(', ')})`
  return [method && `using ${method}`, list, condition && `where ${condition}`].filter(Boolean).join(' ')
}

function conditionOf({ where }: IndexSpec): string | undefined {
  if (where.length === 0) return undefined
  return where
    .map(({ field, lookup, value }) => {
      const bind = (cell: (value: unknown) => string | null) => literal(cell(value) ?? '')
      return lookup.sql(identifier(field.column), { field, value, bind })
    })
    .join(' and ')
}
