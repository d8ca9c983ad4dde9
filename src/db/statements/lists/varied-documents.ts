import type { FieldSpec } from '../../../config/spec.js'
import { type Reading, type ReadingPart, showingRule } from '../../../resource/access.js'
import { cellColumn } from '../columns.js'
import { type DocumentColumn, documentColumn, type Member, type Vary } from '../projections.js'
import { type Asking, ruleSql } from '../rules/rules.js'

/** What a projection reads. */
interface Read {
  /** The table in statements. */
  readonly owner: string
  /** All fields that the caller sees in some records, by this reading or another. */
  readonly shown: readonly FieldSpec[]
}

/** Documents that show each record with the fields of all grants that cover it; undefined if all records show all fields. */
export function varying({ parts }: Reading, { owner, shown }: Read): Vary | undefined {
  if (showsAll(parts, shown)) return undefined
  const names = new Set(shown.map(({ name }) => name))
  // Members such as `url` belong to every record.
  const membersWith = (members: readonly Member[], fields: ReadonlySet<string>) =>
    members.filter(({ name }) => !names.has(name) || fields.has(name))
  const [only, ...others] = parts
  if (only && others.length === 0) return () => (members) => documentColumn(membersWith(members, only.fields))
  const cases = casesOf(parts)
  return (asking: Asking): DocumentColumn => {
    const conditions = new Map(parts.map((part) => [part, ruleSql(part.rows, owner, asking)]))
    return (members) => {
      const whens = cases.map(({ fields, needs }) => {
        const holds = needs.map((some) => some.map((part) => `(${conditions.get(part) ?? 'false'})`).join(' and '))
        const document = documentColumn(membersWith(members, fields))
        return `when ${holds.map((each) => `(${each})`).join(' or ')} then ${document}`
      })
      return `case ${whens.join(' ')} end`
    }
  }
}

/** Columns of rows that show each record with the fields of all grants that cover it; undefined if all records show all fields. */
export function varyingColumns(
  reading: Reading,
  { owner, shown }: Read,
): ((field: FieldSpec, asking: Asking) => string | undefined) | undefined {
  if (showsAll(reading.parts, shown)) return undefined
  return (field, asking) => {
    const rule = showingRule(reading, field.name)
    return rule && `case when ${ruleSql(rule, owner, asking)} then ${cellColumn(field)} end`
  }
}

function showsAll(parts: readonly ReadingPart[], shown: readonly FieldSpec[]): boolean {
  return parts.every(({ fields }) => shown.every(({ name }) => fields.has(name)))
}

interface Case {
  readonly fields: ReadonlySet<string>
  /** The combinations of parts that show these fields together. */
  readonly needs: readonly (readonly ReadingPart[])[]
}

/** Every set of fields that a record can have, larger sets first: the first set whose parts cover a record has all fields that the record shows. */
function casesOf(parts: readonly ReadingPart[]): readonly Case[] {
  const cases = new Map<string, { fields: ReadonlySet<string>; needs: ReadingPart[][] }>()
  for (let mask = 1; mask < 1 << parts.length; mask++) {
    const some = parts.filter((_, index) => (mask & (1 << index)) !== 0)
    const fields = new Set(some.flatMap((part) => [...part.fields]))
    const key = [...fields].sort().join()
    const known = cases.get(key) ?? { fields, needs: [] }
    // A combination is enough without further parts.
    if (!known.needs.some((less) => less.every((part) => some.includes(part)))) known.needs.push(some)
    cases.set(key, known)
  }
  return [...cases.values()].sort((one, other) => other.fields.size - one.fields.size)
}
