import { setTimeout as delay } from 'node:timers/promises'
import { createClient, untilAnswered } from '../client.js'
import { makeSmallDisk } from '../small-disk.js'
import { atLeast, atMost, format, trial } from '../trial.js'
import { judge, note, openLedger, readAll, RECORDS, recordOf } from '../writers.js'

interface Amount {
  readonly rounds: number
}

const WRITERS = 8
/** Characters of code by chance, which do not become fewer when they are stored. */
const SIZE = 6_500

/** The disk of the database fills up while clients write, and then there is room again. */
export const fullDisk = trial<Amount>({
  id: 'T13',
  title: 'on a full disk, writes are rejected and reads succeed; writes recover once there is space',
  stores: ['postgres'],
  tiers: { commit: { rounds: 1 }, nightly: { rounds: 10 }, release: { rounds: 100 } },
  run: async (arena, { rounds }) => {
    const disk = await makeSmallDisk(arena)
    const served = await arena.serve({ url: await disk.postgres.database('full') })
    const client = createClient(served.port, WRITERS + 2)
    arena.later(() => client.close())
    const ledger = openLedger()
    const counts = { full: 0, reads: 0, badReads: 0 }
    let slowest = 0
    let made = 0
    const create = async () => {
      const title = `record ${made++}`
      const answer = await client.ask({
        method: 'POST',
        path: RECORDS,
        body: { ...recordOf(title), code: arena.random.bytes(SIZE).toString('base64') },
      })
      note(ledger, title, answer)
      if (answer.status === 503) counts.full += 1
      return answer.status
    }
    const read = async () => {
      const { status } = await client.ask({ path: `${RECORDS}?page_size=5` })
      counts.reads += 1
      if (status !== 200) counts.badReads += 1
    }
    for (let round = 0; round < rounds; round++) {
      await Promise.all(Array.from({ length: WRITERS * 5 }, create))
      disk.fill()
      const end = Date.now() + 2_000
      const lane = async (work: () => Promise<unknown>) => {
        while (Date.now() < end) await work().then(() => delay(1))
      }
      await Promise.all([...Array.from({ length: WRITERS }, () => lane(create)), lane(read)])
      disk.free()
      const started = performance.now()
      while ((await create()) !== 201 && performance.now() - started < 30_000) await delay(5)
      slowest = Math.max(slowest, performance.now() - started)
    }
    await untilAnswered(served.port, RECORDS)
    const { lost, ghosts, twice } = judge(
      ledger,
      (await readAll(client)).map(({ title }) => title),
    )
    for (const text of new Set(ledger.wrong)) arena.say(text)
    return [
      atLeast(counts.full, 1, `${format(counts.full)} writes rejected`),
      atMost(ledger.wrong.length, 0, `${ledger.wrong.length} responses other than 201 or 503`),
      atMost(counts.badReads, 0, `${counts.badReads} of ${format(counts.reads)} reads failed`),
      atMost(
        lost.length + ghosts.length + twice.length,
        0,
        `${lost.length} of ${format(ledger.acknowledged.size)} acknowledged records lost`,
      ),
      arena.inTime(slowest, 1_000, `first write ${format(slowest)} ms after space was free`),
    ]
  },
})
