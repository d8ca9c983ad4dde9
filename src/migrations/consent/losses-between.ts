import { type Inventory, TYPE } from './inventory.js'
import type { Loss } from './loss.js'

/**
 * Finds what one migration has actually destroyed of the objects from the start of the run, under their names before the migration.
 * @param inventories the objects at the start of the run, before the migration and after it
 */
export function lossesBetween(
  migration: string,
  inventories: { readonly start: Inventory; readonly before: Inventory; readonly after: Inventory },
): readonly Loss[] {
  const { start, before, after } = inventories
  const gone = [...before.objects].filter(([id]) => start.objects.has(id) && !after.objects.has(id))
  const wholes = new Set(gone.flatMap(([id]) => (id.includes('.') ? [] : [id])))
  const dropped = gone.flatMap(([id, object]) => {
    const kind = kindOf(id)
    // A type that is dropped had no values, except in columns that are dropped with it.
    const isPart = wholes.has(id.split('.')[0] ?? '') && id.includes('.')
    return kind === undefined || isPart ? [] : [{ migration, object, kind, count: undefined }]
  })
  return [...dropped, ...deletedBetween(migration, inventories)]
}

/**
 * The deletions of one migration, also by functions, triggers, rules and views. An update that moves a row to another partition deletes and
 * inserts it, so the partitions of one table are counted together.
 */
function deletedBetween(
  migration: string,
  { start, before, after }: Parameters<typeof lossesBetween>[1],
): readonly Loss[] {
  const grown = (counts: 'deleted' | 'inserted', id: string): number =>
    (after[counts].get(id) ?? 0) - (before[counts].get(id) ?? 0)
  const names = new Map([...after.objects, ...before.objects])
  const parents = new Map([...after.parents, ...before.parents])
  // A partition that the migration detaches counts with its former table.
  const roots = new Map([...after.roots, ...before.roots])
  const groups = new Map<string, string[]>()
  for (const id of after.deleted.keys()) {
    const root = roots.get(id) ?? id
    groups.set(root, [...(groups.get(root) ?? []), id])
  }
  return [...groups].flatMap(([root, tables]): readonly Loss[] => {
    const sources = tables.filter((id) => grown('deleted', id) > 0)
    const deleted = sources.reduce((sum, id) => sum + grown('deleted', id), 0)
    const inserted = roots.has(root) ? tables.reduce((sum, id) => sum + grown('inserted', id), 0) : 0
    const existing = [root, ...sources].find((id) => start.objects.has(id) && before.objects.has(id))
    if (existing === undefined || deleted <= inserted) return []
    const from = sources.map((id) => [id, ...ancestorsOf(id, parents)].map((each) => names.get(each) ?? ''))
    const count = (deleted - inserted).toLocaleString('en-US')
    return [{ migration, object: names.get(existing) ?? '', kind: 'deleted', count, from }]
  })
}

function ancestorsOf(id: string, parents: Inventory['parents']): readonly string[] {
  const direct = parents.get(id) ?? []
  return [...direct, ...direct.flatMap((each) => ancestorsOf(each, parents))]
}

function kindOf(id: string): Loss['kind'] | undefined {
  const isType = id.startsWith(TYPE)
  if (id.includes('.')) return isType ? 'attribute' : 'column'
  return isType ? undefined : 'table'
}
