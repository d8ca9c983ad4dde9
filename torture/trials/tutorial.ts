import { runJest } from '../jest.js'
import { atLeast, atMost, format, trial } from '../trial.js'

interface Amount {
  readonly times: number
}

/** Runs the commands of the tutorial as written. */
export const tutorial = trial<Amount>({
  id: 'T18',
  title: 'every command and request of the tutorial works every time',
  stores: ['embedded'],
  tiers: { commit: 'the suite runs it once, and runs before', nightly: { times: 50 }, release: { times: 50 } },
  run: async (arena, { times }) => {
    const failed: string[] = []
    let passed = 0
    for (let time = 0; time < times; time++) {
      const env = { SNIPPETCTL_TEST_DB: 'embedded' }
      const suite = await runJest(arena, { files: ['test/docs/docs-commands'], env, name: 'tutorial' })
      passed += suite.passed
      failed.push(...suite.failed)
    }
    for (const name of new Set(failed)) arena.say(name)
    return [
      atMost(failed.length, 0, `${failed.length} tests failed in ${format(times)} times`),
      atLeast(passed, times, `${format(passed)} passed`),
    ]
  },
})
