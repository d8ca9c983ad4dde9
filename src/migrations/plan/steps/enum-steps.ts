import { literal } from '../../../fields/sql-literal.js'
import type { Catalog, CatalogTable } from '../../introspect/catalog/catalog.js'
import { safe, type Step } from '../../files/steps.js'
import { find } from '../compare/pair.js'
import type { CatalogView } from '../views.js'
import { type EnumColumn, enumColumns, enumOf, nameOfEnum, replaceEnum } from './replace-enum.js'
import type { WantedTable } from '../sql.js'
import { joinLimits, readCheck } from '../../introspect/catalog/constraint-parser.js'

/** The tables of the configuration as declared (`wanted`), the existing ones under their new names (`from`), and those that the configuration makes (`to`). */
interface Sides {
  readonly wanted: readonly WantedTable[]
  readonly from: Catalog
  readonly to: Catalog
  /** The tables and views before the renames of the plan. */
  readonly original: { readonly tables: Catalog; readonly views: readonly CatalogView[] }
}

/**
 * Adds choices to enums, which rewrites no row. All fields whose columns have the same enum must agree on the choices, and keep the old ones; otherwise
 * columns whose choices differ from those of the enum become `text`.
 */
export function enumSteps({ wanted, from, to, original }: Sides): readonly Step[] {
  const columns = enumColumns(from)
  const types = new Map(columns.map(({ column }) => [enumOf(column), column.labels ?? []]))
  return [...types].flatMap(([type, labels]): readonly Step[] => {
    const used = columns.filter(({ column }) => enumOf(column) === type)
    const choices = used.flatMap((each) => wantedChoices(each, wanted, to))
    const [first = []] = choices
    const isAgreed = choices.every((each) => each.length === first.length && each.every((text) => first.includes(text)))
    const isWider = first.length > labels.length && labels.every((label) => first.includes(label))
    const added = first.filter((choice) => !labels.includes(choice))
    if (!(isAgreed && isWider && isName(type))) return []
    const before = enumColumns(original.tables).filter(({ column }) => enumOf(column) === type)
    return [addChoices({ type, labels, choices: first, added }, { used: before, views: original.views })]
  })
}

/** The choices of a field whose column can stay an enum. */
function wantedChoices(
  { table, column }: EnumColumn,
  wanted: readonly WantedTable[],
  to: Catalog,
): (readonly string[])[] {
  const asked = find(find(wanted, table.name)?.columns ?? [], column.name)
  const target = find(to, table.name)
  const choices = asked?.impliedChoices ?? (target && choicesOf(target, column.name))
  return asked?.serves(column) && choices ? [choices] : []
}

/** Migrations make enums in their own schema only. */
function isName(type: string): boolean {
  return /^(?:[a-z_][a-z0-9_$]*|"(?:[^"]|"")+")$/.test(type)
}

interface Widening {
  readonly type: string
  readonly labels: readonly string[]
  readonly choices: readonly string[]
  /** The choices that the enum does not have yet. */
  readonly added: readonly string[]
}

/** @param uses the columns and views before the plan, because `down` reverts this step last */
function addChoices({ type, labels, choices, added }: Widening, uses: Parameters<typeof replaceEnum>[2]): Step {
  return {
    change: 'change',
    subject: nameOfEnum(type),
    detail: `enum, new choices: ${added.join(', ')}`,
    ...safe,
    choices: added,
    up: added.map((choice) => `alter type ${type} add value ${literal(choice)}${placeOf(choice, choices, labels)}`),
    // PostgreSQL cannot remove a value of an enum, so the old enum is replaced.
    down: replaceEnum(type, labels, uses),
  }
}

/** The step without a down part. A second `up` accepts the choices that the first one has added. */
export function irreversible(step: Step): Step {
  const { subject, choices = [] } = step
  return {
    ...step,
    loss: `the enum ${subject} without ${choices.map((each) => JSON.stringify(each)).join(', ')}, because other objects depend on it`,
    up: step.up.map((text) => text.replace(' add value ', ' add value if not exists ')),
    down: [],
  }
}

/**
 * Where to add a choice to an enum; choices before it that are missing, too, are added first.
 * @param choices all choices, in their order
 * @param labels the existing ones
 */
export function placeOf(choice: string, choices: readonly string[], labels: readonly string[]): string {
  const previous = choices[choices.indexOf(choice) - 1]
  if (previous !== undefined) return ` after ${literal(previous)}`
  const [first] = labels
  return first === undefined ? '' : ` before ${literal(first)}`
}

/** The texts that the checks on a column allow; undefined if they allow any. */
export function choicesOf({ columns, constraints }: CatalogTable, name: string): readonly string[] | undefined {
  const column = find(columns, name)
  const checks = constraints.filter(({ kind, columns: [first] }) => kind === 'check' && first === name)
  return column && joinLimits(checks.flatMap(({ definition }) => readCheck(definition, column) ?? [])).choices
}
