import type { Random } from './random.js'
import { type Answered, type Client, createClient, type Question } from './client.js'
import { idOf, RECORDS, recordOf } from './writers.js'

/** The results of a load. Times are in ms, for successful responses. */
export interface LoadReport {
  readonly sent: number
  readonly good: number
  /** Successful responses per second. */
  readonly rate: number
  readonly times: readonly number[]
  /** The times of 503 responses. */
  readonly rejections: readonly number[]
  /** The body of the first of them. */
  readonly example: string | undefined
  /** Responses other than 2xx, 503, and 404 for deleted records, by kind. */
  readonly failures: Readonly<Record<string, number>>
}

interface Tally {
  sent: number
  good: number
  readonly times: number[]
  readonly rejections: number[]
  example: string | undefined
  readonly failures: Record<string, number>
}

interface Load {
  readonly port: number
  readonly seconds: number
  readonly question: () => Question
  /** Called for every response. */
  readonly seen?: (question: Question, answer: Answered) => void
}

const tally = (): Tally => ({ sent: 0, good: 0, times: [], rejections: [], example: undefined, failures: {} })

function enter(tally: Tally, { status, time, failure, body }: Answered): void {
  if (status >= 200 && status < 300) {
    tally.good += 1
    tally.times.push(time)
  } else if (status === 503) {
    tally.rejections.push(time)
    tally.example ??= body.slice(0, 200)
  } else if (status !== 404) {
    const name = failure ?? String(status)
    tally.failures[name] = (tally.failures[name] ?? 0) + 1
  }
}

/** A fixed number of clients, each of which sends a request as soon as the previous one is answered. */
export async function closedLoop({ port, seconds, question, seen }: Load, connections: number): Promise<LoadReport> {
  const result = tally()
  const client = createClient(port, connections)
  const end = performance.now() + seconds * 1_000
  const lane = async () => {
    while (performance.now() < end) {
      const asked = question()
      result.sent += 1
      const answer = await client.ask(asked)
      enter(result, answer)
      seen?.(asked, answer)
    }
  }
  await Promise.all(Array.from({ length: connections }, lane))
  client.close()
  return { ...result, rate: result.good / seconds }
}

/** Requests may be sent at most this many seconds late. */
const MAX_LATE_SECONDS = 0.05

interface OpenLoad {
  readonly rate: number
  readonly patience: number
  /** Connections opened before the first request; more are opened if these do not suffice. */
  readonly opened: number
  /** The first request on each of them. */
  readonly opening: Question
}

/** Sends a fixed number of requests per second, whatever happens to them. Responses count as successful within `patience` milliseconds. */
export async function openLoop(
  { port, seconds, question }: Load,
  { rate, patience, opened, opening }: OpenLoad,
): Promise<LoadReport> {
  const result = tally()
  const client = createClient(port, Infinity, patience)
  await Promise.all(Array.from({ length: opened }, () => client.ask(opening)))
  const started = performance.now()
  const underWay: Promise<void>[] = []
  const sendOne = async () => {
    const answer = await client.ask(question())
    const late = answer.status === 200 && answer.time > patience
    enter(result, late ? { ...answer, status: 0, failure: 'late' } : answer)
  }
  let skipped = 0
  while (performance.now() - started < seconds * 1_000) {
    const due = ((performance.now() - started) / 1_000) * rate
    // Requests that were due while this process was held up are skipped: sent all at once, they would be another load.
    skipped += Math.max(0, due - skipped - result.sent - rate * MAX_LATE_SECONDS)
    for (; result.sent < due - skipped; result.sent++) underWay.push(sendOne())
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await Promise.all(underWay)
  client.close()
  return { ...result, rate: result.good / seconds }
}

/** The usual mix: lists, single records, a few that are made and a few that go. */
export function mixedQuestions(random: Random): Pick<Load, 'question' | 'seen'> {
  const ids: string[] = []
  let made = 0
  return {
    question: () => {
      const die = random.next()
      if (ids.length === 0 || (die > 0.9 && die < 0.98))
        return { method: 'POST', path: RECORDS, body: recordOf(`mixed ${made++}`) }
      if (die < 0.7) return { path: `${RECORDS}?page_size=10` }
      if (die < 0.9) return { path: `${RECORDS}${random.pick(ids)}/` }
      return { method: 'DELETE', path: `${RECORDS}${ids.splice(random.between(0, ids.length - 1), 1)[0] ?? ''}/` }
    },
    seen: ({ method }, answer) => {
      if (method === 'POST' && answer.status === 201) ids.push(idOf(answer.body))
      // Keeps the table at a limited size.
      if (ids.length > 5_000) ids.shift()
    },
  }
}

/** Creates records through the service itself. */
export async function fill(client: Client, count: number, code = 'x = 1'): Promise<void> {
  const one = async (at: number) => {
    const { status } = await client.ask({ method: 'POST', path: RECORDS, body: { ...recordOf(`row ${at}`), code } })
    if (status !== 201) throw new Error(`a record could not be made: ${status}`)
  }
  for (let at = 0; at < count; at += 20)
    await Promise.all(Array.from({ length: Math.min(20, count - at) }, (_, index) => one(at + index)))
}
