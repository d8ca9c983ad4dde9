import { describe, expect, test } from '@jest/globals'
import type { ConstraintErrors } from '../../../src/db/driver/field-errors.js'
import { DatabaseRejected } from '../../../src/db/database.js'
import {
  cannotLock,
  isBroken,
  isLost,
  isStale,
  isTransient,
  isUnsent,
  toProblem,
  toRejection,
} from '../../../src/db/driver/errors.js'
import { Problem } from '../../../src/foundation/problem.js'

/** An error as the driver gives it. */
const failure = (code: string | undefined, message = 'from the server', more: object = {}) =>
  Object.assign(new Error(message), code === undefined ? {} : { code }, more)

describe('converts each failure to its problem', () => {
  test.each([
    [
      'unavailable',
      ['08000', '08003', '08006', '08P01', '57P01', '57P02', '57P03', '53300', '53100', '53200', '58030'],
    ],
    ['unavailable', ['2200H', '25006', '25P03', '28P01', '28000', '3D000', '40001', '40P01', '55P03']],
    ['unavailable', ['42P01', '42703', '42501', '42804', '42846', '42883', '428C9']],
    ['unavailable', ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']],
    ['timeout', ['57014']],
    ['conflict', ['23505', '23503', '23001', '23P01', 'P0001', '44000']],
    ['validation', ['22001', '22003', '22021', '22P02', '22P05', '23502', '23514', '54000']],
  ])('%s: %j', (type, codes) => {
    for (const code of codes) {
      const cause = failure(code)
      expect(toProblem(cause)).toMatchObject({
        type,
        cause,
        headers: type === 'unavailable' ? { 'Retry-After': '1' } : {},
      })
    }
  })

  test.each([
    'Connection terminated unexpectedly',
    'Connection terminated',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Query read timeout',
    'timeout expired',
    'timeout exceeded when trying to connect',
    'Cannot use a pool after calling end on the pool',
    'Received unexpected dataRow message from backend.',
    'The server does not support SSL connections',
    'There was an error establishing an SSL connection',
    'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
  ])('the driver says only: %s', (message) => {
    expect(toProblem(failure(undefined, message))).toMatchObject({
      type: 'unavailable',
      headers: { 'Retry-After': '1' },
    })
  })

  test('reports a missing socket file', () => {
    expect(toProblem(failure('ENOENT', 'connect ENOENT /run/.s.PGSQL.5432', { syscall: 'connect' }))).toBeInstanceOf(
      Problem,
    )
  })

  test('never mentions tables, constraints or SQL', () => {
    const cause = failure('23505', 'duplicate key value violates unique constraint "books_title_key"', {
      constraint: 'books_title_key',
      table: 'books',
    })
    expect(String(toProblem(cause))).not.toContain('books')
  })
})

describe('an error of a function is known by its context, in every language', () => {
  const UNPREPARED = 'The database is not set up for what this request does'
  const MISMATCH = 'The database does not match the configuration'
  test.each([
    { where: 'PL/pgSQL function judge() line 3 at SQL statement', detail: UNPREPARED },
    { where: 'PL/pgSQL-Funktion judge() Zeile 3 bei SQL-Anweisung', detail: UNPREPARED },
    { where: 'fonction PL/pgSQL judge(), ligne 3 à instruction SQL', detail: UNPREPARED },
    { where: '在SQL语句的第3行的PL/pgSQL函数judge()', detail: UNPREPARED },
    { where: 'SQL関数"judge"の行番号 1\nPL/pgSQL関数judge()の3行目 - SQL文', detail: UNPREPARED },
    { where: 'SQL-Funktion »judge« Anweisung 1', detail: UNPREPARED },
    { where: undefined, detail: MISMATCH },
    { where: "unnamed portal with parameters: $1 = 'SQL'", detail: MISMATCH },
    {
      where: 'PL/pgSQL function judge() line 3 at RAISE',
      routine: 'exec_stmt_raise',
      detail: 'The database rejected the change',
    },
  ])('$where', ({ detail, ...more }) => {
    for (const code of ['42P01', '42501', '3F000']) {
      const error = failure(code, 'from the server', more)
      expect(toProblem(error)).toMatchObject({ message: detail })
      // The next request need not find out again whether records can be locked.
      expect(cannotLock(error)).toBe(code === '42501' && detail === MISMATCH)
    }
  })
})

test.each([
  [failure('42601')],
  [failure('XX000')],
  [failure('22012')],
  [failure('ENOENT', 'open config', { syscall: 'open' })],
  [failure('EBADF', 'write', { syscall: 'write' })],
  [failure(undefined, 'Cannot read properties of undefined')],
  [new Problem('not_found')],
  ['text'],
  [undefined],
])('does not convert %s', (error) => {
  expect(toProblem(error)).toBe(error)
})

const UNGUARDED: ConstraintErrors = {
  messages: new Map(),
  table: 'books',
  isOfOtherModel: () => false,
  constraints: new Map(),
  columns: () => [],
  checkedColumns: () => undefined,
  misfits: () => [],
  oversized: new Map(),
  anyOversized: [],
  required: new Map(),
}

describe('a constraint violation', () => {
  const error = { field: 'title', message: 'Title is taken' }
  const guards = { ...UNGUARDED, constraints: new Map([['books_title_key', [error]]]) }
  const cause = failure('23505', 'duplicate', { constraint: 'books_title_key' })

  test('names the declared field', () => {
    expect(toProblem(cause, guards)).toMatchObject({
      type: 'conflict',
      message: 'Title is taken',
      errors: [error],
    })
  })

  test('names the field even inside the problem of a connection', () => {
    expect(toProblem(toProblem(cause), guards)).toMatchObject({ type: 'conflict', errors: [error], cause })
  })

  test('names no field if the constraint is not declared', () => {
    const other = failure('23505', 'duplicate', { constraint: 'by_hand' })
    expect(toProblem(other, guards)).toMatchObject({ type: 'conflict', errors: [] })
  })
})

describe('a rejected null', () => {
  const error = { field: 'title', message: 'Title is required' }
  const guards = {
    ...UNGUARDED,
    required: new Map([
      ['title', error],
      ['pin', undefined],
    ]),
  }

  test.each([
    ['title', 'validation', [error]],
    ['pin', 'validation', []],
    ['by_hand', 'unavailable', []],
  ])('in the column %s is of the kind %s', (column, type, errors) => {
    const cause = failure('23502', 'null value', { column })
    expect(toProblem(cause, guards)).toMatchObject({ type, errors, cause })
    expect(toProblem(toProblem(cause), guards)).toMatchObject({ type, errors, cause })
  })
})

describe('classification of connection failures', () => {
  const QUESTIONS = { isBroken, isLost, isUnsent, isStale, isTransient }
  test.each([
    ['23505', []],
    ['57014', []],
    ['40001', ['isTransient']],
    ['40P01', ['isTransient']],
    ['26000', ['isBroken', 'isStale', 'isTransient']],
    ['57P01', ['isBroken', 'isLost']],
    ['08006', ['isBroken', 'isLost']],
    ['ECONNRESET', ['isBroken', 'isLost']],
    ['EPIPE', ['isBroken', 'isLost']],
    ['ECONNREFUSED', ['isBroken']],
    ['Connection terminated unexpectedly', ['isBroken', 'isLost']],
    ['Query read timeout', ['isBroken']],
    ['Client was closed and is not queryable', ['isBroken', 'isUnsent']],
  ])('%s: %j', (codeOrMessage, expected) => {
    const hasCode = !codeOrMessage.includes(' ')
    const system = codeOrMessage.startsWith('E') ? { syscall: 'read' } : {}
    const error = failure(hasCode ? codeOrMessage : undefined, codeOrMessage, system)
    const answers = Object.entries(QUESTIONS).filter(([, question]) => question(error))
    expect(answers.map(([name]) => name)).toEqual(expected)
  })
})

describe('at startup', () => {
  test.each(['28P01', '28000', '3D000', 'DEPTH_ZERO_SELF_SIGNED_CERT'])('%s is fatal', (code) => {
    expect(toRejection(failure(code))).toBeInstanceOf(DatabaseRejected)
    expect(toRejection(toProblem(failure(code)))).toBeInstanceOf(DatabaseRejected)
  })

  test.each(['57P03', '53300', 'ECONNREFUSED', 'ENOTFOUND', '42P01'])(
    '%s is not fatal, because waiting may help',
    (code) => {
      expect(toRejection(failure(code))).toBeUndefined()
    },
  )

  test('a fatal error stays fatal, and requests get a 503', () => {
    const rejected = new DatabaseRejected('too old')
    expect(toRejection(toProblem(rejected))).toBe(rejected)
    expect(toProblem(rejected)).toMatchObject({ type: 'unavailable', cause: rejected })
  })
})
