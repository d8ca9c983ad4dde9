import { bareName } from '../../fields/table-name.js'
import { type Inventory, type TableState, TYPE } from './inventory.js'
import type { Loss } from './loss.js'
import { rewrittenIn, type Stretch } from './stretches.js'

/** A possible loss, which shows only if the migration runs again after a table was measured. */
export interface Unclear extends Loss {
  readonly table: string
  /** The rows of a single table are counted; the rows of a partitioned table are compared, because they may move to other partitions. */
  readonly measure: 'count' | 'comparison'
  /** The rows that the migration has inserted into the table itself. */
  readonly inserted: number
}

/** The data that a migration has destroyed, or may have destroyed. */
export interface Found {
  readonly losses: readonly Loss[]
  readonly unclear: readonly Unclear[]
  /** New partitions since the start of the run, which may now have rows of older partitions. */
  readonly filled: ReadonlyMap<string, string>
}

interface Comparison {
  readonly migration: string
  /** The objects at the start of the run: only their data can be lost. */
  readonly start: Inventory
  readonly before: Inventory
  readonly after: Inventory
  readonly stretches: readonly Stretch[]
  /** The functions of users, by name. */
  readonly functions: readonly string[]
  /** The tables that the session may have changed, if PostgreSQL did not count its deletions. */
  readonly uncounted: readonly string[]
}

/** Finds the data that one migration has destroyed, of the objects that the run started with. Objects have their names from before the migration. */
export function lossesBetween(comparison: Comparison): Found {
  const { migration, start, before, after, stretches, uncounted } = comparison
  const names = new Map([...after.objects, ...stretches.flatMap((each) => [...each.after.objects]), ...before.objects])
  const existing = new Map(start.objects)
  const losses: Loss[] = []
  const unclear: Unclear[] = []
  const filled = new Map<string, string>()
  const deletedFrom = (id: string, stretch: Pick<Stretch, 'before' | 'after'>) => {
    const from = [[id, ...ancestorsOf(id, stretch)].map((each) => names.get(each) ?? '')]
    return { migration, object: names.get(id) ?? '', kind: 'deleted', count: undefined, from } as const
  }
  const toCount = (id: string, stretch: Pick<Stretch, 'before' | 'after'>): Unclear => {
    const inserted = Math.max(0, grown('inserted', id, { before, after }))
    return { ...deletedFrom(id, stretch), table: id, measure: 'count', inserted }
  }
  for (const stretch of stretches) {
    for (const group of groupsOf(stretch, existing)) {
      const { root, sources, deleted, inserted: added } = group
      if (deleted === 0) continue
      const moves = group.isPartitioned && added > 0
      if (moves) for (const id of group.targets) filled.set(id, stretch.after.objects.get(id) ?? '')
      const from = sources.map((id) => [id, ...ancestorsOf(id, stretch)].map((each) => names.get(each) ?? ''))
      const object = names.get([root, ...sources].find((id) => existing.has(id)) ?? '') ?? ''
      const loss = { migration, object, kind: 'deleted', from } as const
      if (moves && !onlyMoves(stretch, group, comparison.functions))
        unclear.push({ ...loss, count: undefined, table: root, measure: 'comparison', inserted: 0 })
      else if (!moves || deleted > added)
        losses.push({ ...loss, count: (moves ? deleted - added : deleted).toLocaleString('en-US') })
    }
    for (const [id, name] of filled) {
      existing.set(id, name)
      // `truncate` empties a table of the same transaction in place, and begins to count again.
      const left = grown('inserted', id, stretch)
      if (left < 0 && stretch.after.tables.has(id))
        losses.push({ ...deletedFrom(id, stretch), count: (-left).toLocaleString('en-US') })
    }
    for (const [id, lost] of stretch.shrunk)
      losses.push({ ...deletedFrom(id, stretch), count: lost.toLocaleString('en-US') })
    for (const id of rewrittenIn(stretch))
      if (existing.has(id) && !isExplained(id, stretch, names)) unclear.push(toCount(id, stretch))
  }
  for (const id of uncounted) if (existing.has(id)) unclear.push(toCount(id, comparison))
  const gone = [...existing].filter(([id]) => (before.objects.has(id) || filled.has(id)) && !after.objects.has(id))
  const dropped = new Set(gone.flatMap(([id]) => (id.includes('.') ? [] : [id])))
  const drops = gone.flatMap(([id, object]) => {
    const kind = kindOf(id)
    // A type that is dropped had no values, except in columns that are dropped with it.
    const isPart = dropped.has(id.split('.')[0] ?? '') && id.includes('.')
    return kind === undefined || isPart
      ? []
      : [{ migration, object: before.objects.get(id) ?? object, kind, count: undefined }]
  })
  const isLost = ({ table }: Unclear) => dropped.has(table)
  return { losses: [...drops, ...summed(losses)], unclear: unclear.filter((each) => !isLost(each)), filled }
}

/** The deletions of all stretches as one loss for each table. */
function summed(losses: readonly Loss[]): readonly Loss[] {
  const sums = new Map<string, Loss>()
  for (const loss of losses) {
    const { count = '0', from = [] } = sums.get(loss.object) ?? {}
    const sum = [count, loss.count ?? '0'].reduce((total, each) => total + Number(each.replaceAll(',', '')), 0)
    sums.set(loss.object, { ...loss, count: sum.toLocaleString('en-US'), from: [...from, ...(loss.from ?? [])] })
  }
  return [...sums.values()]
}

function grown(
  counter: 'deleted' | 'inserted',
  id: string,
  { before, after }: Pick<Stretch, 'before' | 'after'>,
): number {
  return (after.tables.get(id)?.[counter] ?? 0) - (before.tables.get(id)?.[counter] ?? 0)
}

/** A table, or a partitioned table with its partitions. */
interface Group {
  readonly root: string
  readonly isPartitioned: boolean
  readonly members: readonly string[]
  /** The existing tables from which rows were deleted. */
  readonly sources: readonly string[]
  readonly deleted: number
  readonly inserted: number
  /** The new partitions into which rows were inserted. */
  readonly targets: readonly string[]
}

/** The deletions by one stretch, also by functions, triggers, rules and views. A partition that it detaches counts with its former table. */
function groupsOf(stretch: Stretch, existing: ReadonlyMap<string, string>): readonly Group[] {
  const stateOf = (id: string): TableState | undefined => stretch.before.tables.get(id) ?? stretch.after.tables.get(id)
  const rootOf = (id: string) => stateOf(id)?.root ?? stretch.after.tables.get(id)?.root
  const groups = new Map<string, string[]>()
  for (const id of new Set([...stretch.before.tables.keys(), ...stretch.after.tables.keys()])) {
    const root = rootOf(id) ?? id
    groups.set(root, [...(groups.get(root) ?? []), id])
  }
  return [...groups].map(([root, members]) => {
    const isPartitioned = members.some((id) => rootOf(id) !== undefined)
    const sources = members.filter((id) => existing.has(id) && grown('deleted', id, stretch) > 0)
    return {
      root,
      isPartitioned,
      members,
      sources,
      deleted: sources.reduce((sum, id) => sum + grown('deleted', id, stretch), 0),
      inserted: members.reduce((sum, id) => sum + Math.max(0, grown('inserted', id, stretch)), 0),
      targets: members.filter((id) => !existing.has(id) && grown('inserted', id, stretch) > 0),
    }
  })
}

/** Whether only updates can have deleted and inserted the rows of a partitioned table, by moving them to other partitions. */
function onlyMoves({ kind, texts, before, after }: Stretch, { members }: Group, functions: readonly string[]): boolean {
  if (kind !== 'update') return false
  if (members.some((id) => before.tables.get(id)?.fires === true || after.tables.get(id)?.fires === true)) return false
  return !texts.some((text) => functions.some((name) => text.toLowerCase().includes(name.toLowerCase())))
}

/** Whether the statements of a stretch alter a table, or a table that it inherits from, under any of its names. */
function isExplained(id: string, stretch: Stretch, names: ReadonlyMap<string, string>): boolean {
  if (stretch.kind !== 'alter') return false
  return [id, ...ancestorsOf(id, stretch)].some((each) =>
    [names.get(each), stretch.before.objects.get(each), stretch.after.objects.get(each)].some(
      (name) => name !== undefined && stretch.texts.some((text) => mentions(text, bareName(name))),
    ),
  )
}

function mentions(text: string, name: string): boolean {
  return text.toLowerCase().includes(name.replaceAll('"', '""').toLowerCase())
}

function ancestorsOf(id: string, stretch: Pick<Stretch, 'before' | 'after'>): readonly string[] {
  const direct = [
    ...new Set([...(stretch.before.tables.get(id)?.parents ?? []), ...(stretch.after.tables.get(id)?.parents ?? [])]),
  ]
  return [...direct, ...direct.flatMap((each) => ancestorsOf(each, stretch))]
}

function kindOf(id: string): Loss['kind'] | undefined {
  const isType = id.startsWith(TYPE)
  if (id.includes('.')) return isType ? 'attribute' : 'column'
  return isType ? undefined : 'table'
}
