import { median } from '../../bench/statistics.js'
import { type Client, createClient, untilAnswered } from '../client.js'
import type { Postgres } from '../postgres.js'
import type { Random } from '../random.js'
import { type Arena, atMost, format, trial } from '../trial.js'
import {
  faultOf,
  idOf,
  judge,
  type Ledger,
  note,
  openLedger,
  outcomeOf,
  readAll,
  recordOf,
  RECORDS,
} from '../writers.js'

interface Amount {
  readonly seconds: number
}

const CONNECTIONS = 32
const PERIOD = 2_000
const WAYS = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const

/** A record that only one client changes, so that it knows the possible values. */
interface Register {
  readonly id: string
  /** The values that a response may contain: the last acknowledged one, and later ones with unknown outcomes. */
  possible: string[]
}

interface Storm {
  readonly client: Client
  readonly ledger: Ledger
  readonly random: Random
  /** 2xx and 503; anything else is wrong. */
  readonly counts: { good: number; unavailable: number }
  readonly going: () => boolean
}

/** PostgreSQL is restarted again and again under a mixed load, each time in another way. */
export const restarts = trial<Amount>({
  id: 'T4',
  title: 'while the database restarts every 2 s, every response is correct or a 503',
  stores: ['postgres'],
  tiers: { commit: { seconds: 20 }, nightly: { seconds: 300 }, release: { seconds: 1_800 } },
  run: async (arena, { seconds }) => {
    const postgres = await arena.postgres()
    await postgres.start()
    const served = await arena.serve({ url: await postgres.database('storm') })
    const client = createClient(served.port, CONNECTIONS)
    arena.later(() => client.close())
    let going = true
    const storm: Storm = {
      client,
      ledger: openLedger(),
      random: arena.random,
      counts: { good: 0, unavailable: 0 },
      going: () => going,
    }
    const lanes = Array.from({ length: CONNECTIONS }, (_, lane) => useOne(storm, lane))
    const recoveries = await restartFor(arena, postgres, served.port, seconds)
    going = false
    await Promise.all(lanes)
    await untilAnswered(served.port, `${RECORDS}?page_size=1`)
    const { lost, ghosts, twice } = judge(
      storm.ledger,
      (await readAll(client)).map(({ title }) => title.split('#')[0] ?? ''),
    )
    const { wrong, acknowledged } = storm.ledger
    if (wrong.length > 0) arena.say([...new Set(wrong)].slice(0, 10).join('\n'))
    const { good, unavailable } = storm.counts
    return [
      atMost(wrong.length, 0, `${wrong.length} wrong responses, ${format(good)} 2xx, ${format(unavailable)} 503`),
      atMost(lost.length, 0, `${lost.length} of ${format(acknowledged.size)} acknowledged records lost`),
      atMost(ghosts.length + twice.length, 0, `${ghosts.length} rejected records stored, ${twice.length} stored twice`),
      arena.inTime(
        median(recoveries),
        100,
        `median of ${recoveries.length} recoveries ${format(median(recoveries))} ms`,
      ),
      arena.inTime(Math.max(...recoveries), 1_000, `longest ${format(Math.max(...recoveries))} ms`),
    ]
  },
})

async function restartFor(arena: Arena, postgres: Postgres, port: number, seconds: number): Promise<number[]> {
  const recoveries: number[] = []
  const end = Date.now() + seconds * 1_000
  for (let turn = 0; Date.now() < end; turn++) {
    await new Promise((resolve) => setTimeout(resolve, PERIOD))
    await postgres.stop(WAYS[turn % WAYS.length] ?? 'SIGINT')
    await new Promise((resolve) => setTimeout(resolve, arena.random.between(0, 300)))
    await postgres.start()
    recoveries.push(await untilAnswered(port, `${RECORDS}?page_size=1`))
  }
  return recoveries
}

/** Creates, changes and reads records of its own, one request after the other. */
async function useOne(storm: Storm, lane: number): Promise<void> {
  const { random, ledger } = storm
  const registers: Register[] = []
  for (let turn = 0; storm.going(); turn++) {
    const register = registers.length > 0 ? random.pick(registers) : undefined
    const die = random.next()
    if (register === undefined || die < 0.3) {
      const title = `lane ${lane} record ${turn}`
      const body = recordOf(title)
      const answer = await storm.client.ask({ method: 'POST', path: RECORDS, body })
      note(ledger, title, answer)
      if (answer.status === 201) registers.push({ id: idOf(answer.body), possible: [title] })
      await count(storm, answer.status)
    } else if (die < 0.6) await change(storm, register, turn)
    else await look(storm, register)
  }
}

async function change(storm: Storm, register: Register, turn: number): Promise<void> {
  const title = `${register.possible[0]?.split('#')[0]}#${turn}`
  const answer = await storm.client.ask({ method: 'PUT', path: `${RECORDS}${register.id}/`, body: recordOf(title) })
  const [outcome, fault] = [outcomeOf(answer), faultOf(answer)]
  if (outcome === 'done') register.possible = [title]
  else if (outcome === 'unknown') register.possible.push(title)
  if (fault !== undefined) storm.ledger.wrong.push(`PUT gave ${fault}`)
  await count(storm, answer.status)
}

async function look(storm: Storm, { id, possible }: Register): Promise<void> {
  const answer = await storm.client.ask({ path: `${RECORDS}${id}/` })
  const { status, headers, body, failure } = answer
  expectRight(storm, status, headers, `GET gave ${status} ${failure ?? body}`)
  if (status === 200) {
    const { title } = JSON.parse(body) as { readonly title: string }
    if (!possible.includes(title)) storm.ledger.wrong.push(`record ${id} is ${title}, not ${possible.join(' or ')}`)
  }
  await count(storm, status)
}

function expectRight(storm: Storm, status: number, headers: Readonly<Record<string, unknown>>, text: string): void {
  if (status !== 200 && status !== 503) storm.ledger.wrong.push(text)
  if (status === 503 && headers['retry-after'] === undefined) storm.ledger.wrong.push('503 without Retry-After')
}

async function count({ counts, ledger }: Storm, status: number): Promise<void> {
  if (status >= 200 && status < 300) counts.good += 1
  else if (status === 503) counts.unavailable += 1
  if (status === 0) ledger.wrong.push('no answer')
  if (status >= 300 || status === 0) await new Promise((resolve) => setTimeout(resolve, 10))
}
