import { createHash } from 'node:crypto'
import { inSchemaOf, tableSql } from '../../../fields/table-name.js'
import { identifier } from '../../../fields/sql-literal.js'
import { alter, partsOf, safe, type Step } from '../../files/steps.js'
import type { Catalog, CatalogConstraint, CatalogIndex } from '../../introspect/catalog/catalog.js'
import { find } from '../compare/pair.js'

/** An index or a unique constraint that is dropped after the others were built: a step in the transaction that frees its name, if another index needs the name, and the drop. */
interface LateDrop {
  readonly inside?: Step
  readonly last: Step
}

/** Drops an index or a unique constraint only after the plan has built others of its table. */
export function dropLater(step: Step, steps: readonly Step[], from: Catalog): LateDrop | undefined {
  const constraint = dropUniqueLater(step, steps, from)
  return constraint ? { last: constraint } : dropIndexLater(step, steps, from)
}

/**
 * Drops an index only after the plan has built other indexes of its table, so that queries always have one of them. Returns undefined if the step drops no
 * index, if the plan builds none, or if the plan drops or retypes a column of the index.
 * @param from the tables before the plan, after its renames
 */
function dropIndexLater(step: Step, steps: readonly Step[], from: Catalog): LateDrop | undefined {
  const [table, name = ''] = partsOf(step.subject)
  const index = find(find(from, table)?.indexes ?? [], name)
  if (step.change !== 'drop' || !index || !/^drop index /.test(step.up.join())) return undefined
  const others = steps.filter((other) => other !== step && partsOf(other.subject)[0] === table)
  const built = others.filter(({ change, up }) => change === 'add' && up.some((text) => BUILDS.test(text)))
  if (built.length === 0 || isChanged(index.uses, others)) return undefined
  if (!built.some(({ subject }) => subject === step.subject)) return { last: lateDrop(step, index) }
  const aside = { ...index, name: asideName(name), definition: renamed(index, asideName(name)) }
  const rename = (one: string, other: string) => `alter index ${inSchemaOf(table, one)} rename to ${identifier(other)}`
  return {
    inside: {
      change: 'rename',
      subject: `${table}.${aside.name}`,
      detail: `index, was ${name}, until the new one is built`,
      ...safe,
      up: [rename(name, aside.name)],
      down: [rename(aside.name, name)],
    },
    last: lateDrop({ ...step, subject: `${table}.${aside.name}` }, aside),
  }
}

/** Whether steps drop or retype one of the columns. */
function isChanged(columns: readonly (string | null)[], steps: readonly Step[]): boolean {
  return steps.some(
    ({ subject, change, up }) =>
      columns.includes(partsOf(subject)[1] ?? '') && (change === 'drop' || up.some((text) => RETYPES.test(text))),
  )
}

/**
 * Drops a unique constraint only after the plan has built another unique key of its table. Otherwise, requests could add duplicates in between, and the new key
 * could not be built.
 */
function dropUniqueLater(step: Step, steps: readonly Step[], from: Catalog): Step | undefined {
  const [table, name = ''] = partsOf(step.subject)
  const constraint = find(find(from, table)?.constraints ?? [], name)
  const columns = constraint && columnsOf(constraint)
  if (step.change !== 'drop' || !constraint || columns === undefined) return undefined
  const others = steps.filter((other) => other !== step && partsOf(other.subject)[0] === table)
  const isBuilt = others.some(
    ({ subject, change, up }) =>
      change === 'add' && subject !== step.subject && up.some((text) => BUILDS_UNIQUE.test(text)),
  )
  if (!isBuilt || isChanged(constraint.columns, others)) return undefined
  const { waits: _waits, risk, ...rest } = step
  const quoted = identifier(name)
  return {
    ...rest,
    outside: true,
    risk: [...(risk === undefined ? [] : [risk]), 'stays until the new index is built'].join('; '),
    up: [alter(table, `drop constraint if exists ${quoted}`)],
    down: [
      `create unique index concurrently ${quoted} on ${tableSql(table)} ${columns}`,
      alter(table, `add constraint ${quoted} unique using index ${quoted}`),
    ],
  }
}

/** The columns of a unique constraint without options, as in its definition. */
function columnsOf({ kind, definition }: CatalogConstraint): string | undefined {
  return kind === 'unique' ? /^UNIQUE (\([^()]*\))$/.exec(definition)?.[1] : undefined
}

const NAME = '"(?:[^"]|"")+"'
const RETYPES = new RegExp(`^alter table (?:${NAME}\\.)?${NAME} alter column ${NAME} type `)
const BUILDS = /^create (?:unique )?index | add constraint .* unique /s
const BUILDS_UNIQUE = /^create unique index | add constraint .* unique /s

function lateDrop(step: Step, { name, definition }: CatalogIndex): Step {
  const { waits: _waits, risk, ...rest } = step
  return {
    ...rest,
    outside: true,
    risk: [...(risk === undefined ? [] : [risk]), 'stays until the new index is built'].join('; '),
    up: [`drop index concurrently ${identifier(name)}`],
    down: [definition.replace(/^CREATE (UNIQUE )?INDEX /, 'CREATE $1INDEX CONCURRENTLY ')],
  }
}

function renamed({ definition }: CatalogIndex, name: string): string {
  return definition.replace(/ INDEX (?:"(?:[^"]|"")+"|[^" ]+) ON /, () => ` INDEX ${identifier(name)} ON `)
}

const SHORT = 8

/** PostgreSQL truncates names of more than 63 bytes. */
function asideName(name: string): string {
  return `replaced_${createHash('sha256').update(name).digest('hex').slice(0, SHORT)}_idx`
}
