import { type FieldSpec, isEscaped } from '../../config/spec.js'
import { identifier, literal } from '../../fields/sql-literal.js'
import type { Links } from '../../resource/bodies/links.js'
import { escapeWord } from '../../resource/keys/path-segment.js'
import { cellColumn } from './columns.js'

/** The SQL of a hyperlink to a record, from the columns of its key. */
export function linkColumn(key: readonly FieldSpec[], route: string, links: Links): string {
  const [start = '', ...others] = links.template(route) ?? []
  const [end = '', ...more] = others
  // In dialects, a key of several fields is one text.
  if (key.length > 1 && others.length > 0 && more.length === 0)
    return `${literal(start)} || ${escapedText(joinedColumn(key), links.words(route)[0] ?? [])} || ${literal(end)}`
  if (others.length !== key.length) throw new Error(`no route named ${route} has ${key.length} parameters`)
  const words = links.words(route)
  const parts = key.flatMap((field, at) => [segmentColumn(field, words[at] ?? []), literal(others[at] ?? '')])
  return [literal(start), ...parts].join(' || ')
}

/** The SQL of `joinKey` for the columns of a key. */
export function joinedColumn(key: readonly FieldSpec[]): string {
  const parts = key.map((field) =>
    isEscaped(field)
      ? `replace(replace(${cellColumn(field)} collate "C", '%', '%25'), '~', '%7E')`
      : `${identifier(field.column)}::text`,
  )
  return `(${parts.join(" || '~' || ")})`
}

/** The SQL of a key's value as one segment of a path, which has other meanings for these words. */
function segmentColumn(field: FieldSpec, words: readonly string[]): string {
  return isEscaped(field) ? escapedText(cellColumn(field), words) : identifier(field.column)
}

const PLAIN = "A-Za-z0-9_.!~*'()-"

/** The SQL of `encodeSegment` and `escapeWord` for a text. */
function escapedText(text: string, words: readonly string[]): string {
  const hex = `regexp_replace(upper(encode(convert_to(c, 'UTF8'), 'hex')), '(..)', '%\\1', 'g')`
  const escaped = `case when c ~ ${literal(`^[${PLAIN}]$`)} then c else ${hex} end`
  const letters = `regexp_split_to_table(t, '') with ordinality as l(c, n)`
  const spelled = words.map((word) => `when t = ${literal(word)} then ${literal(escapeWord(word))} `).join('')
  return `(select case ${spelled}when t in ('.', '..') then replace(t, '.', '%2E')
    when t ~ ${literal(`^[${PLAIN}]*$`)} then t else (select string_agg(${escaped}, '' order by n) from ${letters}) end from (select ${text} collate "C" as t) s)`
}
