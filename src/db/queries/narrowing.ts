import type { Scopes } from '../../resource/plan.js'
import { identifier } from '../../fields/sql-literal.js'
import { bareName, tableAlias, tableSql } from '../../fields/table-name.js'
import { scopeClause } from '../statements/rules/scope.js'
import { parameters } from '../statements/parameters.js'
import type { Query } from './query-knex.js'
import { isName, nameOf, readingsOf, type Tokens } from './sql-tokens.js'
import { isLocking, isQuery, kindOf, unknownCalls } from './statement-kind.js'

/**
 * Limits every table of a query that has a scope to the rows of the scope: in joins, relations and subqueries too. PostgreSQL
 * resolves a name to a `with` query before a table, and permits no change inside the parentheses.
 * @throws Error for a query that this cannot narrow
 */
export function narrowQuery({ text, values }: Query, scopes: Scopes): Query {
  const readings = readingsOf(text)
  if (kindOf(text) === 'write') rejectWrite(readings[0])
  const params = parameters(...values)
  const narrowed = [...scopes].map(([table]) => {
    // A name with a schema would not refer to the `with` query.
    if (readings.some((tokens) => isQualified(tokens, bareName(table))))
      reject(`the query names the table \`${table}\` with its schema`)
    const name = tableAlias(table)
    return `${name} as not materialized (select * from ${tableSql(table)} where true${scopeClause(table, scopes, params)})`
  })
  // A query in parentheses cannot have a `with` of its own, but it can follow `from`.
  const query = readings[0][0] === 'with' ? `select * from (${text}\n) ${QUERY}` : `(${text}\n)`
  return { text: `with ${narrowed.join(', ')} ${query}`, values: params.values }
}

/** No table has this name. */
const QUERY = identifier('@query')

function rejectWrite(tokens: Tokens): never {
  if (isLocking(tokens)) reject('it locks rows; lock a record by `context.store(…).lock(id)`')
  const call = unknownCalls(tokens).find((name) => !/^"[^."]*"$/.test(name))
  if (isQuery(tokens) && call !== undefined) reject(`it calls the function \`${call}\`, which may read other rows`)
  reject('models can only read in such a request; change records by `context.store`')
}

function reject(reason: string): never {
  throw new Error(`the query of a model cannot be limited to the scope of the request: ${reason}`)
}

/** Whether a query names a table with its schema: the name before the point is not an alias of the query. */
function isQualified(tokens: Tokens, table: string): boolean {
  return tokens.some((token, at) => {
    const owner = tokens[at - 2]
    if (tokens[at - 1] !== '.' || !isName(token) || !isName(owner) || nameOf(token) !== table) return false
    return nameOf(owner) === 'public' || !isNamedIn(tokens, nameOf(owner))
  })
}

/** Whether a query gives a name to a table: after `from`, `join`, `as`, a comma or a table, and without a schema behind it. */
function isNamedIn(tokens: Tokens, owner: string): boolean {
  return tokens.some(
    (token, at) => isName(token) && nameOf(token) === owner && tokens[at + 1] !== '.' && tokens[at - 1] !== '.',
  )
}
