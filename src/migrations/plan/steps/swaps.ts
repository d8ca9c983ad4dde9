import { MigrationError } from '../../files/error.js'
import type { Catalog } from '../../introspect/catalog/catalog.js'
import { find, has, type Named } from '../compare/pair.js'
import type { WantedTable } from '../sql.js'

/** Two tables, or two columns of a table, that swap their names. */
export interface Swap {
  /** The table of two columns, by its new name; undefined for tables. */
  readonly table: string | undefined
  readonly one: string
  readonly other: string
}

/**
 * Checks the swaps that a person asks for.
 * @param from the tables of the migration files
 * @throws MigrationError naming each swap of names that do not exist both before and after
 */
export function checkSwaps(swaps: readonly Swap[], wanted: readonly WantedTable[], from: Catalog): void {
  const errors = swaps.flatMap((swap) => errorsOf(swap, wanted, from))
  if (errors.length > 0) throw new MigrationError(errors)
}

function errorsOf({ table, one, other }: Swap, wanted: readonly WantedTable[], from: Catalog): readonly string[] {
  const text = `--swap ${table === undefined ? '' : `${table}.`}${one}:${other}`
  if (table === undefined)
    return missing(
      text,
      [one, other],
      [
        ['the migrations', from],
        ['the configuration', wanted],
      ],
      'table',
    )
  const asked = find(wanted, table)
  if (!asked) return [`${text}: the configuration has no table ${table}`]
  const made = find(from, table) ?? find(from, asked.formerly ?? table)
  const sides = [
    ['the migrations', made?.columns ?? []],
    ['the configuration', asked.columns],
  ] as const
  return missing(text, [one, other], sides, 'column')
}

function missing(
  text: string,
  names: readonly string[],
  sides: readonly (readonly [side: string, known: readonly Named[]])[],
  noun: string,
): readonly string[] {
  if (names[0] === names[1]) return [`${text}: the two names are equal`]
  return sides.flatMap(([side, known]) =>
    names
      .filter((name) => !has(known, name))
      .map(
        (name) => `${text}: the ${noun} ${name} is missing in ${side} (${known.map((each) => each.name).join(', ')})`,
      ),
  )
}
