import type { ModelSpec, StoredRecord } from '../../../src/internal.js'

type World = ReadonlyMap<string, readonly StoredRecord[]>
type Relation = ModelSpec['relations'][number]

/**
 * Sets the fields of relations over several fields, so that they refer to existing records. Keeps as many values of the record as possible, preferably the
 * values that differ from `base`. Returns the record unchanged if no existing records fit.
 */
export function withRelated(
  { relations }: ModelSpec,
  record: StoredRecord,
  { world, base = {} }: { readonly world: World; readonly base: StoredRecord | undefined },
): StoredRecord {
  const joined = relations.filter(({ parts }) => parts.length > 1)
  const weightOf = (name: string) => (record[name] === base[name] ? 1 : relations.length + 2)

  const related = (rest: readonly Relation[], bound: StoredRecord): StoredRecord | undefined => {
    const [relation, ...others] = rest
    if (!relation) return bound
    const now = { ...record, ...bound }
    if (relation.parts.some(({ field }) => now[field.name] === null)) return related(others, bound)
    const kept = (target: StoredRecord) =>
      relation.parts
        .filter(({ field, to }) => record[field.name] === target[to.name])
        .reduce((sum, { field }) => sum + weightOf(field.name), 0)
    const candidates = (world.get(relation.target.table) ?? [])
      .filter((target) =>
        relation.parts.every(({ field, to }) => (bound[field.name] ?? target[to.name]) === target[to.name]),
      )
      .toSorted((one, other) => kept(other) - kept(one))
    for (const target of candidates) {
      const values = Object.fromEntries(relation.parts.map(({ field, to }) => [field.name, target[to.name] ?? null]))
      const found = related(others, { ...bound, ...values })
      if (found) return found
    }
    const optional = relation.parts.find(({ field }) => field.nullable && bound[field.name] === undefined)
    return optional && related(others, { ...bound, [optional.field.name]: null })
  }

  const found = joined.length > 0 ? related(joined, {}) : undefined
  return found ? { ...record, ...found } : record
}
