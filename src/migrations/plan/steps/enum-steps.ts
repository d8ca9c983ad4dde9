import { literal } from '../../../fields/sql-literal.js'
import type { Catalog, CatalogTable } from '../../introspect/catalog/catalog.js'
import { safe, type Step } from '../../files/steps.js'
import { find } from '../compare/pair.js'
import { type EnumColumn, enumColumns, enumOf, nameOfEnum, replaceEnum } from './replace-enum.js'
import type { WantedTable } from '../sql.js'
import { joinLimits, readCheck } from '../../introspect/catalog/constraint-parser.js'

/** The tables of the configuration as declared (`wanted`), the existing ones under their new names (`from`), and those that the configuration makes (`to`). */
interface Sides {
  readonly wanted: readonly WantedTable[]
  readonly from: Catalog
  readonly to: Catalog
}

/** Choices that are added to enums. */
interface EnumChanges {
  readonly steps: readonly Step[]
  /** Changes that PostgreSQL can only make in two transactions. */
  readonly rejections: readonly string[]
}

/**
 * Adds choices to enums, which rewrites no row. All fields whose columns have the same enum must agree on the choices, and keep the old ones; otherwise
 * columns whose choices differ from those of the enum become `text`.
 */
export function enumChanges({ wanted, from, to }: Sides): EnumChanges {
  const columns = enumColumns(from)
  const types = new Map(columns.map(({ column }) => [enumOf(column), column.labels ?? []]))
  const widenings = [...types].flatMap(([type, labels]): readonly Widening[] => {
    const used = columns.filter(({ column }) => enumOf(column) === type)
    const choices = used.flatMap((each) => wantedChoices(each, wanted, to))
    const [first = []] = choices
    const isAgreed = choices.every((each) => each.length === first.length && each.every((text) => first.includes(text)))
    const isWider = first.length > labels.length && labels.every((label) => first.includes(label))
    const added = first.filter((choice) => !labels.includes(choice))
    return isAgreed && isWider && isName(type) ? [{ type, labels, choices: first, added, used }] : []
  })
  return { steps: widenings.map(addChoices), rejections: widenings.flatMap((each) => rejectedDefaults(each, to)) }
}

function rejectedDefaults({ added, used }: Widening, to: Catalog): readonly string[] {
  return used.flatMap(({ table, column }) => {
    const value = find(find(to, table.name)?.columns ?? [], column.name)?.default
    const choice = added.find((each) => value === `${literal(each)}::text`)
    return choice === undefined
      ? []
      : [
          `the default of ${table.name}.${column.name} is the new choice ${JSON.stringify(choice)}, which PostgreSQL accepts in an enum only after the migration that ` +
            'adds it: plan the choice first, and the default in a second plan',
        ]
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
  const choices = asked?.itemChoices ?? (target && choicesOf(target, column.name))
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
  readonly used: readonly EnumColumn[]
}

function addChoices({ type, labels, choices, added, used }: Widening): Step {
  return {
    change: 'change',
    subject: nameOfEnum(type),
    detail: `enum, new choices: ${added.join(', ')}`,
    ...safe,
    up: added.map((choice) => `alter type ${type} add value ${literal(choice)} ${placeOf(choice, choices, labels)}`),
    // PostgreSQL cannot remove a value of an enum, so the old enum is replaced.
    down: replaceEnum(type, labels, used),
  }
}

function placeOf(choice: string, choices: readonly string[], labels: readonly string[]): string {
  const previous = choices[choices.indexOf(choice) - 1]
  return previous === undefined ? `before ${literal(labels[0] ?? '')}` : `after ${literal(previous)}`
}

/** The texts that the checks on a column allow; undefined if they allow any. */
export function choicesOf({ columns, constraints }: CatalogTable, name: string): readonly string[] | undefined {
  const column = find(columns, name)
  const checks = constraints.filter(({ kind, columns: [first] }) => kind === 'check' && first === name)
  return column && joinLimits(checks.flatMap(({ definition }) => readCheck(definition, column) ?? [])).choices
}
