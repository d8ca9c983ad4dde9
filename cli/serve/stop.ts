import { setTimeout as delay } from 'node:timers/promises'
import type { CliContext, StopSignal } from '../context.js'
import type { ExitCode } from '../failure.js'
import { describeError, type Log } from './log/log.js'

/** The request to stop a server, by a signal, a crash or the end of the parent. */
export interface Stop {
  /** Resolves with the exit code once a stop is requested; never rejects. */
  readonly requested: Promise<ExitCode>
  readonly signal: AbortSignal
}

export interface StopOptions {
  readonly adminPort?: number
  readonly drainDelay?: number
}

/** Long enough for a load balancer that polls `/readyz` to notice the stop. */
const DEFAULT_DRAIN_DELAY_MS = 500

/** Milliseconds for which a stopping server still accepts requests, so that a load balancer can stop sending them first. */
export function drainDelayOf({ adminPort, drainDelay }: StopOptions): number {
  return drainDelay ?? (adminPort === undefined ? 0 : DEFAULT_DRAIN_DELAY_MS)
}

/** Waits for the drain delay, unless the server crashed. */
export async function keepServing(options: StopOptions, code: ExitCode): Promise<ExitCode> {
  if (code === 0) await delay(drainDelayOf(options))
  return code
}

/** The exit codes that shells report for processes ended by a signal. */
const SIGNAL_CODES: Readonly<Record<StopSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
/** The time for a server to stop, on top of the drain delay. Requests are cut well before. */
const STOP_TIMEOUT_MS = 15_000

/** Listens for signals and uncaught errors. The second signal ends the process at once. */
export function listenForStop(context: CliContext, options: StopOptions, log: Log): Stop {
  const abort = new AbortController()
  const requested = new Promise<ExitCode>((resolve) => {
    const end = (code: ExitCode) => {
      abort.abort()
      setTimeout(() => context.exit(1), STOP_TIMEOUT_MS + drainDelayOf(options)).unref()
      resolve(code)
    }
    context.onStop((signal) => {
      // A server without a terminal outlives the session that started it.
      if (signal === 'SIGHUP' && !context.err.terminal) return
      // A signal to the process group reaches workers twice: directly and through the parent, which does the logging.
      if (context.parent) return end(0)
      if (abort.signal.aborted) return context.exit(SIGNAL_CODES[signal])
      log.info({ event: 'stopping', signal, msg: `${signal}: finishing the running requests` })
      end(0)
    })
    context.parent?.onGone(() => {
      if (abort.signal.aborted) return
      log.warn({
        event: 'orphaned',
        msg: 'the parent process is gone: finishing the running requests',
      })
      end(0)
    })
    let hasCrashed = false
    context.onCrash((error) => {
      if (hasCrashed) return
      hasCrashed = true
      log.error({ event: 'crash', ...describeError(error) })
      if (!abort.signal.aborted) end(1)
    })
  })
  return { requested, signal: abort.signal }
}
