import type { FieldSpec } from '../../config/spec.js'
import { type Reading, type ReadingPart, showingRule } from '../../resource/access.js'
import { cellColumn } from './columns.js'
import { type DocumentColumn, documentColumn, type Vary } from './projections.js'
import { type Asking, ruleSql } from './rules.js'

/** Documents that show each record with the fields of all grants that cover it; undefined if all records show the same fields. */
export function varying({ parts }: Reading, owner: string): Vary | undefined {
  if (parts.length < 2) return undefined
  const cases = casesOf(parts)
  return (asking: Asking): DocumentColumn => {
    const conditions = new Map(parts.map((part) => [part, ruleSql(part.rows, owner, asking)]))
    return (members) => {
      const whens = cases.map(({ fields, needs }) => {
        const shown = members.filter(({ name }) => !isGranted(parts, name) || fields.has(name))
        const holds = needs.map((some) => some.map((part) => `(${conditions.get(part) ?? 'false'})`).join(' and '))
        return `when ${holds.map((each) => `(${each})`).join(' or ')} then ${documentColumn(shown)}`
      })
      return `case ${whens.join(' ')} end`
    }
  }
}

/** The columns of rows that show each record with the fields of all grants that cover it; undefined if all records show the same fields. */
export function varyingColumns(
  reading: Reading,
  owner: string,
): ((field: FieldSpec, asking: Asking) => string | undefined) | undefined {
  if (reading.parts.length < 2) return undefined
  return (field, asking) => {
    const rule = showingRule(reading, field.name)
    return rule && `case when ${ruleSql(rule, owner, asking)} then ${cellColumn(field)} end`
  }
}

interface Case {
  readonly fields: ReadonlySet<string>
  /** The combinations of parts that show these fields together. */
  readonly needs: readonly (readonly ReadingPart[])[]
}

/** Each set of fields that a record can have, larger ones first: the first whose parts cover a record is that of all that do. */
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

/** Members such as `url` belong to every record. */
function isGranted(parts: readonly ReadingPart[], name: string): boolean {
  return parts.some(({ fields }) => fields.has(name))
}
