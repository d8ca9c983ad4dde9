import { createHash } from 'node:crypto'
import { inSchemaOf } from '../../../fields/table-name.js'
import { identifier } from '../../../fields/sql-literal.js'
import { partsOf, safe, type Step } from '../../files/steps.js'
import type { Catalog, CatalogIndex } from '../../introspect/catalog/catalog.js'
import { find } from '../compare/pair.js'

/** An index that is dropped after the others were built: a step in the transaction that frees its name, if another index needs the name, and the drop. */
interface LateDrop {
  readonly inside?: Step
  readonly last: Step
}

/**
 * Drops an index only after the plan has built other indexes of its table, so that queries always have one of them. Returns undefined if the step drops no
 * index, if the plan builds none, or if the plan drops or retypes a column of the index.
 * @param from the tables before the plan, after its renames
 */
export function dropLater(step: Step, steps: readonly Step[], from: Catalog): LateDrop | undefined {
  const [table, name = ''] = partsOf(step.subject)
  const index = find(find(from, table)?.indexes ?? [], name)
  if (step.change !== 'drop' || !index || !/^drop index /.test(step.up.join())) return undefined
  const others = steps.filter((other) => other !== step && partsOf(other.subject)[0] === table)
  const built = others.filter(({ change, up }) => change === 'add' && up.some((text) => BUILDS.test(text)))
  const isChanged = others.some(
    ({ subject, change, up }) =>
      index.uses.includes(partsOf(subject)[1] ?? '') && (change === 'drop' || up.some((text) => RETYPES.test(text))),
  )
  if (built.length === 0 || isChanged) return undefined
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

const NAME = '"(?:[^"]|"")+"'
const RETYPES = new RegExp(`^alter table (?:${NAME}\\.)?${NAME} alter column ${NAME} type `)
const BUILDS = /^create (?:unique )?index | add constraint .* unique /s

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
