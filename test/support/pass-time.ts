import { setImmediate as turn } from 'node:timers/promises'
import { jest } from '@jest/globals'

/** A turn of the event loop comes after so many ms of fake time. */
const STEP = 50

/**
 * Lets `milliseconds` of fake time pass while immediates are real. After each step comes a turn of the real event loop, in which
 * the process reads what has arrived, and does what its timers left for immediates.
 */
export async function passTime(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= STEP) {
    jest.advanceTimersByTime(Math.min(STEP, left))
    await turn()
  }
}
