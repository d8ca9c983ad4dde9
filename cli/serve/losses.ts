import type { CliContext } from '../context.js'
import type { Log } from './log.js'
import { count } from '../output.js'

/**
 * Lets a server go on when nobody reads its log, or too slowly: says so, once it happens. The function that it returns says
 * at the end how many lines were lost because the reader had gone.
 */
export function reportLosses(context: CliContext, log: Log): () => void {
  const { out, err } = context
  const state = { gone: false }
  context.onUnwritable(({ code, message }) => {
    if (state.gone) return
    state.gone = true
    const reason = code === 'EPIPE' ? 'nobody reads stdout any more' : `stdout cannot be written to (${message})`
    err.line(`${err.colors.yellow('warning:')} ${reason}: the server goes on, and what it logs is lost`)
  })
  out.offer.onFlow((lost) => {
    log.warn({
      event: 'log_lost',
      lines: lost,
      msg: `${count(lost, 'line')} of the log lost: its reader was too slow`,
    })
  })
  return () => {
    // What had been written when the reader went is not among them.
    const lost = `at least ${count(out.offer.lost(), 'line')} of the log lost`
    if (state.gone) err.line(`${err.colors.yellow('warning:')} ${lost}`)
  }
}
