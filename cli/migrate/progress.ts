import type { CliContext } from '../context.js'

/** How far a long work is, at a terminal. */
export interface Progress {
  /** Of all that there is to do; `detail` is said beside it. */
  at(done: number, detail: string): void
  /** Takes it away. */
  end(): void
}

/** Milliseconds before anything is shown, and between two changes of it. */
const PATIENCE = 2_000
const PAUSE = 100
const WIDTH = 30
const CLEAR = '\r\u001b[K'

/** A bar on stderr for work that takes long; nothing where stderr is no terminal. */
export function createProgress({ err }: CliContext, total: number): Progress {
  let shownAt = performance.now() - PAUSE + PATIENCE
  let shown = false
  const draw = (text: string) => err.lossy.write(`${CLEAR}${text}`)
  return {
    at(done, detail) {
      const now = performance.now()
      if (!err.terminal || now - shownAt < PAUSE) return
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
