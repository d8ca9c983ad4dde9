import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { closedLoop, mixedQuestions } from '../load.js'
import { findTool } from '../tools.js'
import { atMost, format, trial } from '../trial.js'

interface Amount {
  readonly seconds: number
}

const STEPS = ['+1h', '-1h', '+0']
const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'

/** The clock of the machine jumps by an hour, forth and back, under load. */
export const clock = trial<Amount>({
  id: 'T19',
  title: 'no request fails when the clock jumps by an hour',
  stores: ['postgres'],
  tiers: { commit: 'left to the nightly tier', nightly: { seconds: 120 }, release: { seconds: 600 } },
  run: async (arena, { seconds }) => {
    findTool('faketime', arena.tier)
    const file = join(arena.folder, 'clock')
    const set = (step: string) => {
      writeFileSync(file, `${step}\n`)
      utimesSync(file, new Date(), new Date())
    }
    set('+0')
    const served = await arena.serve({
      env: {
        LD_PRELOAD: LIBRARY,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    })
    const questions = mixedQuestions(arena.random)
    let failed = 0
    let sent = 0
    for (let at = 0; at < STEPS.length * 2; at++) {
      set(STEPS[at % STEPS.length] ?? '+0')
      const report = await closedLoop({ port: served.port, seconds: seconds / STEPS.length / 2, ...questions }, 16)
      sent += report.sent
      failed += report.rejections.length + Object.values(report.failures).reduce((sum, count) => sum + count, 0)
    }
    const { loop } = await served.read()
    return [
      atMost(failed, 0, `${failed} of ${format(sent)} failed`),
      arena.inTime(loop.max, 500, `the event loop was blocked for ${format(loop.max)} ms at most`),
      atMost(served.complaints.length, 0, `${served.complaints.length} errors in the log`),
    ]
  },
})
