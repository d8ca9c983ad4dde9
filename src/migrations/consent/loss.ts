import { shellWord } from '../../foundation/shell-word.js'
import { MigrationError } from '../files/error.js'
import type { Migration } from '../files/files.js'
import { type Destroyed, destroyedBy, formatNamed } from './destruction.js'

/** A table, column or attribute of a composite type with values that a migration destroys. */
export interface Loss {
  readonly migration: string
  /** `books`, `sales.books`, `books.title`, or `address.city` of a type: the name to pass to `--allow-destructive`. */
  readonly object: string
  readonly kind: Destroyed['kind'] | 'deleted' | 'adopted'
  /** The number of lost values or rows; undefined if unknown. */
  readonly count: string | undefined
  /** For each table that rows were deleted from, its name and the names of its ancestors: one name of each list must be allowed. */
  readonly from?: readonly (readonly string[])[]
}

/** Thrown for a migration that would destroy objects without consent. Nothing was changed. */
export class ConsentNeeded extends MigrationError {
  override name = 'ConsentNeeded'
  readonly losses: readonly Loss[]

  constructor(losses: readonly Loss[]) {
    super(losses.map(describeLoss), [
      `Allow exactly this: --allow-destructive=${shellWord(objectsOf(losses).join(','))}`,
    ])
    this.losses = losses
  }
}

/** Returns the distinct objects, in order. */
export function objectsOf(losses: readonly Loss[]): readonly string[] {
  return [...new Set(losses.map(({ object }) => object))]
}

const WORDS: Readonly<Record<Loss['kind'], { readonly verb: string; readonly part: string; readonly lost: string }>> = {
  column: { verb: 'drops the column', part: 'value', lost: 'is lost with it' },
  table: { verb: 'drops the table', part: 'row', lost: 'is lost with it' },
  rows: { verb: 'deletes from the table', part: 'row', lost: 'is in it' },
  deleted: { verb: 'deletes from the table', part: 'row', lost: 'may be lost' },
  attribute: { verb: 'drops the attribute', part: '', lost: '' },
  adopted: { verb: 'drops objects that others created:', part: '', lost: '' },
}

/** `0002_less drops the column books.size: 1,204 values are lost with it`. */
export function describeLoss({ migration, object, kind, count }: Loss): string {
  const { verb, part, lost } = WORDS[kind]
  const what = `${migration} ${verb} ${object}`
  if (count === undefined) return what
  return count === '1' ? `${what}: 1 ${part} ${lost}` : `${what}: ${count} ${part}s ${lost.replace('is', 'are')}`
}

/** Whether an object may be destroyed. */
export type Allows = (object: string) => boolean

/** Whether a loss is allowed, by its own name or by a name that the file gave it earlier. */
export function isAllowed(
  { object, from = [[object]] }: Loss,
  statements: Migration['up'],
  { allows, schema }: { readonly allows: Allows; readonly schema: string },
): boolean {
  const destroyed = destroyedBy(statements, schema)
  const isNamed = (name: string): boolean =>
    allows(name) || destroyed.some((each) => formatNamed(each.was) === name && allows(formatNamed(each.object)))
  return from.every((names) => names.some(isNamed))
}
