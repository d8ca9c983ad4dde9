import type { Result } from '../../db/database.js'
import type { Query } from '../../db/queries/query-knex.js'
import type { Queries as CompiledQueries, QueryOptions } from '../../db/queries/compile-queries.js'
import { narrowQuery } from '../../db/queries/narrowing.js'
import { kindOf } from '../../db/queries/statement-kind.js'
import { Problem } from '../../foundation/problem.js'
import type { Scopes } from '../../resource/plan.js'
import type { Exchange } from '../server/exchange.js'
import type { Context } from '../route.js'

/** The members of a context that send queries for plugins. */
export type QueryMembers = Pick<Context, 'knex' | 'unscopedKnex' | 'models' | 'service'>

/** Which API a plugin's query comes from. */
type Origin = 'knex' | 'unscopedKnex' | 'models'

/** Sends queries on the connection of one context. */
export interface QuerySender {
  readonly queries: RecordQueries
  readonly scopes: () => Scopes | undefined
  /** Whether grants limit the caller. */
  readonly isLimited: boolean
  readonly run: RecordQueries['run']
}

/** The queries of plugins on one connection, or in one transaction. */
export interface RecordQueries {
  readonly knex: CompiledQueries['knex']
  /** @throws Problem `unavailable` for a model whose table differs */
  models(knex: () => Context['knex']): Context['models']
  run(query: Query, options: QueryOptions): Promise<Result>
}

/** The key under which contexts keep the results of their getters; plugins do not need it. */
export const QUERIES = Symbol('queries')

/** The knex and the models of one context, created at first use. */
export class ContextQueries {
  readonly #sender: () => QuerySender
  #knex: Context['knex'] | undefined
  #unscopedKnex: Context['knex'] | undefined
  #models: Context['models'] | undefined

  constructor(sender: () => QuerySender) {
    this.#sender = sender
  }

  get knex() {
    return (this.#knex ??= this.#knexFor('knex'))
  }

  get unscopedKnex() {
    return (this.#unscopedKnex ??= this.#knexFor('unscopedKnex'))
  }

  get models() {
    if (this.#models) return this.#models
    let knex: Context['knex'] | undefined
    return (this.#models = this.#sender().queries.models(() => (knex ??= this.#knexFor('models'))))
  }

  #knexFor(origin: Origin): Context['knex'] {
    const { queries, scopes, isLimited, run } = this.#sender()
    return queries.knex(async (query) => {
      const kind = kindOf(query.text)
      const narrow = scopes()
      if (isLimited && origin !== 'unscopedKnex') rejectLimited(origin)
      return run(narrow ? scoped(origin, query, narrow) : query, { kind, scopes: narrow })
    })
  }
}

function rejectLimited(origin: Origin): never {
  throw new Error(
    `\`${origin}\` is not limited to the rights of the caller; use \`context.store\`, or \`context.service.${origin}\` for a query that may see all records`,
  )
}

/** A query of a request that has a scope. */
function scoped(origin: Origin, query: Query, scopes: Scopes): Query {
  if (origin === 'unscopedKnex') return query
  if (origin === 'models') return narrowQuery(query, scopes)
  throw new Error(
    '`knex` is not limited to the scope of this request; use `context.models` or `context.store`, or `context.unscopedKnex` for a query that may see all rows',
  )
}

/** Members of contexts that are hidden from plugins. */
export interface WithQueries {
  readonly [QUERIES]: ContextQueries
}

/** The key under which contexts keep the function that creates the context of the service. */
export const SERVICE = Symbol('service')

export interface WithService {
  readonly [SERVICE]: () => Context
}

/** The prototype of contexts. Requests without queries pay nothing for its getters. */
export const QUERY_MEMBERS: QueryMembers = Object.freeze({
  get knex() {
    return queriesOf(this).knex
  },
  get unscopedKnex() {
    return queriesOf(this).unscopedKnex
  },
  get models() {
    return queriesOf(this).models
  },
  get service() {
    return (this as unknown as WithService)[SERVICE]()
  },
})

function queriesOf(context: unknown): ContextQueries {
  return (context as WithQueries)[QUERIES]
}

/** A context with some members replaced. A spread alone would lose the knex and the models, because it does not copy the prototype. */
export function deriveContext<Given extends Context, Own extends object>(
  context: Given,
  own: Own,
): Readonly<Omit<Given, keyof Own> & Own> {
  return Object.freeze({ __proto__: QUERY_MEMBERS, ...context, ...own })
}

const MAX_LOGGED = 1_000

/** Runs a statement; the log names it if the request ends first. A statement that took too long stays named. */
export async function namedInLog<T>(exchange: Exchange, { text }: Query, run: () => Promise<T>): Promise<T> {
  const statements = (exchange.statements ??= new Set())
  // It may contain values of requests.
  const statement = { text: text.replaceAll(/'(?:[^']|'')*'/g, "'…'").slice(0, MAX_LOGGED) }
  statements.add(statement)
  try {
    const result = await run()
    statements.delete(statement)
    return result
  } catch (error) {
    if (!(error instanceof Problem && error.type === 'timeout')) statements.delete(statement)
    throw error
  }
}
