import { ADDED_ID } from '../../../config/core-spec.js'
import { isFieldName } from '../../../config/schema/parts.js'
import { isRepresentableName } from '../catalog/representable.js'

const MAX_NAME_LENGTH = 57

/** How fields are named by their columns: in lower snake case, or as the columns are. */
export type FieldSpelling = 'snake_case' | 'kept'

/** Latin letters that have no decomposition. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  ŋ: 'n',
  ı: 'i',
}

/** Derives the name of a field from the name of a column: `displayName` becomes `display_name`. */
export function nameOfColumn(column: string): string {
  return nameOf(column, 'column')
}

/** Derives the name of a model from the name of a table, in the same way. */
export function nameOfTable(table: string): string {
  return nameOf(table, 'table')
}

/** @param kind the prefix for names that are otherwise invalid */
function nameOf(text: string, kind: string): string {
  if (isRepresentableName(text)) return text
  const words: readonly string[] =
    text
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .replaceAll(/([\p{Ll}0-9])(\p{Lu})/gu, '$1_$2')
      .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, (letter) => LETTERS[letter] ?? letter)
      .match(/[a-z0-9]+/g) ?? []
  const name = joinWords(words)
  return isRepresentableName(name) ? name : joinWords([kind, ...words])
}

function joinWords(words: readonly string[]): string {
  return words.join('_').slice(0, MAX_NAME_LENGTH)
}

/** The name of a field, and why its first choice is not possible, if so. */
export interface FieldName {
  readonly name: string
  readonly reason?: string
}

/** How the fields of a table are named. */
export interface Naming {
  /** With `kept`, a name that no field can have is still changed. */
  readonly spelling: FieldSpelling
  /** The names of existing fields, by column. */
  readonly existing: ReadonlyMap<string, string> | undefined
  /** The columns of the primary key. */
  readonly key: readonly string[]
  /** Whether a dialect shows the key as `id`. */
  readonly inDialect: boolean
}

type Columns = readonly { readonly column: string; readonly relation: boolean }[]

/** Names the fields of a table by their columns. In a dialect, only a whole key can have the name `id`. */
export function nameFields(columns: Columns, { key, inDialect, ...naming }: Naming): ReadonlyMap<string, FieldName> {
  const names = nameInOrder(columns, naming, new Set())
  const [first = '', ...others] = key
  const isId = others.length === 0 && names.get(first)?.name === ADDED_ID
  return !inDialect || key.length === 0 || isId ? names : nameInOrder(columns, naming, new Set([ADDED_ID]))
}

/** Columns whose names are valid keep them, so their fields are named first. */
function nameInOrder(
  columns: Columns,
  { spelling, existing = new Map() }: Pick<Naming, 'spelling' | 'existing'>,
  reserved: ReadonlySet<string>,
): ReadonlyMap<string, FieldName> {
  const used = new Set([...existing.values(), ...reserved])
  const fresh = columns.filter(({ column }) => !existing.has(column))
  const isKept = ({ column, relation }: { readonly column: string; readonly relation: boolean }) =>
    spelling === 'kept' ? isFieldName(column) : !relation && isRepresentableName(column)
  const plain = fresh.filter((each) => isKept(each) && !used.has(each.column))
  const others = fresh.filter((each) => !plain.includes(each))
  const names = new Map<string, FieldName>([
    ...[...existing].map(([column, name]) => [column, { name }] as const),
    ...plain.map(({ column }) => [column, { name: column }] as const),
  ])
  for (const { column } of plain) used.add(column)
  for (const { column, relation } of others) {
    const candidates = candidatesOf(column, relation && spelling !== 'kept')
    const found = reserved.has(candidates.at(-1) ?? '') ? withoutId(used) : freeName(candidates, used)
    used.add(found.name)
    names.set(column, found)
  }
  return names
}

function withoutId(used: ReadonlySet<string>): FieldName {
  const { name } = freeName([`column_${ADDED_ID}`], used)
  return { name, reason: `the dialect shows the key as ${ADDED_ID}` }
}

/** A relation drops `_id`, if no other field has the name that remains. */
function candidatesOf(column: string, relation: boolean): readonly string[] {
  const name = nameOfColumn(column)
  const short = name.slice(0, -3)
  return relation && name.endsWith('_id') && isRepresentableName(short) ? [short, name] : [name]
}

/** The first free name, or the last one with a number. */
export function freeName(candidates: readonly string[], used: ReadonlySet<string>): FieldName {
  const free = candidates.find((candidate) => !used.has(candidate))
  if (free !== undefined) return { name: free }
  const clash = candidates.at(-1) ?? ''
  let number = 2
  while (used.has(`${clash.slice(0, MAX_NAME_LENGTH)}_${number}`)) number += 1
  return { name: `${clash.slice(0, MAX_NAME_LENGTH)}_${number}`, reason: `${clash} is taken` }
}
