import { isReading, type Operation, OPERATIONS, READS } from '../../../config/core-spec.js'
import { asBase, type CatalogColumn, isFilled } from '../catalog/catalog.js'
import { isOpaque } from '../catalog/representable.js'
import { COMMANDS, isPermitted, type Privileges } from '../catalog/privileges.js'
import { fillsNewRows } from '../catalog/trigger-columns.js'
import { canBeField, type Table } from './table.js'

/** The operations of a resource, and the reasons against the others. */
interface ChosenOperations {
  readonly operations: readonly Operation[]
  readonly left: readonly string[]
}

/** The operations of a table's resource. Records without a key can only be listed. */
export function operationsOf(
  table: Table,
  key: readonly string[],
  columns: readonly CatalogColumn[],
): ChosenOperations {
  return key.length === 0 ? { operations: ['list'], left: [] } : operationsWithKey(table, columns)
}

/** The operations of a table whose model has a key. */
export function operationsWithKey(table: Table, columns: readonly CatalogColumn[]): ChosenOperations {
  const { inspected } = table
  if (!inspected.writable) {
    const reason = inspected.special ?? 'it takes no changes'
    return { operations: READS, left: [`${inspected.name}: records can only be read: ${reason}; nothing can be added`] }
  }
  const replaced = OPERATIONS.filter((operation) => inspected.replaced.some((each) => each === COMMANDS[operation]))
  const forbidden = table.managed ? [] : OPERATIONS.filter((operation) => !isPermitted(operation, inspected.privileges))
  const without = [...replaced, ...forbidden]
  const reason = without.includes('create') ? undefined : reasonAgainstCreate(table, columns)
  const possible = OPERATIONS.filter(
    (operation) => !without.includes(operation) && (operation !== 'create' || reason === undefined),
  )
  // The rows of inheriting tables can have the same keys.
  const operations = inspected.inherited ? possible.filter(changesNoRecord) : possible
  return {
    operations,
    left: [
      ...(reason === undefined ? [] : [`${inspected.name}: no request can create records: ${reason}`]),
      ...absent(replaced, inspected.name, 'rules do something else instead; without the rules'),
      ...absent(forbidden, inspected.name, `the database user ${lackOf(forbidden, inspected.privileges)}; once it may`),
      ...ambiguous(inspected.name, operations, possible),
    ],
  }
}

function changesNoRecord(operation: Operation): boolean {
  return isReading(operation) || operation === 'create'
}

/** Names the missing privileges because of which a resource cannot have the operations. */
function lackOf(forbidden: readonly Operation[], privileges: Privileges): string {
  const commands = new Set(forbidden.flatMap((operation) => COMMANDS[operation] ?? []))
  const denied = [...commands].filter((command) => !privileges[command])
  const { unusable } = privileges
  return [
    ...(denied.length === 0 ? [] : [`may not ${denied.join(' or ')}`]),
    ...(commands.has('insert') && unusable.length > 0 ? [`may not use the sequence ${unusable.join(' or ')}`] : []),
  ].join(' and ')
}

/** Reports the changes that a resource lacks because tables inherit from its table. */
function ambiguous(table: string, operations: readonly Operation[], possible: readonly Operation[]): readonly string[] {
  const missing = possible.filter((operation) => !operations.includes(operation))
  if (missing.length === 0) return []
  return [
    `${table}: not among the operations: ${missing.join(', ')}: tables inherit from it, and their rows can have the same keys: a request could change several records; if all keys differ, ${adviceForOperations(operations, possible)}`,
  ]
}

/** @param why the reason, and when the resource can have the operations */
function absent(operations: readonly Operation[], table: string, why: string): readonly string[] {
  if (operations.length === 0) return []
  return [
    `${table}: not among the operations: ${operations.join(', ')}: ${why}, the resource can have these operations`,
  ]
}

/** Why no request can create a record, and what would change that; undefined if one can. */
function reasonAgainstCreate(table: Table, columns: readonly CatalogColumn[]): string | undefined {
  const isSet = (column: CatalogColumn) => canBeField(column, table) && !isOpaque(column)
  const blocking = columns.find((column) => !column.nullable && !isSet(column) && !isFilled(asBase(column)))
  // Fields of managed tables cannot declare that a trigger fills their column.
  if (!blocking || (fillsNewRows(table.inspected) && !table.managed)) return undefined
  const reason = `${blocking.name} is not null and has no default, and no request can set values of type ${blocking.type}`
  const advice = table.managed
    ? 'nothing can be added while migrations create the table'
    : 'once the column has a default: `generated: true` in its field, and no `operations` in the resource'
  return `${reason}; ${advice}`
}

/** How a resource gets other operations. */
export function adviceForOperations(now: readonly Operation[], then: readonly Operation[]): string {
  const [old, other] = [formatOperations(now), formatOperations(then)]
  return other === undefined ? `remove \`${old}\`` : `write \`${other}\` instead of \`${old}\``
}

/** Renders operations as a setting of a resource; undefined for all. */
export function formatOperations(operations: readonly Operation[]): string | undefined {
  if (operations.length === OPERATIONS.length) return undefined
  return operations.length === READS.length && operations.every(isReading)
    ? 'read_only: true'
    : `operations: [${operations.join(', ')}]`
}
