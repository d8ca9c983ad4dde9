import { closedLoop, mixedQuestions } from '../load.js'
import { format, trial } from '../trial.js'

interface Amount {
  readonly seconds: number
}

const CONNECTIONS = 32

/** Under load, nothing blocks the event loop. */
export const loopDelay = trial<Amount>({
  id: 'T22',
  title: 'load does not block the event loop',
  stores: ['postgres'],
  alone: true,
  tiers: { commit: { seconds: 6 }, nightly: { seconds: 60 }, release: { seconds: 600 } },
  run: async (arena, { seconds }) => {
    const served = await arena.serve()
    const questions = mixedQuestions(arena.random)
    await closedLoop({ port: served.port, seconds: 3, ...questions }, CONNECTIONS)
    await served.read()
    const { rate } = await closedLoop({ port: served.port, seconds, ...questions }, CONNECTIONS)
    const { p99, max } = (await served.read()).loop
    return [
      arena.inTime(p99, 20, `p99 ${format(p99)} ms at ${format(rate)} responses a second`),
      arena.inTime(max, 100, `at most ${format(max)} ms`),
    ]
  },
})
