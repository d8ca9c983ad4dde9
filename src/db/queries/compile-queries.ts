import type { Knex } from 'knex'
import type { AppSpec } from '../../config/spec.js'
import type { Scopes } from '../../resource/plan.js'
import type { Connection, Result, QueueKey } from '../database.js'
import type { ConstraintErrors } from '../driver/field-errors.js'
import { explaining, isReferredTo, toProblem, toReferred, toStatementFailure } from '../driver/errors.js'
import { constraintErrorsByTable, referrersOf } from '../records/guards.js'
import { type BindModels, compileModels } from './models.js'
import { knexOver, type Query, type SendQuery } from './query-knex.js'
import type { StatementKind } from './statement-kind.js'

/** How a query of a plugin is sent. */
export interface QueryOptions {
  readonly kind: StatementKind
  readonly queueKey?: QueueKey | undefined
  readonly scopes?: Scopes | undefined
  readonly signal?: AbortSignal | undefined
}

/** The queries of an application's plugins. Their errors are the same as in generated operations. */
export interface Queries {
  knex(send: SendQuery): Knex
  readonly models: BindModels
  run(connection: Connection, query: Query, options: QueryOptions): Promise<Result>
}

export function compileQueries(spec: AppSpec): Queries {
  const { models, answers } = spec
  let constraintErrors: ReadonlyMap<string, ConstraintErrors> | undefined
  const guarded = () => (constraintErrors ??= constraintErrorsByTable(models))
  const toFailure = (error: unknown, { kind, scopes }: QueryOptions): unknown => {
    if (kind === 'read') return toStatementFailure(error)
    if (isReferredTo(error)) {
      const referrers = models.map((model) => referrersOf(spec, model, scopes && { scopes, granted: undefined }))
      const merged = (kind: 'constraints' | 'tables') => new Map(referrers.flatMap((each) => [...each[kind]]))
      return toReferred(toProblem(error), {
        constraints: merged('constraints'),
        tables: merged('tables'),
        named: (name) => referrers[0]?.named(name) ?? [],
      })
    }
    return toStatementFailure(error, explaining(error, guarded()))
  }
  return {
    knex: knexOver,
    models: compileModels(models.filter((model) => model !== answers)),
    run: async (connection, { text, values }, options) => {
      const { kind, queueKey, signal } = options
      try {
        const resource = queueKey?.resource
        return await connection.query({ text, values, resource, signal, single: true, retry: kind === 'read' })
      } catch (error) {
        throw toFailure(error, options)
      }
    },
  }
}
