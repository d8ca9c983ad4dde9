import { InvalidArgumentError } from 'commander'
import type { GivenConversion, Swap } from '../../src/internal.js'
import { Failure } from '../failure.js'

/** An SQL expression for a column. */
export interface Assignment {
  readonly table: string
  readonly column: string
  readonly expression: string
}

/**
 * Parses the value of an option that can be repeated.
 * @throws InvalidArgumentError if it is not `table.column=expression`
 */
export function collectAssignments(text: string, before: readonly Assignment[] = []): readonly Assignment[] {
  const [, table, column, expression] =
    /^((?:"[^"]+"|[^".=]+)(?:\.(?:"[^"]+"|[^".=]+))?)\.([^=.]+)=(.*\S)/s.exec(text) ?? []
  if (table === undefined || column === undefined || expression === undefined)
    throw new InvalidArgumentError('It must be table.column=expression, such as books.price=price * 100.')
  if (before.some((each) => each.table === table && each.column === column))
    throw new InvalidArgumentError(`${table}.${column} has an expression already.`)
  return [...before, { table, column, expression: expression.trim() }]
}

/** @throws Failure 2 if a column has a reverse expression alone */
export function conversionsOf({
  using = [],
  reverse = [],
}: {
  readonly using?: readonly Assignment[]
  readonly reverse?: readonly Assignment[]
}): readonly GivenConversion[] {
  const isSame = (one: Assignment) => (other: Assignment) => one.table === other.table && one.column === other.column
  const alone = reverse.find((each) => !using.some(isSame(each)))
  if (alone)
    throw new Failure(2, `--reverse ${alone.table}.${alone.column}: there is no --using for this column`, [
      `give both: --using '${alone.table}.${alone.column}=…'`,
    ])
  return using.map(({ table, column, expression }) => ({
    table,
    column,
    using: expression,
    reverse: reverse.find(isSame({ table, column, expression }))?.expression,
  }))
}

/**
 * Parses the value of an option that can be repeated.
 * @throws InvalidArgumentError if it is not `table.one:other` or `one:other`, or repeats a name
 */
export function collectSwaps(text: string, before: readonly Swap[] = []): readonly Swap[] {
  const [, table, one, other] =
    /^(?:((?:"[^"]+"|[^".:]+)(?:\.(?:"[^"]+"|[^".:]+))?)\.)?([^.:]+):([^.:]+)$/.exec(text) ?? []
  if (one === undefined || other === undefined)
    throw new InvalidArgumentError('It must be table.one:other for two columns, or one:other for two tables.')
  const repeated = before.some(
    (each) => each.table === table && [each.one, each.other].some((name) => name === one || name === other),
  )
  if (repeated) throw new InvalidArgumentError('A name can be swapped once.')
  return [...before, { table, one, other }]
}
