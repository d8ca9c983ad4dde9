import type { Json } from '../../json.js'

/** One step of a plan that PostgreSQL made. */
export interface PlanStep {
  /** `Index Scan Backward`, `Sort`. */
  readonly type: string
  readonly table: string | undefined
  readonly index: string | undefined
  /** What the step belongs to when it is not the statement itself: `InitPlan 1`. */
  readonly part: string | undefined
  readonly estimated: number
  /** Of all rounds together; undefined when it did not run. */
  readonly actual: number | undefined
  /** What it read and passed over. */
  readonly removed: number
  /** `Index Cond: (id = '5')`, one line each. */
  readonly details: readonly string[]
  readonly steps: readonly PlanStep[]
}

/** A way in which a statement reads a table. */
export interface Access {
  readonly table: string
  /** Undefined for one that reads the whole table. */
  readonly index: string | undefined
  /** Rows that were looked at; undefined when it did not run. */
  readonly rows: number | undefined
  /** How many of them were of no use. */
  readonly removed: number
  /** Whether it serves the count, and not the rows that are answered. */
  readonly counts: boolean
}

type Node = Readonly<Record<string, Json>>

const DETAILS = ['Index Cond', 'Recheck Cond', 'Filter', 'Sort Key', 'Presorted Key', 'Sort Method'] as const
const REMOVED = ['Rows Removed by Filter', 'Rows Removed by Index Recheck'] as const

/** A plan as `explain (format json)` writes it, as far as people read it. */
export function readPlan(node: Node): PlanStep {
  const text = (key: string): string | undefined => (typeof node[key] === 'string' ? node[key] : undefined)
  const number = (key: string): number => Number(node[key] ?? 0)
  // A step that was never reached had no rounds.
  const rounds = number('Actual Loops') || undefined
  const backward = text('Scan Direction') === 'Backward' ? ' Backward' : ''
  const lines = DETAILS.filter((key) => node[key] !== undefined).map(
    (key) => `${key}: ${[node[key]].flat().join(', ')}`,
  )
  const removed = REMOVED.reduce((sum, key) => sum + number(key), 0) * (rounds ?? 0)
  return {
    type: `${text('Node Type') ?? ''}${backward}`,
    table: text('Relation Name'),
    index: text('Index Name'),
    part: text('Subplan Name'),
    estimated: number('Plan Rows'),
    actual: rounds === undefined ? undefined : Math.round(number('Actual Rows') * rounds),
    removed,
    details: removed > 0 ? [...lines, `passed over: ${removed} rows`] : lines,
    steps: ((node['Plans'] ?? []) as readonly Node[]).map(readPlan),
  }
}

/** Every way in which the plan of a statement reads a table. Of a list, the count is a plan of its own right below the whole. */
export function accessesOf(root: PlanStep, isList: boolean): readonly Access[] {
  const isCount = ({ part }: PlanStep) => isList && part?.startsWith('InitPlan') === true
  return [...readsOf(root, false), ...root.steps.flatMap((step) => readsBelow(step, isCount(step)))]
}

function readsBelow(step: PlanStep, counts: boolean): readonly Access[] {
  return [...readsOf(step, counts), ...step.steps.flatMap((each) => readsBelow(each, counts))]
}

function readsOf(step: PlanStep, counts: boolean): readonly Access[] {
  const rows = step.actual === undefined ? undefined : step.actual + step.removed
  const { table = '', index } = step
  if (index === undefined && step.type !== 'Seq Scan') return []
  return [{ table, index, rows, removed: step.removed, counts }]
}
