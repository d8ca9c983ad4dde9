import process from 'node:process'
import { cutToWidth, displayWidth } from '../src/internal.js'
import type { CliContext } from './context.js'
import { count } from './output.js'

/** A progress bar at a terminal. */
export interface Progress {
  /** Sets the progress; `detail` is printed next to the bar. */
  at(done: number, detail: string): void
  /** Removes the bar. */
  end(): void
}

/** Short work shows no bar. */
const SHOW_AFTER_MS = 2_000
const REDRAW_INTERVAL_MS = 100
const MAX_BAR = 30
const CLEAR = '\r\u001b[K'

/** Shows a progress bar on stderr for long work, if stderr is a terminal that can replace its last line. */
export function createProgress({ err, env }: CliContext, total: number): Progress {
  let shownAt = performance.now() - REDRAW_INTERVAL_MS + SHOW_AFTER_MS
  let shown = false
  const draw = (text: string) => err.lossy.write(`${CLEAR}${text}`)
  const end = () => {
    if (shown) draw('')
    process.off('exit', end)
  }
  process.on('exit', end)
  return {
    at(done, detail) {
      const now = performance.now()
      if (!err.terminal || env['TERM'] === 'dumb' || now - shownAt < REDRAW_INTERVAL_MS) return
      shownAt = now
      shown = true
      draw(barOf(total === 0 ? 1 : Math.min(1, done / total), detail, err.width))
    },
    end,
  }
}

/** Cuts the bar to one line, because only the last of several lines can be cleared. */
function barOf(fraction: number, detail: string, width: number): string {
  const length = Math.min(MAX_BAR, Math.floor(width / 4))
  const full = Math.round(fraction * length)
  const text = `[${'#'.repeat(full)}${'.'.repeat(length - full)}] ${Math.floor(fraction * 100)} %  ${detail}`
  return displayWidth(text) < width ? text : `${cutToWidth(text, width - 2)}…`
}

/**
 * Describes work that writes records: their number, the number per second, and the time that is left at this speed.
 * @param total the final value of `done`
 */
export function createRateText(total: number): (done: number, records: number) => string {
  const started = performance.now()
  return (done, records) => {
    const seconds = (performance.now() - started) / 1_000
    const written = count(records, 'record')
    if (records === 0 || done === 0) return written
    const left = Math.ceil((seconds * (total - done)) / done)
    return `${written}, ${Math.round(records / seconds)}/s, ${left < 60 ? `${left} s` : `${Math.ceil(left / 60)} min`} left`
  }
}

/** A progress bar for work whose parts cannot be counted. */
export interface Stages {
  /** Starts the next stage. */
  next(stage: string): void
  /** Removes the bar. */
  end(): void
}

const TICK_MS = 1_000

/** Shows the current stage of long work and its duration on stderr, if stderr is a terminal. */
export function createStages(context: CliContext, total: number): Stages {
  const progress = createProgress(context, total)
  let entered = 0
  let stage = ''
  let since = performance.now()
  const draw = () => progress.at(entered - 1, `${stage}, ${Math.floor((performance.now() - since) / 1_000)} s`)
  const timer = setInterval(draw, TICK_MS).unref()
  return {
    next(name) {
      entered += 1
      stage = name
      since = performance.now()
      draw()
    },
    end() {
      clearInterval(timer)
      progress.end()
    },
  }
}
