import { InvalidArgumentError } from 'commander'
import type { Swap } from '../../src/internal.js'

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
