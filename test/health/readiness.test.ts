import { stat } from 'node:fs/promises'
import { expect, test } from '@jest/globals'
import { createReadiness } from '../../src/health/readiness.js'

function block(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

test('a blocked event loop is not reported as a database that does not respond', async () => {
  const lags = [0, 800]
  const readiness = createReadiness({
    // The response arrives while the event loop is blocked.
    database: { probe: async () => void (await stat('.')) },
    phase: () => 'serving',
    lag: () => lags.shift() ?? 0,
    unserved: () => [],
  })
  const asked = readiness()
  block(800)
  expect((await asked).problems).toEqual([{ check: 'event_loop', detail: 'the event loop is 800 ms late' }])
})
