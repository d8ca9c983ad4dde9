import type { Json } from '../../foundation/json.js'
import { ENFORCED } from './enforced-key.js'

/** One step of a PostgreSQL plan. */
export interface PlanStep {
  /** For example `Index Scan Backward` or `Sort`. */
  readonly type: string
  readonly table: string | undefined
  readonly index: string | undefined
  /** The subplan that the step belongs to, such as `InitPlan 1`; undefined for the main statement. */
  readonly part: string | undefined
  readonly estimated: number
  /** The total over all loops; undefined if it did not run. */
  readonly actual: number | undefined
  /** Rows that were read and discarded. */
  readonly removed: number
  /** For example `Index Cond: (id = '5')`, one per line. */
  readonly details: readonly string[]
  readonly steps: readonly PlanStep[]
}

/** How a statement reads a table. */
export interface Access {
  readonly table: string
  /** Undefined for a sequential scan. */
  readonly index: string | undefined
  /** Rows that were read; undefined if it did not run. */
  readonly rows: number | undefined
  /** How many of them were discarded. */
  readonly removed: number
  /** Whether it serves the count rather than the rows of the response. */
  readonly counts: boolean
}

type Node = Readonly<Record<string, Json>>

const DETAILS = ['Index Cond', 'Recheck Cond', 'Filter', 'Sort Key', 'Presorted Key', 'Sort Method'] as const
const REMOVED = ['Rows Removed by Filter', 'Rows Removed by Index Recheck'] as const

/** Parses the output of `explain (format json)`. */
export function readPlan(node: Node): PlanStep {
  const text = (key: string): string | undefined => (typeof node[key] === 'string' ? node[key] : undefined)
  const number = (key: string): number => Number(node[key] ?? 0)
  // A step that was never reached has no loops.
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
    details: removed > 0 ? [...lines, `filtered out: ${removed} rows`] : lines,
    steps: ((node['Plans'] ?? []) as readonly Node[]).map(readPlan),
  }
}

/** Returns every access to a table in a plan. In a list, the count is a separate plan directly below the root. */
export function accessesOf(root: PlanStep, isList: boolean): readonly Access[] {
  const isCount = ({ part }: PlanStep) => isList && part?.startsWith('InitPlan') === true
  const accesses = [...readsOf(root, false), ...root.steps.flatMap((step) => readsBelow(step, isCount(step)))]
  // Of a statement with two ways to find a page, one ran.
  return root.actual === undefined ? accesses : accesses.filter(({ rows }) => rows !== undefined)
}

function readsBelow(step: PlanStep, counts: boolean): readonly Access[] {
  // It reads the catalogue alone.
  if (step.part === `CTE ${ENFORCED}`) return []
  return [...readsOf(step, counts), ...step.steps.flatMap((each) => readsBelow(each, counts))]
}

function readsOf(step: PlanStep, counts: boolean): readonly Access[] {
  const rows = step.actual === undefined ? undefined : step.actual + step.removed
  const { table = '', index } = step
  if (index === undefined && step.type !== 'Seq Scan') return []
  return [{ table, index, rows, removed: step.removed, counts }]
}
