import { expect, test } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../src/http/connections/limits.js'
import { createSendBudget } from '../../../src/http/connections/send-budget.js'

const KB = 1024

test('responses wait in order of arrival, and only small ones go ahead', async () => {
  const budget = createSendBudget({ ...DEFAULT_LIMITS, sendBytes: 10_000 * KB })
  const admitted: string[] = []
  const reserve = (name: string, size: number) => {
    const waiting = budget.reserve(size)
    if (waiting === undefined) admitted.push(name)
    return waiting?.then(() => void admitted.push(name))
  }
  budget.hold(9000 * KB)
  const long = reserve('long', 2000 * KB)
  const shorter = reserve('shorter', 500 * KB)
  const small = reserve('small', 100 * KB)
  expect([admitted, small]).toEqual([['small'], undefined])
  budget.release(9000 * KB)
  await Promise.all([long, shorter])
  expect(admitted).toEqual(['small', 'long', 'shorter'])
})
