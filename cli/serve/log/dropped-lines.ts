import type { CliContext } from '../../context.js'
import type { Log } from './log.js'
import { count } from '../../output.js'

/**
 * Keeps the server running when stdout is closed or read too slowly, and reports dropped log lines. The returned function reports at the
 * end how many lines were dropped after stdout was closed.
 */
export function reportDroppedLines(context: CliContext, log: Log): () => void {
  const { out, err } = context
  const state = { gone: false }
  context.onUnwritable(({ code, message }) => {
    if (state.gone) return
    state.gone = true
    const reason = code === 'EPIPE' ? 'stdout was closed' : `stdout cannot be written to (${message})`
    err.line(`${err.colors.yellow('warning:')} ${reason}: the server keeps running, and its log is dropped`)
  })
  out.lossy.onDrain((dropped) => {
    log.warn({
      event: 'log_lost',
      lines: dropped,
      msg: `dropped ${count(dropped, 'log line')}: stdout was read too slowly`,
    })
  })
  return () => {
    // Lines in the buffer of the closed stream are not counted.
    const dropped = `dropped at least ${count(out.lossy.dropped(), 'log line')}`
    if (state.gone) err.line(`${err.colors.yellow('warning:')} ${dropped}`)
  }
}
