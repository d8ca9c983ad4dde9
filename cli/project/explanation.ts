import type { Access, Explanation, ModelSpec, PlanStep } from '../../src/internal.js'
import { alignColumns, count, type Output } from '../output.js'

/** Converts an explanation to JSON; unknown row counts are null. */
export function toJson(explanation: Explanation, model: ModelSpec) {
  const { sql, values, ran, rows, milliseconds, pages, accesses, plan } = explanation
  return {
    sql,
    values,
    ran,
    rows: { estimated: rows.estimated, actual: rows.actual ?? null },
    milliseconds: milliseconds ?? null,
    pages: pages ?? null,
    accesses: accesses.map((access) => ({ ...access, index: access.index ?? null, rows: access.rows ?? null })),
    help: helpOf(explanation, model),
    plan,
  }
}

/** Prints an explanation as text. */
export function printExplanation(
  out: Output,
  explanation: Explanation,
  { path, model }: { readonly path: string; readonly model: ModelSpec },
): void {
  const { sql, values, ran, rows, milliseconds, pages, root, accesses } = explanation
  const { colors, line } = out
  line(`GET ${path}`)
  line()
  line(colors.bold('Plan'))
  for (const text of treeOf(root)) line(`  ${text}`)
  line()
  const lines = [
    ...[...new Set(accesses.map(accessText))].map((text, at) => [at === 0 ? 'index' : '', text]),
    ['rows', `${rows.estimated} estimated, ${rows.actual === undefined ? 'not counted' : `${rows.actual} actual`}`],
    ran
      ? ['time', `${milliseconds} ms, ${count(pages ?? 0, 'page')} read`]
      : ['time', 'stopped at the time limit of a statement, as a request would be: this is only the plan'],
  ]
  for (const text of alignColumns(lines)) line(text)
  for (const help of helpOf(explanation, model)) line(`  ${colors.cyan('= help:')} ${help}`)
  line()
  line(colors.bold('SQL'))
  line(`  ${sql}`)
  values.forEach((value, at) => line(`  $${at + 1} = ${value === null ? 'null' : JSON.stringify(value)}`))
}

function treeOf(step: PlanStep, depth = 0): readonly string[] {
  const { type, index, table, part, estimated, actual, details, steps } = step
  const indent = '  '.repeat(depth)
  const place = `${index === undefined ? '' : ` using ${index}`}${table === undefined ? '' : ` on ${table}`}`
  const rows = `${estimated} estimated${actual === undefined ? '' : `, ${actual} actual`}`
  return [
    `${indent}${part === undefined ? '' : `${part}: `}${type}${place}  (${rows})`,
    ...details.map((detail) => `${indent}    ${detail}`),
    ...steps.flatMap((each) => treeOf(each, depth + 1)),
  ]
}

function accessText({ table, index, rows, removed, counts }: Access): string {
  const purpose = counts ? ', to count' : ''
  const waste = removed > 0 ? `, ${count(removed, 'row')} filtered out` : ''
  if (index !== undefined) return `${index}${waste}${purpose}`
  return `sequential scan of ${table}${rows === undefined ? '' : `, all ${count(rows, 'row')} read`}${purpose}`
}

/** Suggests an index, or says why none is needed or possible; empty if no row is read in vain. */
function helpOf({ accesses, advice }: Explanation, { name, table, indexes }: ModelSpec): readonly string[] {
  // An index of this model cannot help with related records of other models.
  const own = accesses.filter((access) => access.table === '' || access.table === table)
  const wasteful = own.filter(({ index, removed }) => index === undefined || removed > 0)
  if (advice === undefined || wasteful.length === 0) return []
  const { served, fields, unserved, ignoreCase, gin } = advice
  const unhelped = unserved.map((lookup) => `no index that the file can declare serves \`${lookup}\``)
  const addition = (index: string) =>
    indexes.length > 0
      ? `add under \`models.${name}.indexes\`: \`- ${index}\``
      : `add under \`models.${name}\`: \`indexes: [${index}]\``
  const special = [
    ...ignoreCase.map((field) => `{ fields: [${field}], ignore_case: true }`),
    ...gin.map((field) => `{ fields: [${field}], using: gin }`),
  ]
  if (special.length > 0) return [...unhelped, ...special.map(addition)]
  if (!served) return [...unhelped, addition(`[${fields.join(', ')}]`)]
  if (unhelped.length > 0 || wasteful.every(({ counts, index }) => counts || index !== undefined)) return unhelped
  return ['an index serves this list; PostgreSQL reads small tables as a whole']
}
