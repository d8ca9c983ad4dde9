import type { Scopes } from '../../resource/plan.js'
import { identifier } from '../../fields/sql-literal.js'
import { bareName, tableAlias, tableSql } from '../../fields/table-name.js'
import { scopeClause } from '../statements/rules/scope.js'
import { parameters } from '../statements/parameters.js'
import type { Query } from './query-knex.js'
import { codeOf } from './sql-code.js'
import { isLocking, kindOf, unknownCalls } from './statement-kind.js'

/**
 * Limits every table of a query that has a scope to the rows of the scope: in joins, relations and subqueries too. PostgreSQL
 * resolves a name to a `with` query before a table, and permits no change inside the parentheses.
 * @throws Error for a query that this cannot narrow
 */
export function narrowQuery({ text, values }: Query, scopes: Scopes): Query {
  if (kindOf(text) === 'write') rejectWrite(text)
  const params = parameters(...values)
  const narrowed = [...scopes].map(([table]) => {
    // A name with a schema would not refer to the `with` query.
    if (isQualified(text, bareName(table))) reject(`the query names the table \`${table}\` with its schema`)
    const name = tableAlias(table)
    return `${name} as not materialized (select * from ${tableSql(table)} where true${scopeClause(table, scopes, params)})`
  })
  // A query in parentheses cannot have a `with` of its own, but it can follow `from`.
  const query = /^\s*with\b/.test(codeOf(text)) ? `select * from (${text}\n) ${QUERY}` : `(${text}\n)`
  return { text: `with ${narrowed.join(', ')} ${query}`, values: params.values }
}

/** No table has this name. */
const QUERY = identifier('@query')

function rejectWrite(text: string): never {
  if (isLocking(text)) reject('it locks rows, and a store can do that: `context.store(…).lock(id)`')
  const calls = unknownCalls(text).filter((name) => name !== '""')
  if (/^[\s(]*(?:select|with|values)\b/.test(codeOf(text)) && calls.length > 0)
    reject(`it calls the function \`${calls[0]}\`, which may read other rows`)
  reject('models only read in such a request; change records by `context.store`')
}

function reject(reason: string): never {
  throw new Error(`the query of a model cannot be limited to the scope of the request: ${reason}`)
}

/** Whether a table is named together with a schema: by a name before a point that is not an alias in the query. */
function isQualified(text: string, table: string): boolean {
  const names = [...text.matchAll(NAME)].map(([name]) => name)
  return names.some((name, index) => {
    if (plain(name) !== table || names[index - 1] !== '.') return false
    const owner = names[index - 2]
    return owner === undefined || plain(owner) === 'public' || !isNamedIn(names, plain(owner))
  })
}

/** Whether a query gives a name to a table: after `from`, `join`, `as`, a comma or a table, and without a schema behind it. */
function isNamedIn(names: readonly string[], owner: string): boolean {
  return names.some((name, index) => plain(name) === owner && names[index + 1] !== '.' && names[index - 1] !== '.')
}

/** Names, quoted or not, and the points between them. */
const NAME = /"(?:[^"]|"")*"|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\./g

function plain(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name.toLowerCase()
}
