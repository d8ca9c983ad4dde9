import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../../bench/cluster.js'
import { type Client, createClient, untilAnswered } from '../client.js'
import type { Postgres } from '../postgres.js'
import { type Proxy, startProxy } from '../proxy.js'
import { isLinearizable, type Operation } from '../registers.js'
import { type Arena, atMost, format, trial } from '../trial.js'
import { idOf, judge, type Ledger, openLedger, readAll, recordOf, RECORDS, write } from '../writers.js'

interface Amount {
  readonly failovers: number
  readonly seconds: number
}

const WRITERS = 4
const REGISTERS = 20
const CLIENTS = 4

/** The primary is killed, its synchronous standby promoted, and the address of the database repointed. */
export const failover = trial<Amount>({
  id: 'T8',
  title: 'a failover to a synchronous standby loses no record, and its registers are linearizable',
  stores: ['postgres'],
  tiers: {
    commit: 'left to the nightly tier',
    nightly: { failovers: 10, seconds: 6 },
    release: { failovers: 100, seconds: 20 },
  },
  run: async (arena, { failovers, seconds }) => {
    const totals = { lost: 0, acknowledged: 0, torn: 0, operations: 0, wrong: 0 }
    const recoveries: number[] = []
    for (let at = 0; at < failovers; at++) {
      const one = await failOver(arena, seconds, at % 2 === 1)
      for (const text of one.ledger.wrong.slice(0, 3)) arena.say(text)
      totals.lost += one.lost
      totals.acknowledged += one.ledger.acknowledged.size
      totals.torn += one.torn
      totals.operations += one.operations
      totals.wrong += one.ledger.wrong.length
      recoveries.push(one.recovery)
    }
    const longest = Math.max(...recoveries)
    return [
      atMost(
        totals.lost,
        0,
        `${totals.lost} of ${format(totals.acknowledged)} acknowledged records lost in ${failovers} failovers`,
      ),
      atMost(
        totals.torn,
        0,
        `${totals.torn} registers of ${format(totals.operations)} operations are not linearizable`,
      ),
      atMost(totals.wrong, 0, `${totals.wrong} responses other than 2xx and 503`),
      arena.inTime(longest, 1_000, `first response ${format(longest)} ms after the promotion`),
    ]
  },
})

interface Pair {
  readonly primary: Postgres
  readonly standby: Postgres
  readonly proxy: Proxy
}

async function makePair(arena: Arena): Promise<Pair> {
  const primary = await arena.postgres({ settings: ['synchronous_commit=on', 'wal_level=replica'] })
  await primary.start()
  await primary.database('failover')
  const standby = await arena.postgres({ standbyOf: primary, settings: ['synchronous_commit=on'] })
  await standby.start()
  // After the standby was copied, so that it does not wait for one itself once it is promoted.
  await withClient(primary.url, async (client) => {
    await client.query("alter system set synchronous_standby_names = '*'")
    await client.query('select pg_reload_conf()')
    const synchronous = "select 1 from pg_stat_replication where sync_state = 'sync'"
    while ((await client.query(synchronous)).rowCount === 0) await delay(20)
  })
  const proxy = await startProxy(primary.port)
  arena.later(() => proxy.close())
  return { primary, standby, proxy }
}

/** @param partition whether the old primary is first cut off and goes on, as in a network that is split */
async function failOver(arena: Arena, seconds: number, partition: boolean) {
  const { primary, standby, proxy } = await makePair(arena)
  const served = await arena.serve({ url: `postgres://postgres@127.0.0.1:${proxy.port}/failover` })
  const client = createClient(served.port, WRITERS + CLIENTS + 1)
  const ledger = openLedger()
  let going = true
  let made = 0
  const registers = await makeRegisters(client)
  const lanes = [
    ...Array.from({ length: WRITERS }, () =>
      write(
        client,
        ledger,
        () => `record ${made++}`,
        () => going,
      ),
    ),
    ...Array.from({ length: CLIENTS }, (_, lane) =>
      useRegisters({ arena, client, ledger, registers, going: () => going }, lane),
    ),
  ]
  await delay((seconds * 1_000) / 2)
  proxy.refuse(true)
  if (partition) {
    proxy.breakAll('blackhole')
    await delay(500)
  }
  await primary.stop('SIGKILL')
  proxy.breakAll('reset')
  standby.promote()
  proxy.retarget(standby.port)
  proxy.refuse(false)
  const recovery = await untilAnswered(served.port, `${RECORDS}?page_size=1`)
  await delay((seconds * 1_000) / 2)
  going = false
  await Promise.all(lanes)
  const titles = (await readAll(client)).map(({ title }) => title)
  client.close()
  await served.stop()
  await standby.stop('SIGQUIT')
  const { lost } = judge(ledger, titles)
  const torn = [...registers.values()].filter((history) => !isLinearizable(history, 'first')).length
  const operations = [...registers.values()].reduce((sum, { length }) => sum + length, 0)
  return { ledger, lost: lost.length, torn, operations, recovery }
}

type Registers = ReadonlyMap<string, Operation[]>

async function makeRegisters(client: Client): Promise<Registers> {
  const ids = await Promise.all(
    Array.from({ length: REGISTERS }, async () =>
      idOf((await client.ask({ method: 'POST', path: RECORDS, body: recordOf('first') })).body),
    ),
  )
  return new Map(ids.map((id) => [id, []]))
}

interface Use {
  readonly arena: Arena
  readonly client: Client
  readonly ledger: Ledger
  readonly registers: Registers
  readonly going: () => boolean
}

async function useRegisters({ arena: { random }, client, ledger, registers, going }: Use, lane: number): Promise<void> {
  for (let turn = 0; going(); turn++) {
    const id = random.pick([...registers.keys()])
    const path = `${RECORDS}${id}/`
    const start = performance.now()
    const writes = random.chance(0.5)
    const value = `lane ${lane} turn ${turn}`
    const answer = await client.ask(writes ? { method: 'PUT', path, body: recordOf(value) } : { path })
    const good = answer.status === 200
    const end = good ? performance.now() : Infinity
    if (writes) registers.get(id)?.push({ kind: 'write', value, start, end })
    else if (good)
      registers
        .get(id)
        ?.push({ kind: 'read', value: String((JSON.parse(answer.body) as { title: string }).title), start, end })
    if (good) await delay(20)
    else {
      if (answer.status !== 503 && answer.status !== 504)
        ledger.wrong.push(`${answer.status} ${answer.failure ?? answer.body}`)
      await delay(50)
    }
  }
}
