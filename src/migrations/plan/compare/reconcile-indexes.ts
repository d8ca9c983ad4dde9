import type { CatalogIndex } from '../../introspect/catalog/catalog.js'
import { find, has, nameless } from './pair.js'
import { isPlainIndex } from '../../introspect/catalog/plain-parts.js'
import type { IsLeft, ReconcilePair } from './reconcile-pair.js'

/** Keeps existing indexes that satisfy the configuration or that it cannot express. */
export function reconcileIndexes(pair: ReconcilePair, isLeft: IsLeft): ReconcilePair {
  const { wanted, from, to, isOurs } = pair
  const spare = from.indexes.filter((index) => !has(to.indexes, index.name) && !isOurs(index))
  const names = new Map(
    to.indexes.flatMap((index) => {
      const named = find(from.indexes, index.name)
      const old = (named ? [named] : spare).find((each) => withoutCasts(each) === withoutCasts(index))
      return old ? [[index.name, old] as const] : []
    }),
  )
  const unasked = new Set(unaskedIndexes(pair).filter((name) => !names.has(name)))
  const indexes = to.indexes.filter(({ name }) => !unasked.has(name)).map((index) => names.get(index.name) ?? index)
  // The default name of PostgreSQL is the name that we generate, even for a sorted or partial index, or one of another kind.
  const left = from.indexes.filter(
    (index) =>
      !has(indexes, index.name) &&
      isOurs(index) &&
      isLeft(index, !isPlainIndex(from.name, index) && !pair.isRecorded(index.name)),
  )
  return {
    ...pair,
    wanted: {
      ...wanted,
      indexes: wanted.indexes
        .filter(({ name }) => !unasked.has(name))
        .map((index) => ({ ...index, name: names.get(index.name)?.name ?? index.name })),
    },
    to: { ...to, indexes: [...indexes, ...left] },
  }
}

/** PostgreSQL casts a column of the type varchar where it needs a text; the declared column may be a text. */
function withoutCasts(index: CatalogIndex): string {
  return nameless(index).replaceAll('::text', '')
}

/** A foreign key without an index stays without one until the configuration declares it. */
function unaskedIndexes({ wanted, from }: ReconcilePair): readonly string[] {
  const plain = from.indexes.filter(
    (index) => isPlainIndex(from.name, index) || isPlainIndex(from.name, index, 'unique'),
  )
  const leading = [...plain, ...from.constraints.filter(({ kind }) => kind === 'unique' || kind === 'primary_key')]
  const referring = from.constraints.filter(({ kind }) => kind === 'foreign_key')
  const startsWith = (columns: readonly string[], parts: typeof leading) =>
    parts.some((part) => {
      const start = part.columns.slice(0, columns.length)
      return start.length === columns.length && start.every((column) => columns.includes(column ?? ''))
    })
  return wanted.indexes
    .filter(({ implied, columns }) => implied && !startsWith(columns, leading) && startsWith(columns, referring))
    .map(({ name }) => name)
    .filter((name) => !has(from.indexes, name))
}
