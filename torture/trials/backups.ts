import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runCli } from '../../test/support/cli.js'
import { createClient } from '../client.js'
import { copyService } from '../serve.js'
import { atMost, spell, trial } from '../trial.js'
import { judge, openLedger, readAll, write } from '../writers.js'

interface Amount {
  readonly backups: number
}

const WRITERS = 8

/** A backup is made while clients write; restored, it has everything that was acknowledged before it began. */
export const backups = trial<Amount>({
  id: 'T21',
  title: 'a backup that is made while clients write has all that was acknowledged before',
  stores: ['embedded'],
  tiers: { commit: { backups: 1 }, nightly: { backups: 20 }, release: { backups: 100 } },
  run: async (arena, { backups }) => {
    const folder = copyService(join(arena.folder, 'source'))
    const served = await arena.serve({ folder })
    const client = createClient(served.port, WRITERS)
    arena.later(() => client.close())
    const ledger = openLedger()
    let going = true
    let made = 0
    const writers = Array.from({ length: WRITERS }, () =>
      write(
        client,
        ledger,
        () => `record ${made++}`,
        () => going,
      ),
    )
    let lost = 0
    let needed = 0
    for (let at = 0; at < backups; at++) {
      await delay(500)
      const before = { ...openLedger(), acknowledged: new Map(ledger.acknowledged) }
      needed += before.acknowledged.size
      const file = join(arena.folder, `backup-${at}.tar.gz`)
      await command(['db', 'backup', file], folder)
      const restored = copyService(join(arena.folder, `restored-${at}`))
      await command(['db', 'restore', file], restored)
      const copy = await arena.serve({ folder: restored })
      const reader = createClient(copy.port, 1)
      lost += judge(
        before,
        (await readAll(reader)).map(({ title }) => title),
      ).lost.length
      reader.close()
      await copy.stop()
    }
    going = false
    await Promise.all(writers)
    return [
      atMost(lost, 0, `${lost} of ${spell(needed)} acknowledged records are missing in ${backups} restored backups`),
      atMost(ledger.wrong.length, 0, `${ledger.wrong.length} writes failed meanwhile`),
      atMost(served.complaints.length, 0, `${served.complaints.length} errors in the log`),
    ]
  },
})

async function command(args: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await runCli(args, { cwd })
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
}
