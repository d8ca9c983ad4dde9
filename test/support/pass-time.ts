import { setImmediate as turn } from 'node:timers/promises'
import { jest } from '@jest/globals'

/** The fake time between two turns of the event loop, in ms. */
const STEP = 50

/**
 * Lets `milliseconds` of fake time pass while immediates are real. After each step, the real event loop turns once: the process reads
 * data that has arrived, and runs the immediates of its timers.
 */
export async function passTime(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= STEP) {
    jest.advanceTimersByTime(Math.min(STEP, left))
    await turn()
  }
}
