import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import type pg from 'pg'
import type { Connection } from '../../../src/db/database.js'
import type { Send } from '../../../src/db/driver/send.js'
import { type End, runTransaction } from '../../../src/db/driver/transaction.js'

interface Answer {
  readonly error?: Error
  /** The command tag; without an error, the statement in capitals. */
  readonly command?: string
  /** Whether the connection must not be used again. */
  readonly spent?: boolean
}

/** The answers to some statements; the others are answered at once. */
let answers: Record<string, Answer | Promise<Answer>>
let sent: string[]
let ends: Set<End>
let release: jest.Mock<(spent?: boolean) => void>
let destroy: jest.Mock<() => void>
let client: pg.PoolClient
const send: Send = (_client, { text }, settle) => {
  sent.push(text)
  const answered = async () => {
    const { error = null, command = error ? '' : text.toUpperCase(), spent = false } = (await answers[text]) ?? {}
    settle(error, { rows: [], columns: [], count: 0, size: 0, command }, spent)
  }
  void answered()
}

beforeEach(() => {
  answers = {}
  sent = []
  ends = new Set()
  release = jest.fn()
  destroy = jest.fn()
  client = {
    release,
    processID: null,
    secretKey: null,
    connection: { stream: { destroy } },
  } as unknown as pg.PoolClient
})

const failure = (code: string, routine?: string) => Object.assign(new Error(code), { code, routine })
const taken = failure('23505')
const lost = failure('57P01')
/** The server has closed the connection. */
const closed: Answer = { error: lost, spent: true }
const ask = (connection: Connection, text: string) => connection.query({ text, values: [] })
const attempt = (connection: Connection, text: string) => connection.attempt?.({ text, values: [] })
const run = <T>(
  work: (connection: Connection) => Promise<T>,
  { signal, enforce }: { readonly signal?: AbortSignal; readonly enforce?: () => void } = {},
) => runTransaction(client, work, { send, opening: ['begin'], ends, signal, enforce })
const caught = (work: Promise<unknown> | undefined) => work?.catch((error: unknown) => error)
/** Ends all transactions in progress. */
const endAll = (reason: Error) => ends.forEach((end) => end(reason))
/** An answer that arrives later. */
function later(): { readonly answer: Promise<Answer>; arrive(answer: Answer): void } {
  let arrive = (_answer: Answer): void => {}
  const answer = new Promise<Answer>((resolve) => (arrive = resolve))
  return { answer, arrive: (given) => arrive(given) }
}
/** Resolves once everything that was answered has had its consequences. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('a transaction gives its connection back once, and leaves nothing behind', () => {
  const work = (connection: Connection) => ask(connection, 'one')
  const bug = async () => {
    throw new Error('bug')
  }
  test.each<{
    readonly when: string
    readonly given?: typeof answers
    readonly run?: typeof work
    readonly sends: string
    readonly spent: boolean
  }>([
    { when: 'when it is committed', sends: 'begin, one, commit', spent: false },
    { when: 'when the work fails', run: bug, sends: 'begin, rollback', spent: false },
    { when: 'when a statement fails', given: { one: { error: taken } }, sends: 'begin, one, rollback', spent: false },
    { when: 'when it cannot begin', given: { begin: { error: taken } }, sends: 'begin, rollback', spent: false },
    { when: 'when its commit fails', given: { commit: { error: taken } }, sends: 'begin, one, commit', spent: false },
    { when: 'cut when it is lost', given: { one: closed }, sends: 'begin, one', spent: true },
    { when: 'cut when it is lost at its end', given: { commit: closed }, sends: 'begin, one, commit', spent: true },
    { when: 'cut after a cancel request', given: { one: { spent: true } }, sends: 'begin, one, commit', spent: true },
    {
      when: 'cut if its rollback fails',
      run: bug,
      given: { rollback: { error: taken } },
      sends: 'begin, rollback',
      spent: true,
    },
  ])('$when', async ({ given = {}, run: does = work, sends, spent }) => {
    answers = given
    const { signal } = new AbortController()
    await caught(run(does, { signal }))
    expect([sent.join(', '), release.mock.calls]).toEqual([sends, [[spent]]])
    expect([ends.size, getEventListeners(signal, 'abort')]).toEqual([0, []])
  })

  test('when it is aborted before it begins', async () => {
    const reason = new Error('gone')
    await expect(run(work, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect([sent, release.mock.calls, ends.size]).toEqual([[], [[]], 0])
  })
})

describe('a transaction that is ended from outside', () => {
  const reason = new Error('enough')

  test.each([
    { how: 'by its signal', end: (aborting: AbortController) => aborting.abort(reason) },
    { how: 'by the end of the service', end: () => endAll(reason) },
  ])('fails at once, closes its connection, and sends nothing more: $how', async ({ end }) => {
    const answer = later()
    answers = { slow: answer.answer }
    const aborting = new AbortController()
    const seen: unknown[] = []
    const done = run(
      async (connection) => {
        seen.push(await caught(ask(connection, 'slow')))
        seen.push(await caught(ask(connection, 'next')))
        return 'done'
      },
      { signal: aborting.signal },
    )
    await settled()
    end(aborting)
    await expect(done).rejects.toBe(reason)
    expect([release.mock.calls, destroy.mock.calls]).toEqual([[[true]], [[]]])
    expect([ends.size, getEventListeners(aborting.signal, 'abort')]).toEqual([0, []])
    answer.arrive({ error: failure('57014') })
    await settled()
    expect(seen).toEqual([reason, reason])
    expect([sent, release.mock.calls]).toEqual([['begin', 'slow'], [[true]]])
  })

  test.each([
    { outcome: 'succeeds', does: async () => 'done' },
    { outcome: 'fails', does: () => Promise.reject(new Error('bug')) },
  ])('sends nothing more if its work $outcome afterwards', async ({ does }) => {
    const done = run(() => {
      endAll(reason)
      return does()
    })
    await expect(done).rejects.toBe(reason)
    await settled()
    expect([sent, release.mock.calls]).toEqual([['begin'], [[true]]])
  })

  test('is committed nevertheless if its commit was sent before', async () => {
    const answer = later()
    answers = { commit: answer.answer }
    const done = run(async () => 'done')
    await settled()
    endAll(reason)
    expect(destroy).not.toHaveBeenCalled()
    answer.arrive({})
    expect([await done, sent, release.mock.calls]).toEqual(['done', ['begin', 'commit'], [[false]]])
  })
})

test('a statement is not sent after its transaction has ended, when its connection may have another one', async () => {
  let leaked: Connection | undefined
  await run(async (connection) => void (leaked = connection))
  for (const late of [leaked?.query({ text: 'late', values: [] }), leaked && attempt(leaked, 'late')])
    await expect(late).rejects.toThrow('a statement was sent after its transaction had ended')
  expect(sent).toEqual(['begin', 'commit'])
})

test('a statement is not sent while its transaction is rolled back, after which it would take effect', async () => {
  const answer = later()
  answers = { rollback: answer.answer }
  let inside: Connection | undefined
  const done = run(async (connection) => {
    inside = connection
    throw new Error('bug')
  })
  await settled()
  await expect(inside && ask(inside, 'late')).rejects.toThrow('a statement was sent after its transaction had ended')
  answer.arrive({})
  await expect(done).rejects.toThrow('bug')
  expect(sent).toEqual(['begin', 'rollback'])
})

test('a transaction checks its deadline before each statement', async () => {
  let left = 2
  const enforce = () => {
    if (left === 0) throw new Error('too late')
    left -= 1
  }
  const done = run(
    async (connection) => {
      await ask(connection, 'one')
      await ask(connection, 'two')
    },
    { enforce },
  )
  await expect(done).rejects.toThrow('too late')
  expect(sent).toEqual(['begin', 'one', 'rollback'])
})

describe('the answer to a commit', () => {
  test.each([
    { answer: { command: 'COMMIT' }, outcome: 'done' },
    { answer: { command: 'COMMIT', error: failure('57P01', 'ProcessInterrupts') }, outcome: 'done' },
    { answer: { error: failure('57P01', 'ProcessInterrupts') }, outcome: { type: 'unavailable' } },
    { answer: { command: 'COMMIT', error: lost }, outcome: { type: 'outcome_unknown' } },
    { answer: { error: lost }, outcome: { type: 'outcome_unknown' } },
    { answer: { error: taken }, outcome: { type: 'conflict' } },
  ])('decides the outcome: $answer', async ({ answer, outcome }) => {
    answers = { commit: answer }
    const actual = await caught(run(async () => 'done'))
    if (typeof outcome === 'string') expect(actual).toBe(outcome)
    else expect(actual).toMatchObject(outcome)
  })

  test('is the first failure if the server has rolled back, but not that of an attempt', async () => {
    answers = {
      attempted: { error: failure('23503') },
      first: { error: taken },
      second: { error: failure('25P02') },
      commit: { command: 'ROLLBACK' },
    }
    const done = run(async (connection) => {
      await caught(attempt(connection, 'attempted'))
      await caught(ask(connection, 'first'))
      await caught(ask(connection, 'second'))
    })
    await expect(done).rejects.toMatchObject({ cause: taken })
  })
})

describe('attempts', () => {
  test('have the statements and attempts that are sent in the meantime wait', async () => {
    const answer = later()
    answers = { slow: answer.answer }
    const done = run((connection) =>
      Promise.all([
        attempt(connection, 'slow'),
        attempt(connection, 'second'),
        ask(connection, 'third'),
        attempt(connection, 'fourth'),
      ]),
    )
    await settled()
    expect(sent).toEqual(['begin', 'savepoint attempt0', 'slow'])
    answer.arrive({})
    await done
    const inTurn = sent.filter((text) => !/savepoint|begin|commit/.test(text))
    expect(inTurn.sort()).toEqual(['fourth', 'second', 'slow', 'third'])
    for (const text of ['slow', 'second', 'fourth'])
      expect(sent.slice(sent.indexOf(text) - 1).slice(0, 3)).toEqual([
        'savepoint attempt0',
        text,
        'release savepoint attempt0',
      ])
  })

  test('are undone if they fail, each to its own savepoint', async () => {
    answers = { fails: { error: taken } }
    await run(async (connection) => {
      await caught(
        connection.savepoint?.(async (inner) => {
          await caught(attempt(inner, 'fails'))
          throw new Error('bug')
        }),
      )
    })
    expect(sent).toEqual([
      'begin',
      'savepoint attempt0',
      'savepoint attempt1',
      'fails',
      'rollback to savepoint attempt1',
      'release savepoint attempt1',
      'rollback to savepoint attempt0',
      'release savepoint attempt0',
      'commit',
    ])
  })
})
