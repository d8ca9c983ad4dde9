import { NAME, unquoted } from '../files/statements.js'
import { partsOf, type Step } from '../files/steps.js'
import type { Catalog, CatalogTable } from '../introspect/catalog/catalog.js'
import { type Effect, effectsOf, tableNamed } from './effects.js'
import {
  isBlocking,
  lockMeaning,
  type StepLocks,
  strength,
  type TableLock,
  type TableWork,
  type Work,
} from './modes.js'

/**
 * Finds the locks of each step. A lock is held until its transaction commits, so that a step works under the locks of all earlier ones; a step outside of a
 * transaction holds only its own.
 * @param from the existing tables, under their names after the renames of the plan
 * @param views the existing views
 */
export function locksOf(steps: readonly Step[], from: Catalog, views: readonly string[] = []): readonly StepLocks[] {
  let tables: readonly CatalogTable[] = from
  const exists = ({ table }: Effect) => from.some(({ name }) => name === table) || views.includes(table)
  const held = new Map<string, TableLock>()
  return steps.map(({ up, outside }) => {
    const works: TableWork[] = []
    const all = outside ? new Map<string, TableLock>() : held
    for (const statement of up) {
      const effects = (effectsOf(statement, tables) ?? []).filter(exists)
      // Outside, each statement is a transaction.
      const own = outside ? new Map<string, TableLock>() : held
      for (const lock of effects) for (const locks of [own, all]) addLock(locks, lock)
      const blocking = [...own.values()].some(({ mode }) => isBlocking(mode))
      works.push(...effects.flatMap(({ table, work }) => (work ? [{ table, work, blocking }] : [])))
      tables = tables.map((table) => after(statement, table))
    }
    return { locks: [...all.values()], works }
  })
}

function addLock(locks: Map<string, TableLock>, { table, mode }: TableLock): void {
  if (strength(mode) > strength(locks.get(table)?.mode ?? '')) locks.set(table, { table, mode })
}

const CHANGE = new RegExp(
  `^alter table (?<table>(?:${NAME}\\.)?${NAME}) (?<verb>add|validate|drop) constraint (?:if exists )?(?<name>${NAME})(?: (?<definition>.*))?$`,
  'isu',
)

/** A table after a statement on its constraints. */
function after(statement: string, table: CatalogTable): CatalogTable {
  const { table: changed = '', verb, name: given = '', definition = '' } = CHANGE.exec(statement)?.groups ?? {}
  if (verb === undefined || tableNamed(changed) !== table.name) return table
  const name = unquoted(given)
  const others = table.constraints.filter((each) => each.name !== name)
  if (verb === 'drop') return { ...table, constraints: others }
  if (verb === 'validate')
    return {
      ...table,
      constraints: table.constraints.map((each) => (each.name === name ? { ...each, validated: true } : each)),
    }
  const [, target] = /\breferences ((?:"[^"]+"\.)?"[^"]+")/i.exec(definition) ?? []
  const columns = [...definition.matchAll(/"((?:[^"]|"")+)"/g)].map(([, column = '']) => column)
  const made = {
    name,
    kind: target === undefined ? ('check' as const) : ('foreign_key' as const),
    columns: [...new Set(columns)],
    definition: definition.replace(/ not valid$/i, ''),
    validated: !/\bnot valid$/i.test(definition),
    target: target === undefined ? null : tableNamed(target),
    targetColumns: [],
  }
  return { ...table, constraints: [...others, made] }
}

const WORKS: Readonly<Record<Work, string>> = {
  scan: 'the rows are read',
  index: 'the index is built',
  rewrite: 'the table is rewritten',
  update: 'the rows are updated',
}

/** The same steps with their locks. */
export function withLocks(steps: readonly Step[], from: Catalog, views: readonly string[]): readonly Step[] {
  const all = locksOf(steps, from, views)
  return steps.map((step, at) => ({ ...step, locks: all[at] ?? { locks: [], works: [] } }))
}

/** The same step with what waits for it: risky if requests wait while it works: the existing rows decide how long. */
export function withWaits(step: Step): Step {
  const waits = step.waits ?? waitOf(step)
  if (waits === undefined || step.outside) return step
  return { ...step, waits, ...(step.safety === 'safe' && { safety: 'risky' }) }
}

/** How long requests wait because of a step: `reads and writes wait while the rows are read`; undefined if they wait only for a moment. */
function waitOf({ subject, locks: found }: Step): string | undefined {
  const { locks = [], works = [] } = found ?? {}
  const blocking = locks.filter(({ mode }) => isBlocking(mode))
  const waited = works.filter((work) => work.blocking)
  if (waited.length === 0) return undefined
  const meanings = [...new Set(blocking.toSorted(byStrength).map(({ mode }) => lockMeaning(mode)))]
  const own = waited[0]?.table
  const waits = meanings.map((meaning) => {
    const tables = blocking.filter(({ mode }) => lockMeaning(mode) === meaning).map(({ table }) => table)
    const isOwn = meanings.length === 1 && tables.join() === own && partsOf(subject)[0] === own
    return isOwn ? meaning : meaning.replace(/ wait$/, ` of ${tables.toSorted().join(' and ')} wait`)
  })
  const done = [...new Set(waited.map(({ work }) => work))].map((work) => WORKS[work])
  return `${waits.join(', ')} while ${done.join(' and ')}`
}

/** Which requests wait until the transaction of steps ends, if several steps make them wait: for the sum of their work. */
export function sumOf(steps: readonly Step[]): string | undefined {
  const inside = steps.filter(({ outside }) => !outside)
  const waiting = inside.filter(({ waits }) => waits !== undefined)
  if (waiting.length < 2) return undefined
  const held = (waiting.at(-1)?.locks?.locks ?? []).filter(({ mode }) => isBlocking(mode)).toSorted(byStrength)
  const works = waiting.flatMap(({ locks }) => locks?.works.filter((work) => work.blocking) ?? [])
  const done = [...new Set(works.map(({ work, table }) => `${SUMS[work]} ${table}`))].map((each) => {
    const times = works.filter(({ work, table }) => `${SUMS[work]} ${table}` === each).length
    return times === 1 ? each : `${each} ${times} times`
  })
  const waits = held.map(({ table, mode }) => lockMeaning(mode).replace(/ wait$/, ` of ${table}`))
  return `${waits.join(', ')} wait until the migration commits: it ${done.join(', ')}`
}

const SUMS: Readonly<Record<Work, string>> = {
  scan: 'reads the rows of',
  index: 'builds an index of',
  rewrite: 'rewrites',
  update: 'updates the rows of',
}

function byStrength(one: TableLock, other: TableLock): number {
  return strength(other.mode) - strength(one.mode)
}
