import { unquoted } from '../../files/statements.js'
import type { CatalogColumn } from './catalog.js'
import type { InspectedTable } from './inspect.js'
import type { WritingTrigger } from './triggers.js'
import { isOpaque } from './representable.js'

const COMMENT = /--[^\n]*|\/\*[^*]*(?:\*(?!\/)[^*]*)*\*\//g
const BRANCH = /\b(?:if|case|loop|while|for|foreach|exception|execute|select|exit|continue)\b|\breturn\s+(?!new\b)/i
const ASSIGNMENT = /(?:\bbegin|;)\s*new\s*\.\s*("(?:[^"]|"")+"|[a-z_][\w$]*)\s*:?=([^;]*)(?=;)/gi

/** The columns that a trigger assigns to, as far as they can be read from a function without branches. */
interface Assigned {
  /** The columns that it always sets to values of its own, as a trigger for `updated_at` does. */
  readonly columns: readonly string[]
  /** Whether these are known to be all that it changes. */
  readonly complete: boolean
}

const UNKNOWN: Assigned = { columns: [], complete: false }

/**
 * Reads the function of a trigger. A function with branches may keep the value that a request sent, and an expression that contains the column depends
 * on that value, so neither counts as setting the column.
 */
function assignedBy({ conditional, language, source }: WritingTrigger): Assigned {
  const body = source.replaceAll(COMMENT, ' ')
  if (conditional || language !== 'plpgsql' || BRANCH.test(body)) return UNKNOWN
  const assignments = [...body.matchAll(ASSIGNMENT)].map(([, name = '', expression = '']) => ({
    name: unquoted(name),
    isOwn: !expression.toLowerCase().includes(name.toLowerCase()),
  }))
  const own = assignments.filter(({ isOwn }) => isOwn)
  return { columns: own.map(({ name }) => name), complete: own.length === assignments.length && own.length > 0 }
}

/** Whether a trigger may fill columns of new rows. */
export function fillsNewRows({ triggers }: InspectedTable): boolean {
  return triggers.some(({ onInsert }) => onInsert)
}

/**
 * How the triggers of a table treat a column: one `sets` it on every change, so that requests cannot; one `may fill` it in new rows. A column that
 * needs a value counts as set only if a trigger also sets it in new rows.
 */
export function triggerOn(column: CatalogColumn, table: InspectedTable): 'sets' | 'may fill' | undefined {
  const setting = table.triggers.filter((trigger) => assignedBy(trigger).columns.includes(column.name))
  const hasValue = column.nullable || column.default !== null || setting.some(({ onInsert }) => onInsert)
  if (hasValue && setting.some(({ onUpdate }) => onUpdate)) return 'sets'
  return fillsNewRows(table) ? 'may fill' : undefined
}

/** Reports triggers whose changes of written records the model cannot describe. */
export function notesOnWrites(table: InspectedTable, columns: readonly CatalogColumn[]): readonly string[] {
  const isKnown = (trigger: WritingTrigger) => {
    const assigned = assignedBy(trigger)
    const set = columns.filter(({ name }) => assigned.columns.includes(name))
    return assigned.complete && set.every((column) => isOpaque(column) || triggerOn(column, table) === 'sets')
  }
  return [
    ...table.triggers
      .filter((trigger) => trigger.language !== 'internal' && !isKnown(trigger))
      .map(
        ({ name }) =>
          `${table.name}: the trigger ${name} may change values that requests write; fields that it always sets can have \`generated: true\``,
      ),
    ...(table.rowSecurity
      ? [
          `${table.name}: row-level security may hide records and reject changes; nothing can be added: the policies of the database user apply`,
        ]
      : []),
  ]
}
