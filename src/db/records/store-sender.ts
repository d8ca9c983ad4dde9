import { columnsOf, type ModelSpec } from '../../config/spec.js'
import { foreignKeyName } from '../../config/parse/constraint-names.js'
import { nameOfFilter } from '../../features/related-filter.js'
import { Problem } from '../../foundation/problem.js'
import { withIndex } from '../../resource/bodies/items.js'
import type { ListPlan, Row } from '../../resource/plan.js'
import { brokenMessage } from '../../resource/field-schema.js'
import { quote } from '../../resource/query.js'
import type { Connection, Result, Statement } from '../database.js'
import type { ConstraintErrors, Referrers } from '../driver/field-errors.js'
import { CONFLICT, isAgainstPolicy } from '../driver/meanings.js'
import { isLockable, type Lockable, learnLockable, lockAsLearned } from '../driver/lockable.js'
import { misfitParameterOf } from '../driver/misfits.js'
import { isUnrelated, mayTell, toRepeat } from '../driver/telling.js'
import {
  failedConversionOf,
  toChangeFailure,
  toProblem,
  toReferred,
  toRemoveFailure,
  toRequestFailure,
  withMisfits,
} from '../driver/errors.js'
import { comparedWith } from '../statements/lists/where.js'
import type { Bounds } from '../statements/rules/bounds.js'
import { DENIED } from '../statements/rules/covering-sql.js'
import { isNotGranted, notGranted } from '../statements/rules/granted-writes.js'
import { filledByScope, mayFail, outsideName } from '../statements/rules/scope.js'
import { hasPatch, tooLongName } from '../statements/merge-patch.js'
import { misfitOf, placeOfKey } from './guards.js'

/** Sends the statements of a store and translates database errors for clients. */
export interface Sender {
  readonly inTransaction: boolean
  /** @param plan that of a list, whose error names the filter with the value that does not fit */
  read(statement: Statement, plan?: Pick<ListPlan, 'where'>): Promise<Result>
  /** @param bounds those of the request, whose error must not mention rows outside of them */
  change(statement: Statement, bounds: Bounds | undefined): Promise<Result>
  /** Sends a statement that locks records, or one that only reads them if they cannot be locked. */
  lock(locking: Statement, reading: Statement, bounds: Bounds | undefined): Promise<Result>
  /**
   * Sends statements that change the same record in different ways, until grants cover one of them.
   * @param statementsWith makes the statements, with or without locks
   */
  updateInTurn(statementsWith: (locks: boolean) => readonly Statement[], written: Written): Promise<Result>
  /** The same for new records. Ends at a statement that returns no row: a grant that does not cover the record is an error, so a trigger has skipped it. */
  createInTurn(statements: readonly Statement[], written: Written): Promise<Result>
  /** Asks whether the request may write rows that the database has skipped, in one of several ways, and throws if it may not; see `Rehearsals`. */
  rehearse(written: Pick<Written, 'bounds' | 'rehearsals'>): Promise<void>
  remove(statement: Statement, bounds: Bounds | undefined): Promise<Result>
  /** In a transaction, undoes the statements of `work` if it fails. */
  attempt<T>(work: (sender: Sender) => Promise<T>): Promise<T>
}

/** The rows of a write, whose values its errors name. */
export interface Written {
  readonly bounds: Bounds | undefined
  readonly rows: readonly Row[]
  /** The place of the first row, if the request has several. */
  readonly start?: number
  /** Whether another record may have values of the rows, so that a transaction must survive the error. */
  readonly mayCollide: boolean
  /** See `Rehearsals`. */
  readonly rehearsals: (bounds: Bounds) => readonly (Statement | undefined)[]
}

interface Explained {
  readonly model: ModelSpec
  readonly lockable: Lockable
  /** Called when a write failed that was not made as an attempt, because nothing known of the table could let it fail. */
  readonly onUnforeseen: () => void
  readonly constraintErrors: ConstraintErrors
  /** See `referrersOf`. */
  readonly referrers: (bounds: Bounds | undefined) => Referrers
}

export function senderOn(connection: Connection, explained: Explained): Sender {
  const { model, lockable, constraintErrors, referrers, onUnforeseen } = explained
  const changeBy = async (
    send: Connection['query'],
    statement: Statement,
    { bounds, rows = [], start }: Partial<Written>,
  ): Promise<Result> => {
    try {
      return await send(statement)
    } catch (error) {
      const problem =
        toOutside(error, model, constraintErrors) ?? toTooLong(error, model) ?? toChangeFailure(error, constraintErrors)
      const filled = rows.map((row) => filledByScope(model, row, bounds?.scopes))
      const misfit = misfitOf(model, filled, { error, values: statement.values })
      const place = misfit?.place ?? placeOfKey(model, filled, error)
      const explained = () => {
        if (!(problem instanceof Problem) || problem.errors.length > 0) return problem
        if (misfit) return withMisfits(problem, misfit.columns, constraintErrors)
        // Other records may refer to the value that a unique field had.
        return toReferred(problem, referrers(bounds))
      }
      throw start === undefined || place === undefined ? explained() : withIndex(explained(), start + place)
    }
  }
  const query: Connection['query'] = (statement) => connection.query(statement)
  const change: Sender['change'] = (statement, bounds) => changeBy(query, statement, { bounds })
  /** Reports an error about rows only to a request that may write them, because the error can tell of hidden values. */
  const write = async (send: Connection['query'], statement: Statement, place: number, written: Written) => {
    const { bounds, rehearsals } = written
    try {
      return await changeBy(send, place > 0 ? { ...statement, follows: true } : statement, written)
    } catch (error) {
      const isTelling = mayTell(error) || longField(error) !== undefined
      const question = bounds && isTelling && mayFail(statement) && rehearsals(bounds)[place]
      if (!question) throw error
      // In a transaction, only an attempt that failed lets another statement follow. From now on, it is one.
      if (connection.repeat && send !== connection.attempt) {
        onUnforeseen()
        connection.repeat(toRepeat(error))
      }
      await ask(send, question)
      throw error
    }
  }
  /** Fails without an answer, too; with the reason if it has nothing to do with the rows. */
  const ask = async (send: Connection['query'], question: Statement): Promise<void> => {
    try {
      await send(question)
    } catch (error) {
      throw toOutside(error, model, constraintErrors) ?? (isUnrelated(error) ? toProblem(error) : notGranted())
    }
  }
  const tryInTurn = async (statements: readonly Statement[], written: Written, endsEmpty: boolean) => {
    let denied: Problem | undefined
    for (const [place, statement] of statements.entries()) {
      try {
        const result = await write(connection.attempt ?? query, statement, place, written)
        if (endsEmpty || result.rows.length > 0) return result
      } catch (error) {
        // Policies are checked before grants are: another grant may cover the record.
        if (!(error instanceof Problem && (isNotGranted(error) || isAgainstPolicy(error)))) throw error
        if (!denied || isNotGranted(denied)) denied = error
      }
    }
    if (denied) throw denied
    return { rows: [], columns: [], count: 0 }
  }
  const inTurn = (statements: readonly Statement[], written: Written, endsEmpty: boolean) => {
    const [first] = statements
    // An attempt costs two statements more.
    const isDoubtful = written.mayCollide || written.rows.some(hasPatch)
    const isAttempt = first && connection.attempt && isDoubtful && mayFail(first)
    const isAlone = first && statements.length === 1 && !isAttempt
    return isAlone ? write(query, first, 0, written) : tryInTurn(statements, written, endsEmpty)
  }
  const read: Sender['read'] = async (statement, plan) => {
    try {
      return await connection.query(statement)
    } catch (error) {
      throw toReadProblem(error, { plan, statement, model })
    }
  }
  const sender: Sender = {
    inTransaction: connection.attempt !== undefined,
    read,
    change,
    async lock(locking, reading, bounds) {
      const is = isLockable(lockable)
      if (is === true) return lockAsLearned(lockable, () => change(locking, bounds))
      if (is === false) return read(reading)
      const locked = () => changeBy(connection.attempt ?? query, locking, { bounds })
      return learnLockable(lockable, { locked, unlocked: () => read(reading), isProof: true })
    },
    async updateInTurn(statementsWith, written) {
      const is = isLockable(lockable)
      const statements = statementsWith(is !== false)
      if (!statements.some(({ locks }) => locks)) return inTurn(statements, written, false)
      if (is === true) return lockAsLearned(lockable, () => inTurn(statements, written, false))
      return learnLockable(lockable, {
        locked: () => tryInTurn(statements, written, false),
        unlocked: () => inTurn(statementsWith(false), written, false),
        isProof: statements.every(({ locks }) => locks),
      })
    },
    createInTurn: (statements, written) => inTurn(statements, written, true),
    async rehearse({ bounds, rehearsals }) {
      const questions = bounds ? rehearsals(bounds) : []
      for (const [place, question] of questions.entries()) {
        try {
          return await (question && ask(connection.attempt ?? query, question))
        } catch (error) {
          if (place === questions.length - 1) throw error
        }
      }
    },
    async remove(statement, bounds) {
      try {
        return await query(statement)
      } catch (error) {
        const referred = toReferred(error, referrers(bounds))
        throw referred === error ? toRemoveFailure(error, constraintErrors) : referred
      }
    },
    attempt: (work) =>
      connection.savepoint ? connection.savepoint((inner) => work(senderOn(inner, explained))) : work(sender),
  }
  return sender
}

/** The name of the field whose value is too long after a merge. */
function longField(error: unknown): string | undefined {
  return tooLongName(failedConversionOf(error) ?? '')
}

function toTooLong(cause: unknown, { fields }: ModelSpec): Problem | undefined {
  const name = longField(cause)
  const field = fields.find((each) => each.name === name)
  if (!field) return undefined
  const message = brokenMessage(field, 'length')
  return new Problem('validation', message, { errors: [{ field: field.name, message }], cause })
}

interface Read {
  readonly plan: Pick<ListPlan, 'where'> | undefined
  /** The statement that failed. */
  readonly statement: Pick<Statement, 'values'>
  readonly model: ModelSpec
}

/** The problem for a read that failed. For a list, it names the filters with the value that does not fit its column. */
export function toReadProblem(error: unknown, { plan, statement, model }: Read): unknown {
  const problem = toRequestFailure(error, model)
  const misfit = misfitParameterOf(error, model)
  if (!plan || misfit === undefined || !(problem instanceof Problem)) return problem
  const filters = comparedWith(statement.values[misfit - 1] ?? null, plan)
  if (filters.length === 0) return problem
  const names = [...new Set(filters.map((filter) => quote(nameOfFilter(filter))))]
  return new Problem(problem.type, `${problem.message}, in a filter of ${names.join(' or ')}`, { cause: problem.cause })
}

/** The problem for a row that was rejected by `scopeChecks`. A related record outside the scope is reported like a missing one. */
function toOutside(
  cause: unknown,
  { table, relations }: ModelSpec,
  constraintErrors: ConstraintErrors,
): Problem | undefined {
  const message = failedConversionOf(cause) ?? ''
  if (message.includes(DENIED)) return notGranted()
  const name = outsideName(message)
  if (name === undefined) return undefined
  const relation = relations.find((each) => each.name === name)
  if (!relation) return new Problem('validation', 'The record would be outside the scope of this request', { cause })
  const columns = columnsOf(relation)
  const constraint = foreignKeyName(table, columns)
  const errors = constraintErrors.constraints.get(constraint) ?? constraintErrors.columns('foreign_key', columns)
  return new Problem('conflict', constraintErrors.messages.get(constraint) ?? errors[0]?.message ?? CONFLICT, {
    errors,
    cause,
  })
}
