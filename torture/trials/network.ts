import { setTimeout as delay } from 'node:timers/promises'
import { freePort, withClient } from '../../bench/cluster.js'
import { type Answered, type Client, createClient, type Question } from '../client.js'
import { type Moment, type Proxy, startProxy, type Way } from '../proxy.js'
import { type Arena, atLeast, atMost, format, trial } from '../trial.js'
import { RECORDS, recordOf } from '../writers.js'

interface Amount {
  readonly rounds: number
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const
type Method = (typeof METHODS)[number]

const IN_USE = ['snippetctl_database_connections{state="busy"}', 'snippetctl_database_pipelined_statements'] as const

const MOMENTS: readonly Moment[] = ['during send', 'before reply', 'during reply']
const DONE: Readonly<Record<Method, number>> = { GET: 200, POST: 201, PUT: 200, DELETE: 204 }

/** A read is retried silently; a write never is, because its outcome is unknown. */
const cut = (method: Method): readonly number[] => (method === 'GET' ? [200] : [504])
const done = (method: Method): readonly number[] => [DONE[method]]

/** What is broken, when, and the expected response to each method. */
interface Fault {
  readonly name: string
  readonly way: Way | 'refuse'
  readonly moment: Moment | 'before send'
  readonly expected: (method: Method) => readonly number[]
  /** Milliseconds within which the response must arrive. */
  readonly within: number
}

const FAULTS: readonly Fault[] = [
  ...(['reset', 'end'] as const).flatMap((way) => [
    { name: `${way} before send`, way, moment: 'before send' as const, expected: done, within: 2_000 },
    ...MOMENTS.map((moment) => ({ name: `${way} ${moment}`, way, moment, expected: cut, within: 2_000 })),
  ]),
  { name: 'late', way: 'delay', moment: 'during send', expected: done, within: 2_000 },
  { name: 'refused', way: 'refuse', moment: 'before send', expected: () => [503], within: 2_500 },
]

/** Only a timeout detects a black hole, which takes seconds; so all of these are requested at once. */
const HOLES: readonly Fault[] = (['before send', ...MOMENTS] as const).map((moment) => ({
  name: `blackhole ${moment}`,
  way: 'blackhole',
  moment,
  // Where all idle connections lead into a hole, a request may still get one that is made for it.
  expected: (method) => (moment === 'before send' ? [503, 504, DONE[method]] : [503, 504]),
  within: 8_500,
}))

/** Asks over a connection of its own: one that is idle while another request waits for a hole may be closed just when it is used. */
async function askOnce(port: number, question: Question): Promise<Answered> {
  const client = createClient(port, 1)
  try {
    return await client.ask(question)
  } finally {
    client.close()
  }
}

/** A write that was sent into a black hole, and the response to its client. */
interface Sunk {
  readonly method: Method
  readonly marker: string
  readonly status: number
}

interface Scene {
  readonly arena: Arena
  readonly proxy: Proxy
  readonly client: Pick<Client, 'ask'>
  /** The database itself, past the proxy. */
  readonly url: string
  readonly wrong: string[]
  readonly sunk: Sunk[]
  asked: number
}

/** Every way in which a network fails, at every moment of a statement. */
export const network = trial<Amount>({
  id: 'T6',
  title: 'every network fault at every stage of a statement gets the correct response, and no write is repeated',
  stores: ['postgres'],
  // Each response has a time limit.
  alone: true,
  tiers: { commit: { rounds: 1 }, nightly: { rounds: 5 }, release: { rounds: 100 } },
  run: async (arena, { rounds }) => {
    const url = await arena.database()
    const { port, pathname } = new URL(url)
    const proxy = await startProxy(Number(port))
    arena.later(() => proxy.close())
    const admin = await freePort()
    const served = await arena.serve({
      url: `postgres://postgres@127.0.0.1:${proxy.port}${pathname}`,
      args: ['--migrate', '--admin-port', String(admin)],
      env: { DATABASE_POOL: '30' },
    })
    const client = { ask: (question: Question) => askOnce(served.port, question) }
    const scene: Scene = { arena, proxy, client, url, wrong: [], sunk: [], asked: 0 }
    for (let round = 0; round < rounds; round++) {
      for (const fault of FAULTS) for (const method of METHODS) await tryOne(scene, fault, method)
      for (const fault of HOLES) await Promise.all(METHODS.map((method) => tryOne(scene, fault, method)))
    }
    await delay(1_000)
    const busy = await inUse(admin)
    const twice = await countTwice(url)
    const { done, undone, lies } = await lookUp(url, scene.sunk)
    for (const text of lies) arena.say(text)
    for (const text of scene.wrong.slice(0, 10)) arena.say(text)
    return [
      atMost(scene.wrong.length, 0, `${scene.wrong.length} of ${format(scene.asked)} responses were wrong`),
      atMost(twice, 0, `${twice} writes repeated`),
      atMost(lies.length, 0, `${lies.length} of ${done + undone} black-holed writes contradict their response`),
      atLeast(Math.min(done, undone), 1, `${done} of them were committed, ${undone} not`),
      atMost(busy, 0, `${busy} connections in use a second later`),
      atMost(served.complaints.length, 0, `${served.complaints.length} errors in the log`),
    ]
  },
})

async function tryOne(scene: Scene, { name, way, moment, expected, within }: Fault, method: Method): Promise<void> {
  const { arena, proxy, client, url, wrong } = scene
  // Stands in the statement, wherever it is: as an id, or within a title.
  const marker = String(7_000_000_000_000 + arena.random.between(0, 999_999_999) * 1_000 + scene.asked++)
  await insert(url, marker)
  await Promise.all([client.ask({ path: RECORDS }), client.ask({ path: `${RECORDS}1/`, method: 'DELETE' })])
  if (way === 'refuse') proxy.refuse(true)
  if (moment !== 'before send') proxy.arm(marker, moment, way === 'refuse' ? 'reset' : way)
  else proxy.breakAll(way === 'refuse' ? 'reset' : way)
  // What has arrived by then has been processed.
  await delay(40)
  const answer = await client.ask(questionOf(method, marker))
  proxy.refuse(false)
  if (way === 'blackhole' && method !== 'GET') scene.sunk.push({ method, marker, status: answer.status })
  const fault = faultOf(answer, expected(method), within)
  if (fault !== undefined) wrong.push(`${name}, ${method}: ${fault}`)
  // Unused connections still lead into the black hole.
  if (name === 'blackhole before send') return
  const again = await client.ask({ path: `${RECORDS}?page_size=1` })
  if (again.status !== 200) wrong.push(`${name}, ${method}: the next request was answered ${again.status}`)
}

function questionOf(method: Method, marker: string) {
  if (method === 'POST') return { method, path: RECORDS, body: recordOf(`posted ${marker}`) }
  const path = `${RECORDS}${marker}/`
  return method === 'PUT' ? { method, path, body: recordOf(`put ${marker}`) } : { method, path }
}

function faultOf({ status, time, headers, body, failure }: Answered, expected: readonly number[], within: number) {
  if (!expected.includes(status))
    return `${status} ${failure ?? body.slice(0, 200)} in place of ${expected.join(' or ')}`
  if (status === 503 && headers['retry-after'] === undefined) return '503 without Retry-After'
  return time > within ? `${status} after ${format(time)} ms` : undefined
}

function insert(url: string, id: string): Promise<unknown> {
  const text = `insert into snippets (id, title, code, language) overriding system value values ($1, 'seeded', 'x', 'y')`
  return withClient(url, (client) => client.query(text, [id]))
}

/** Whether the database did what clients of black-holed writes were told; a 503 or 504 leaves open whether a write was done. */
async function lookUp(url: string, sunk: readonly Sunk[]) {
  const lies: string[] = []
  let done = 0
  await withClient(url, async (client) => {
    for (const { method, marker, status } of sunk) {
      const { rows } = await client.query<{ title: string }>('select title from snippets where id = $1 or title = $2', [
        marker,
        `posted ${marker}`,
      ])
      const titles = rows.map(({ title }) => title)
      const isDone = {
        GET: true,
        POST: titles.includes(`posted ${marker}`),
        PUT: titles.includes(`put ${marker}`),
        DELETE: !titles.includes('seeded'),
      }[method]
      done += Number(isDone)
      // The record that a write is about is one of two: as it was, or as it was to become.
      const isWhole =
        method === 'POST' ? titles.includes('seeded') : titles.length === (method === 'DELETE' && isDone ? 0 : 1)
      if (!isWhole) lies.push(`${method} ${marker}: the table has ${JSON.stringify(titles)}`)
      if (status < 300 && !isDone) lies.push(`${method} ${marker}: answered ${status} and not done`)
    }
  })
  return { done, undone: sunk.length - done, lies }
}

function countTwice(url: string): Promise<number> {
  const text = `select count(*) from (select title from snippets where title like 'posted %' group by title having count(*) > 1) t`
  return withClient(url, async (client) => Number((await client.query<{ count: string }>(text)).rows[0]?.count))
}

/**
 * How many connections of the service are busy, according to its metrics. PostgreSQL cannot tell, because it does not learn of the end of a
 * black-holed connection.
 */
async function inUse(admin: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
  return IN_USE.map((name) => valueOf(text, name)).reduce((sum, value) => sum + value, 0)
}

/** @throws Error if there is no such metric */
function valueOf(metrics: string, name: string): number {
  const line = metrics.split('\n').find((text) => text.startsWith(`${name} `))
  if (line === undefined) throw new Error(`/metrics has no ${name}`)
  return Number(line.slice(name.length))
}
