import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { quantile } from '../../bench/statistics.js'
import { runCli } from '../../test/support/cli.js'
import type { AttackReport } from '../attackers.js'
import { type Client, createClient, type Question } from '../client.js'
import { type Arena, atLeast, atMost, known, format, trial } from '../trial.js'

interface Amount {
  readonly seconds: number
  readonly readers: number
}

const CONFIGURATION = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
  page:
    fields:
      id: { type: bigint, primary_key: true }
      body: { type: text }
  counter:
    fields:
      id: { type: bigint, primary_key: true }
      count: { type: integer }
  letter:
    fields:
      id: { type: bigint, primary_key: true }
      body: { type: string, max: 50 }
  part:
    fields:
      id: { type: bigint, primary_key: true }
      number: { type: string, max: 13, pattern: '[0-9]+-[0-9]+' }
resources:
  book: { model: book, path: /books/ }
  page: { model: page, path: /pages/, pagination: { style: page_number, max_page_size: 100 } }
  counter: { model: counter, path: /counters/ }
  letter: { model: letter, path: /letters/ }
  part: { model: part, path: /parts/ }
`
const PLUGIN = `export default (app) => app.hooks('letter', { beforeCreate: () => new Promise(() => {}) })\n`
const FILL = `
  insert into book (title) values ('first');
  insert into counter (count) values (0);
  insert into page (body) select repeat('x', 10000) from generate_series(1, 100)`

const ATTACKERS = fileURLToPath(new URL('attackers.js', import.meta.url))
const MEGABYTE = 1024 * 1024
/** Clients who are not part of the attack, and milliseconds between two requests of one of them. */
const OTHERS = 4
const PAUSE = 20

const BURST =
  'the attack begins with 10,000 requests in one second, on the two cores that the service shares with all clients'

/** Everything at once that one client can do to others. */
export const attack = trial<Amount>({
  id: 'T23',
  title: 'a locked row, slow readers, hanging hooks, and costly headers and patterns barely affect other clients',
  stores: ['postgres'],
  alone: true,
  tiers: {
    commit: { seconds: 5, readers: 500 },
    nightly: { seconds: 60, readers: 500 },
    release: { seconds: 300, readers: 500 },
  },
  run: async (arena, { seconds, readers }) => {
    const url = await arena.database()
    const served = await arena.serve({ url, folder: await makeProject(arena, url), env: { DATABASE_POOL: '10' } })
    const { port } = served
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    arena.later(() => other.end())
    await other.query(FILL)
    const client = createClient(port, OTHERS)
    arena.later(() => client.close())
    await useAsOthers(client, 1)
    const quiet = await useAsOthers(client, 3)
    await other.query('begin; select from counter for update')
    const attackers = await begin(arena, port, readers)
    await delay(500)
    const under = await useAsOthers(client, seconds)
    const { rss, loop } = await served.read()
    const report = await end(attackers)
    const usual = p99(quiet.times)
    const now = p99(under.times)
    arena.say(
      `quiet p99 ${format(usual)} ms, event loop ${JSON.stringify(loop)}, others ${JSON.stringify(under.failures)}, attackers ${JSON.stringify(report)}`,
    )
    return [
      atMost(
        under.failed,
        0,
        `${under.failed} of ${format(under.times.length)} retrieves and creates of other clients failed`,
      ),
      atLeast(under.times.length, seconds * 10, `${under.times.length} requests`),
      known(
        arena.inTime(now, 3 * Math.max(usual, 5), `p99 ${format(now)} ms, ${format(usual)} ms without the attack`),
        BURST,
      ),
      atMost(rss / MEGABYTE, 300, `RSS ${format(rss / MEGABYTE)} MB`, ' MB'),
    ]
  },
})

async function makeProject(arena: Arena, url: string): Promise<string> {
  const folder = join(arena.folder, 'attack')
  mkdirSync(join(folder, 'migrations'), { recursive: true })
  writeFileSync(join(folder, 'resources.yaml'), CONFIGURATION)
  writeFileSync(join(folder, 'plugin.mjs'), PLUGIN)
  const { code, stderr } = await runCli(['migrate', 'plan', '--write', 'all'], {
    cwd: folder,
    env: { DATABASE_URL: url },
  })
  if (code !== 0) throw new Error(`the migration could not be written: ${stderr.slice(0, 2_000)}`)
  return folder
}

function p99(times: readonly number[]): number {
  return quantile(
    [...times].sort((a, b) => a - b),
    0.99,
  )
}

/**
 * A few clients retrieve and create records, with pauses. They keep their connections, like a load balancer: Node accepts one connection per turn of
 * its event loop, so a new one waits behind those of the attack.
 */
async function useAsOthers(client: Client, seconds: number) {
  const times: number[] = []
  const failures: Record<string, number> = {}
  const end = performance.now() + seconds * 1_000
  const ask = async (question: Question) => {
    const { status, time, failure } = await client.ask(question)
    times.push(time)
    if (status === 200 || status === 201) return
    const name = `${question.path} ${failure ?? status}`
    failures[name] = (failures[name] ?? 0) + 1
  }
  const use = async () => {
    while (performance.now() < end) {
      await ask({ path: '/books/1/' })
      await ask({ method: 'POST', path: '/books/', body: { title: 'another' } })
      await delay(PAUSE)
    }
  }
  await Promise.all(Array.from({ length: OTHERS }, use))
  return { times, failures, failed: Object.values(failures).reduce((sum, count) => sum + count, 0) }
}

/** Starts the attack in another process, so that its event loop does not affect the measured times; resolves once it is in progress. */
async function begin(arena: Arena, port: number, readers: number): Promise<ChildProcess> {
  const child = fork(ATTACKERS, [String(port), String(readers)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  arena.later(() => child.kill('SIGKILL'))
  await messageOf(child)
  return child
}

/** Ends the attack; resolves with the statuses of its requests. */
async function end(child: ChildProcess): Promise<AttackReport> {
  if (!child.connected) throw new Error('the attackers ended too early')
  const report = messageOf(child)
  child.send('end')
  return (await report) as AttackReport
}

/**
 * The next message of a process.
 * @throws Error when the process ends without one
 */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  const { signal } = over
  const message = once(child, 'message', { signal }).then(([said]: unknown[]) => said)
  const exit = once(child, 'exit', { signal }).then(([code, killed]: unknown[]) => {
    throw new Error(`the attackers ended too early, with ${String(code ?? killed)}`)
  })
  try {
    return await Promise.race([message, exit])
  } finally {
    over.abort()
  }
}
