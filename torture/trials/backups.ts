import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runCli } from '../../test/support/cli.js'
import { createClient } from '../client.js'
import { copyService } from '../serve.js'
import { atLeast, atMost, format, trial } from '../trial.js'
import { judge, openLedger, readAll, write } from '../writers.js'

interface Amount {
  readonly backups: number
}

const WRITERS = 8
/** Milliseconds until the first write is acknowledged. */
const PATIENCE = 30_000

/** A backup is made while clients write; restored, it has everything that was acknowledged before it began. */
export const backups = trial<Amount>({
  id: 'T21',
  title: 'a backup made while clients write contains every record acknowledged before',
  stores: ['embedded'],
  tiers: { commit: { backups: 1 }, nightly: { backups: 20 }, release: { backups: 100 } },
  run: async (arena, { backups }) => {
    const folder = copyService(join(arena.folder, 'source'))
    const served = await arena.serve({ folder })
    const client = createClient(served.port, WRITERS)
    arena.later(() => client.close())
    const ledger = openLedger()
    let made = 0
    const title = () => `record ${made++}`
    const writers = (going: () => boolean) => Array.from({ length: WRITERS }, () => write(client, ledger, title, going))
    let lost = 0
    let needed = 0
    for (let at = 0; at < backups; at++) {
      const file = join(arena.folder, `backup-${at}.tar.gz`)
      const before = await beside(writers, async () => {
        const known = ledger.acknowledged.size
        await delay(500)
        // On a busy machine, the first write may take longer.
        for (const end = Date.now() + PATIENCE; ledger.acknowledged.size === known && Date.now() < end; )
          await delay(20)
        const acknowledged = new Map(ledger.acknowledged)
        await command(['db', 'backup', file], folder)
        return { ...openLedger(), acknowledged }
      })
      needed += before.acknowledged.size
      // No client writes here: later records would only enlarge the next backup.
      const restored = copyService(join(arena.folder, `restored-${at}`))
      await command(['db', 'restore', file], restored)
      const copy = await arena.serve({ folder: restored })
      const reader = createClient(copy.port, 1)
      const titles = (await readAll(reader)).map(({ title }) => title)
      lost += judge(before, titles).lost.length
      reader.close()
      await copy.stop()
    }
    return [
      atMost(lost, 0, `${lost} of ${format(needed)} acknowledged records are missing in ${backups} restored backups`),
      atLeast(needed, 1, `${format(needed)} acknowledged before a backup`),
      atMost(ledger.wrong.length, 0, `${ledger.wrong.length} writes failed during backups`),
      atMost(served.complaints.length, 0, `${served.complaints.length} errors in the log`),
    ]
  },
})

/** Does some work while others go on, who end when it is done. */
async function beside<Result>(
  others: (going: () => boolean) => readonly Promise<void>[],
  work: () => Promise<Result>,
): Promise<Result> {
  let going = true
  const underway = others(() => going)
  try {
    return await work()
  } finally {
    going = false
    await Promise.all(underway)
  }
}

async function command(args: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await runCli(args, { cwd })
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
}
