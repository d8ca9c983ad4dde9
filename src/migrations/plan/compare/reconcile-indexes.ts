import type { CatalogConstraint, CatalogIndex, CatalogTable } from '../../introspect/catalog/catalog.js'
import { find, has, nameless } from './pair.js'
import { isPlainIndex } from '../../introspect/catalog/plain-parts.js'
import { asTexts } from '../steps/retyped-parts.js'
import { enumOf } from '../steps/replace-enum.js'
import type { IsLeft, ReconcilePair } from './reconcile-pair.js'

/** Keeps existing indexes that satisfy the configuration or that it cannot express. */
export function reconcileIndexes(pair: ReconcilePair, isLeft: IsLeft): ReconcilePair {
  const { wanted, from, to, isOurs } = pair
  const spare = from.indexes.filter((index) => !has(to.indexes, index.name) && !isOurs(index))
  const enums = new Set(from.columns.filter(({ labels }) => labels !== null).map(enumOf))
  const names = new Map(
    to.indexes.flatMap((index) => {
      const named = find(from.indexes, index.name)
      const old = (named ? [named] : spare).find((each) => {
        const types = isOurs(each) ? NO_TYPES : enums
        return withoutCasts(each, types) === withoutCasts(index, types)
      })
      return old ? [[index.name, old] as const] : []
    }),
  )
  const kept = (index: CatalogIndex) => names.get(index.name) ?? index
  const existing = to.indexes.map(kept)
  // The default name of PostgreSQL is the name that we generate, even for a sorted or partial index, or one of another kind.
  const left = from.indexes.filter(
    (index) =>
      !has(existing, index.name) &&
      isOurs(index) &&
      isLeft(index, !isPlainIndex(from.name, index) && !pair.isRecorded(index.name)),
  )
  const unasked = new Set(unaskedIndexes(pair, left).filter((name) => !names.has(name)))
  const indexes = to.indexes.filter(({ name }) => !unasked.has(name)).map(kept)
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

const NO_TYPES: ReadonlySet<string> = new Set()

/** PostgreSQL casts a column of the type varchar where it needs a text; the declared column may be a text, in place of an enum too. */
function withoutCasts(index: CatalogIndex, enums: ReadonlySet<string>): string {
  return asTexts(nameless(index), enums).replaceAll('::text', '')
}

/**
 * A foreign key without an index stays without one until the configuration declares it. It needs none if a key or an index of the table that no model
 * can declare begins with its columns.
 */
function unaskedIndexes({ wanted, from, to }: ReconcilePair, left: readonly CatalogIndex[]): readonly string[] {
  const leading = leadingParts(from.name, from)
  const staying = leadingParts(from.name, { constraints: [...to.constraints, ...keysLeft(from, to)], indexes: left })
  const referring = from.constraints.filter(({ kind }) => kind === 'foreign_key')
  const startsWith = (columns: readonly string[], parts: typeof leading) =>
    parts.some((part) => {
      const start = part.columns.slice(0, columns.length)
      return start.length === columns.length && start.every((column) => columns.includes(column ?? ''))
    })
  return wanted.indexes
    .filter(
      ({ implied, columns }) =>
        implied && (startsWith(columns, staying) || (!startsWith(columns, leading) && startsWith(columns, referring))),
    )
    .map(({ name }) => name)
    .filter((name) => !has(from.indexes, name))
}

/** The key of a table whose model has none, which plans leave alone. */
function keysLeft(from: CatalogTable, to: CatalogTable): readonly CatalogConstraint[] {
  if (to.constraints.some(({ kind }) => kind === 'primary_key')) return []
  return from.constraints.filter(
    ({ kind, columns }) => kind === 'primary_key' && columns.every((column) => has(to.columns, column ?? '')),
  )
}

/** The keys of a table and its plain indexes, which find rows by their first columns. */
function leadingParts(table: string, { constraints, indexes }: Pick<CatalogTable, 'constraints' | 'indexes'>) {
  return [
    ...indexes.filter((index) => isPlainIndex(table, index) || isPlainIndex(table, index, 'unique')),
    ...constraints.filter(({ kind }) => kind === 'unique' || kind === 'primary_key'),
  ]
}
