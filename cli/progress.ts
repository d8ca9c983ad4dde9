import type { CliContext } from './context.js'

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
const WIDTH = 30
const CLEAR = '\r\u001b[K'

/** Shows a progress bar on stderr for long work, if stderr is a terminal. */
export function createProgress({ err }: CliContext, total: number): Progress {
  let shownAt = performance.now() - REDRAW_INTERVAL_MS + SHOW_AFTER_MS
  let shown = false
  const draw = (text: string) => err.lossy.write(`${CLEAR}${text}`)
  return {
    at(done, detail) {
      const now = performance.now()
      if (!err.terminal || now - shownAt < REDRAW_INTERVAL_MS) return
      shownAt = now
      shown = true
      const part = total === 0 ? 1 : Math.min(1, done / total)
      const full = Math.round(part * WIDTH)
      draw(`[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${Math.floor(part * 100)} %  ${detail}`)
    },
    end() {
      if (shown) draw('')
    },
  }
}

/** A progress bar for work whose parts cannot be counted. */
export interface Stages {
  /** Enters the next stage. */
  next(stage: string): void
  /** Removes the bar. */
  end(): void
}

const TICK_MS = 1_000

/** Shows on stderr which of several stages long work is in, and for how long, if stderr is a terminal. */
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
