import type { Catalog, CatalogTable } from '../../introspect/catalog/catalog.js'
import {
  both,
  extra,
  type FormerNames,
  filledColumns,
  filledRelation,
  find,
  has,
  isOfOneKind,
  isOurConstraint,
  isOurIndex,
  isSame,
  isTied,
  type Pair,
  pairTables,
  retypedColumn,
} from './pair.js'
import type { Ownership } from './ownership.js'
import { rejectedChoices } from '../parts-of-others.js'
import { isUnclear, notesOf, rejectionsOf, strandedTables } from '../rejections.js'
import type { Decision } from '../prove/row-query.js'
import { lateForeignKeys, type WantedConstraint, type WantedTable } from '../sql.js'
import * as columns from '../steps/column-steps.js'
import * as parts from '../steps/part-steps.js'
import type { Step } from '../../files/steps.js'
import { replacedChecks } from './replaced-checks.js'
import { retypedParts, isAside, isOn, type PartStep, partsInTheWay } from '../steps/parts-in-the-way.js'
import { renamedConstraints, renamedIndexes, renamedParts } from '../steps/renamed-parts.js'
import * as tables from '../steps/table-steps.js'
import { conversionDecision, type GivenConversion } from '../steps/type-change.js'

/** The difference between the tables of the migration files and those of resources.yaml. */
export interface Difference {
  readonly steps: readonly Step[]
  /** Changes that are not made because their meaning is unclear: each with the setting that clarifies it. */
  readonly rejections: readonly string[]
  /** Objects that only the files have, and that are left alone. */
  readonly notes: readonly string[]
}

/** The schemas to compare. */
export interface Sides {
  /** The tables in an order in which they can be created. */
  readonly wanted: readonly WantedTable[]
  /** Tables that may be dropped. */
  readonly dropped: readonly string[]
  /** The catalogue of the files, after the renames of the plan. */
  readonly from: Catalog
  /** The catalogue of `wanted`, from the same server. */
  readonly to: Catalog
  readonly former: FormerNames
  readonly owns: Ownership
  /** The conversions of columns that a person gives. */
  readonly conversions: readonly GivenConversion[]
  /** Tables that belong to a partitioned one. */
  readonly partitions: readonly string[]
  /** The choices that the plan adds, by the name of the enum. */
  readonly choices: ReadonlyMap<string, readonly string[]>
}

/**
 * Compares the schema of the files with the wanted one. The order of the steps: first drop objects that are in the way, then rename,
 * then change tables and columns, then create tables, and finally add constraints and indexes.
 */
export function compareSchemas(sides: Sides): Difference {
  const { wanted, from, to } = sides
  const known = new Map(from.map((table) => [table.name, table]))
  const created = wanted.filter(({ name }) => !known.has(name))
  const gone = from.filter(({ name }) => sides.dropped.includes(name) && !has(to, name))
  const pairs = pairTables(wanted, sides)
  const added = pairs.flatMap((pair) => addedConstraints(pair, pairs))
  const unready = new Set(added.flatMap(({ unique }) => unique ?? []))
  return {
    steps: [
      ...foreignKeysFirst([...pairs.flatMap(partsInTheWay), ...gone.flatMap(foreignKeysOf)]),
      ...renamedParts(pairs),
      ...pairs.flatMap(droppedColumns),
      ...gone.map((table) => tables.dropTable(table)),
      ...pairs.flatMap(addedColumns),
      ...pairs.flatMap(changedColumns),
      ...createdTables(created, (table) => known.has(table) && !unready.has(table)),
      ...foreignKeysLast([...added, ...lastForeignKeys(created, unready)]),
      ...pairs.flatMap((pair) => retypedParts(pair).adds),
      ...pairs.flatMap(addedIndexes),
    ],
    rejections: [
      ...pairs.flatMap(rejectionsOf),
      ...pairs.flatMap((pair) => rejectedChoices(pair, sides.choices)),
      ...strandedTables(sides, created),
    ],
    notes: [...unknownTables(sides), ...pairs.flatMap(notesOf)],
  }
}

function unknownTables({ from, to, dropped, partitions }: Sides): readonly string[] {
  return extra(from, to)
    .filter(({ name }) => !dropped.includes(name) && !partitions.includes(name))
    .map(
      ({ name }) =>
        `table ${name} is not in the configuration and is left alone; \`dropped: [${name}]\` at its top drops it`,
    )
}

/** The target of a foreign key can be dropped or change its type only after the foreign key was dropped. */
function foreignKeysFirst(parts: readonly PartStep[]): readonly Step[] {
  return [...parts.filter(({ points }) => points), ...parts.filter(({ points }) => !points)].map(({ step }) => step)
}

function foreignKeysOf({ name, constraints }: CatalogTable): readonly PartStep[] {
  return constraints
    .filter(({ kind }) => kind === 'foreign_key')
    .map((constraint) => ({ step: parts.dropConstraint(name, constraint, false), points: true }))
}

function droppedColumns(pair: Pair): readonly Step[] {
  const { wanted, from, dropped, relation } = pair
  return from.columns
    .filter(({ name }) => dropped.has(name) && !isUnclear(pair, name))
    .map((column) => columns.dropColumn(wanted.name, column, relation))
}

function addedColumns({ wanted, from, relation }: Pair): readonly Step[] {
  return wanted.columns
    .filter((column) => !has(from.columns, column.name))
    .map((column) => columns.addColumn(wanted.name, column, relation))
}

function changedColumns(pair: Pair): readonly Step[] {
  const { wanted, from, to, retyped, converted } = pair
  return both(from.columns, to.columns)
    .filter(([old, now]) => isOfOneKind(old, now))
    .flatMap(([old, now]) => {
      const indexed = [...from.indexes, ...from.constraints].some(({ columns }) => columns.includes(now.name))
      const type = retyped.has(now.name)
      const nullability = { from: old, to: now, relation: converted, fills: !isTied(pair, now.name) }
      return [
        ...(type ? [columns.changeType(retypedColumn(pair, old, now), { indexed })] : []),
        ...(type || old.default === now.default ? [] : [columns.changeDefault(wanted.name, old, now)]),
        ...(old.nullable === now.nullable ? [] : [columns.changeNullable(wanted.name, nullability)]),
      ]
    })
}

/** @param isReady whether foreign keys can refer to an existing table */
function createdTables(created: readonly WantedTable[], isReady: (table: string) => boolean): readonly Step[] {
  const made = created.map((table, index) => {
    const earlier = new Set(created.slice(0, index).map(({ name }) => name))
    return tables.addTable(table, (target) => isReady(target) || earlier.has(target))
  })
  return [...made, ...lateForeignKeys(created).map(({ table, constraint }) => addedToNew(table, constraint))]
}

/** The foreign keys of new tables to columns that other steps make unique. */
function lastForeignKeys(created: readonly WantedTable[], unready: ReadonlySet<string>): readonly PartStep[] {
  return created.flatMap((table) =>
    table.constraints
      .filter(({ target }) => target !== undefined && unready.has(target))
      .map((constraint) => ({ step: addedToNew(table, constraint), points: true })),
  )
}

function addedToNew(table: WantedTable, constraint: WantedConstraint): Step {
  return parts.addConstraint(table.name, constraint, {
    isNew: true,
    owned: true,
    relation: table.name,
    was: table.name,
    target: undefined,
    decides: undefined,
  })
}

/** The target of a foreign key must be unique first. */
function foreignKeysLast(parts: readonly PartStep[]): readonly Step[] {
  return [...parts.filter(({ points }) => !points), ...parts.filter(({ points }) => points)].map(({ step }) => step)
}

function addedConstraints(pair: Pair, pairs: readonly Pair[]): readonly PartStep[] {
  const { wanted, from, to, former } = pair
  const was = former.table(from.name)
  const named = new Set(renamedConstraints(pair).map(([, now]) => now.name))
  const replaced = replacedChecks(pair)
  // A default gives every row the same value in the new column, which may violate a unique constraint or a foreign key.
  const isEmpty = (column: string) => !has(from.columns, column) && find(wanted.columns, column)?.default === undefined
  const stepOf = (constraint: WantedConstraint): Step | undefined => {
    const [old, now] = [find(from.constraints, constraint.name), find(to.constraints, constraint.name)]
    const isNew = constraint.columns.every(isEmpty)
    const target = pairs.find((other) => other.wanted.name === constraint.target)?.converted
    const relation = filledRelation(pair, filledColumns(pair, constraint))
    const relations = { relation, was, target, decides: decisionOn(constraint, pair) }
    const others = replaced.get(constraint.name)
    if (others) return parts.changeConstraint(wanted.name, { from: others, to: constraint }, relations)
    // A constraint with its name may exist on a column that is dropped.
    if (!old || isAside(old, pair, pairs) || isOn(pair.dropped, old))
      return parts.addConstraint(wanted.name, constraint, {
        isNew,
        // Constraints that others made are put back for them.
        owned: !old || isOurConstraint(pair, old),
        ...relations,
      })
    // The rejection explains the solution.
    return isSame(old, now) || !isOurConstraint(pair, old)
      ? undefined
      : parts.changeConstraint(wanted.name, { from: [old], to: constraint }, relations)
  }
  return wanted.constraints
    .filter(({ kind, name }) => kind !== 'primary_key' && !named.has(name))
    .flatMap((constraint) => {
      const step = stepOf(constraint)
      const unique = constraint.kind === 'unique' && { unique: wanted.name }
      return step ? [{ step, points: constraint.kind === 'foreign_key', ...unique }] : []
    })
}

/** How to prevent rows from violating a constraint: by another conversion of its column, or by another default if the plan fills a new column. */
function decisionOn(constraint: WantedConstraint, pair: Pair): Decision | undefined {
  const { wanted, to, retyped } = pair
  const column = to.columns.find(({ name }) => constraint.columns.includes(name) && retyped.has(name))
  if (column) return conversionDecision(wanted.name, column)
  const [filled] = filledColumns(pair, constraint)
  return (
    filled && {
      cannot: 'be added',
      help:
        `they get the default ${filled.default}: give the field a default that refers to a row of ${constraint.target}, make the field \`nullable\` without a default, ` +
        `or first add the missing row to ${constraint.target}, in a migration of its own if other databases lack the row, too`,
    }
  )
}

function addedIndexes(pair: Pair): readonly Step[] {
  const { wanted, from, to, former, converted: relation } = pair
  const named = new Set(renamedIndexes(pair).map(([, now]) => now.name))
  return wanted.indexes
    .filter(({ name }) => !named.has(name))
    .filter(({ name }) => {
      const old = find(from.indexes, name)
      return !old || (old.definition !== find(to.indexes, name)?.definition && isOurIndex(pair, old))
    })
    .map((index) => parts.addIndex(wanted, index, { relation, was: former.table(from.name) }))
}
