import { tableSql, formattedTable } from '../../../fields/table-name.js'
import { checkName } from '../../../config/parse/constraint-names.js'
import { identifier } from '../../../fields/sql-literal.js'
import { readRepeatable } from '../../files/concurrent.js'
import { alter, partsOf, safe, type Step } from '../../files/steps.js'
import { dropLater } from './late-drops.js'
import type { Catalog } from '../../introspect/catalog/catalog.js'
import { addConstraint } from '../sql.js'
import type { Connection } from '../../../db/database.js'

/** The parts of a step: in the transaction of the migration, and after it, while others read and write, possibly after all other steps. */
interface Parts {
  readonly inside?: Step
  readonly outside?: Step
  readonly last?: Step
}

/** The inputs that decide how a step is run. */
interface Setting {
  readonly steps: readonly Step[]
  readonly from: Catalog
  readonly isLarge: (table: string) => boolean
  /** Whether a table is partitioned: then the only forms that do not block are those of checks and required fields. */
  readonly isPartitioned: (table: string) => boolean
  /** The names of constraints and indexes that other steps drop. */
  readonly dropped: ReadonlySet<string>
  /** The tables of the checks and foreign keys that other steps drop, each with the kind: `books check`. */
  readonly weakened: ReadonlySet<string>
  /** The tables with a unique constraint that is made outside. */
  readonly unready: Set<string>
}

const NAME = '"(?:[^"]|"")+"'
const ADD = new RegExp(
  `^alter table (?:${NAME}\\.)?${NAME} add constraint (${NAME}) ((unique|check|foreign key) .*)$`,
  'is',
)
const DROP = new RegExp(`^(?:alter table .* drop constraint|drop index) (${NAME})$`)
const REFERS = new RegExp(`references ((?:${NAME}\\.)?${NAME})`)
const SET_NOT_NULL = new RegExp(`alter column (${NAME}) set not null$`)

/**
 * Moves steps that would block requests to large tables out of the transaction. Unique keys use an index that is built concurrently; checks and
 * foreign keys are added `not valid` and then validated; `not null` uses a validated check. An index that is replaced is dropped last. All other steps stay in the transaction.
 */
export function onlineSteps(
  steps: readonly Step[],
  from: Catalog,
  { isLarge, isPartitioned }: Pick<Setting, 'isLarge' | 'isPartitioned'>,
): readonly Step[] {
  const dropped = new Set(steps.flatMap(({ up }) => up.flatMap((text) => DROP.exec(text)?.[1] ?? [])))
  const weakened = new Set(
    steps
      .filter(({ change, up }) => change === 'drop' && up.some((text) => / drop constraint /.test(text)))
      .map(
        ({ subject, detail }) => `${partsOf(subject)[0]} ${/^(?:check|foreign key)/i.exec(detail)?.[0].toLowerCase()}`,
      ),
  )
  const setting = { steps, from, isLarge, isPartitioned, dropped, weakened, unready: new Set<string>() }
  const parts = steps.map((step) => partsOfStep(step, setting))
  return [
    ...parts.flatMap(({ inside }) => inside ?? []),
    ...parts.flatMap(({ outside }) => outside ?? []),
    ...parts.flatMap(({ last }) => last ?? []),
  ]
}

/** The tables of steps that would block requests, and may have a form that does not. */
export function blockedTables(steps: readonly Step[], setting: Pick<Setting, 'isPartitioned'>): readonly string[] {
  const blocking = steps.filter((step) => step.waits !== undefined && hasForm(step, setting))
  return [...new Set(blocking.map(({ subject }) => partsOf(subject)[0]))]
}

/** Whether a step may have a form that does not block. Indexes, unique keys and foreign keys of a partitioned table have none. */
function hasForm({ subject, up }: Step, { isPartitioned }: Pick<Setting, 'isPartitioned'>): boolean {
  const isOfIndexOrKey = (text: string) =>
    /^(?:create (?:unique )?|drop )index /.test(text) || ['unique', 'foreign key'].includes(ADD.exec(text)?.[3] ?? '')
  return !(isPartitioned(partsOf(subject)[0]) && up.some(isOfIndexOrKey))
}

function partsOfStep(step: Step, setting: Setting): Parts {
  const [table, name = ''] = partsOf(step.subject)
  const last = step.up.at(-1) ?? ''
  const [, given = '', definition = '', kind] = ADD.exec(last) ?? []
  const target = REFERS.exec(definition)?.[1]
  const waitsForKey = target !== undefined && setting.unready.has(target)
  if (!(setting.isLarge(table) && hasForm(step, setting)) && !waitsForKey) return { inside: step }
  const late = setting.isPartitioned(table) ? undefined : dropLater(step, setting.steps, setting.from)
  if (late) return late
  if (step.change === 'add' && step.up.length === 1 && /^create (?:unique )?index /.test(last))
    return { outside: concurrently(step) }
  const isUniqueOutside = kind === 'unique' && step.up.length === 1 && !setting.dropped.has(given)
  if (isUniqueOutside && !isNeededInside(table, setting)) {
    setting.unready.add(tableSql(table))
    return { outside: uniqueOutside(step, table, { name: given, definition }) }
  }
  if (kind === 'check' || kind === 'foreign key') {
    // The name of the constraint that it replaces can differ.
    const isOtherName = !waitsForKey && setting.weakened.has(`${table} ${kind}`)
    const isReplaced = step.up.length > 1 || setting.dropped.has(given) || isOtherName
    return isReplaced ? validatedLater(step, table, [given]) : { outside: checkedOutside(step, table, given) }
  }
  const [, column] = SET_NOT_NULL.exec(last) ?? []
  if (column !== undefined && !/^not null/.test(step.detail)) return requiredOutside(step, table, { name, column })
  if (/ alter column .* type /s.test(step.up.join('\n'))) return retyped(step, table, { name, setting })
  return { inside: step }
}

/** Whether a foreign key of a partitioned table refers to a table: before version 18 it cannot be `not valid`, so it stays inside, and needs its target there. */
function isNeededInside(table: string, { steps, isPartitioned }: Setting): boolean {
  const refers = (text: string) => REFERS.exec(text)?.[1] === tableSql(table)
  return steps.some(({ subject, up }) => isPartitioned(partsOf(subject)[0]) && up.some(refers))
}

const OUTSIDE = { outside: true, waits: 'nobody waits: it runs outside a transaction' } as const

/** An index that is built while others write. */
export function concurrently(step: Step): Step {
  const format = (statement: string) => statement.replace(/^(create (?:unique )?|drop )index /, '$1index concurrently ')
  const isUnique = step.up.some((statement) => statement.startsWith('create unique '))
  const { waits: _waits, ...rest } = step
  return {
    ...rest,
    ...(isUnique ? {} : safe),
    outside: true,
    risk: [
      ...(isUnique && step.risk !== undefined ? [step.risk] : []),
      'is built while others write, outside of a transaction',
    ].join('; '),
    up: step.up.map(format),
    down: step.down.map(format),
  }
}

function dropIfThere(table: string, name: string): string {
  return alter(table, `drop constraint if exists ${name}`)
}

function validate(table: string, name: string): string {
  return alter(table, `validate constraint ${name}`)
}

function unchecked(statement: string): string {
  return `${statement} not valid`
}

function uniqueOutside(
  step: Step,
  table: string,
  { name, definition }: { readonly name: string; readonly definition: string },
): Step {
  const columns = definition.replace(/^unique /, '')
  return {
    ...step,
    ...OUTSIDE,
    up: [
      `create unique index concurrently ${name} on ${tableSql(table)} ${columns}`,
      alter(table, `add constraint ${name} unique using index ${name}`),
    ],
    down: [dropIfThere(table, name)],
  }
}

function checkedOutside(step: Step, table: string, name: string): Step {
  return {
    ...step,
    ...OUTSIDE,
    up: [...step.up.map(unchecked), validate(table, name)],
    down: [dropIfThere(table, name)],
  }
}

/** Adds constraints as `not valid` in the transaction, so that new rows are always checked, and validates existing rows later. */
function validatedLater(step: Step, table: string, names: readonly string[]): Parts {
  const isAdded = (statement: string) => names.includes(ADD.exec(statement)?.[1] ?? '')
  const added = step.up.filter(isAdded)
  const { rows, risk: _risk, waits: _waits, loss: _loss, ...rest } = step
  return {
    inside: {
      ...rest,
      ...safe,
      up: step.up.map((statement) => (isAdded(statement) ? unchecked(statement) : statement)),
    },
    outside: {
      change: 'change',
      subject: `${table}.${partsOf(step.subject)[1]}`,
      detail: 'existing rows are checked',
      safety: 'risky',
      risk: 'fails if an existing row violates it',
      ...(rows && { rows }),
      ...OUTSIDE,
      up: names.map((name) => validate(table, name)),
      down: added.flatMap((statement, at) => [dropIfThere(table, names[at] ?? ''), unchecked(statement)]),
    },
  }
}

/** Sets a column `not null` without a scan under lock: PostgreSQL accepts a validated check as proof. Nulls are filled first, in batches. */
function requiredOutside(
  step: Step,
  table: string,
  { name, column }: { readonly name: string; readonly column: string },
): Parts {
  const [before, last = ''] = [step.up.slice(0, -1), step.up.at(-1)]
  const isRepeatable = (text: string) => readRepeatable({ text, line: 1 }).repeatable !== undefined
  const fills = before.every(isRepeatable) ? before : []
  const check = identifier(checkName(table, name, 'required'))
  const outside: Step = {
    ...step,
    ...OUTSIDE,
    up: [
      ...fills,
      unchecked(alter(table, `add constraint ${check} check (${column} is not null)`)),
      // Others may have added rows without a value before the check.
      ...fills,
      validate(table, check),
      last,
      dropIfThere(table, check),
    ],
    down: step.down.slice(0, 1),
  }
  if (fills.length === before.length) return { outside }
  const { rows: _rows, risk: _risk, waits: _waits, ...rest } = step
  return { inside: { ...rest, up: before, down: step.down.slice(1) }, outside }
}

/** PostgreSQL rechecks the constraints of a column when its type changes. Here they are dropped, added again `not valid`, and validated later. */
function retyped(
  step: Step,
  table: string,
  { name, setting }: { readonly name: string; readonly setting: Setting },
): Parts {
  const works = step.locks?.works ?? []
  const checks = (setting.from.find((each) => each.name === table)?.constraints ?? []).filter(
    (each) =>
      each.kind === 'check' &&
      each.validated &&
      each.columns.includes(name) &&
      !setting.dropped.has(identifier(each.name)),
  )
  // A rewrite of the table checks its rows anyway.
  if (checks.length === 0 || works.some(({ work }) => work !== 'scan')) return { inside: step }
  const drops = checks.map((each) => alter(table, `drop constraint ${identifier(each.name)}`))
  const adds = checks.map((each) => addConstraint(table, each))
  const names = checks.map((each) => identifier(each.name))
  return validatedLater(
    { ...step, up: [...drops, ...step.up, ...adds], down: [...drops, ...step.down, ...adds] },
    table,
    names,
  )
}

/** From this many rows on, requests notice the time that PostgreSQL needs to read a table. */
const MANY_ROWS = 100_000

/** A table that was never analysed has an unknown number of rows, which its size bounds. */
const BYTES_OF_ROW = 100

const COUNT = `case when t.reltuples > 0 then t.reltuples else pg_relation_size(t.oid) / ${BYTES_OF_ROW} end`

/** The rows of a table include those of its partitions and of the tables that inherit from it: statements on it are about them, too. */
const ROWS = `
  select ${formattedTable('c', 'n')}, (
      with recursive parts(oid) as (
        select c.oid union select i.inhrelid from parts p join pg_inherits i on i.inhparent = p.oid
      )
      select coalesce(sum(${COUNT}), 0) from parts join pg_class t using (oid) where t.relkind = 'r'
    )::bigint::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and ${formattedTable('c', 'n')} = any(array(select jsonb_array_elements_text($1::jsonb)))`

/** Which tables of a database have many rows, with about how many. */
export async function largeTables(
  database: Connection,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await database.query({ text: ROWS, values: [JSON.stringify(tables)] })
  const sizes = rows.map(([name, count]) => [name ?? '', Number(count)] as const)
  return new Map(sizes.filter(([, count]) => count >= MANY_ROWS))
}
