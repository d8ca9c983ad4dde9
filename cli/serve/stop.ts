import { setTimeout as delay } from 'node:timers/promises'
import type { CliContext, StopSignal } from '../context.js'
import type { ExitCode } from '../failure.js'
import { describeError, type Log } from './log.js'

/** The wish to end a server, whoever has it. */
export interface Stop {
  /** Resolves with the exit code once someone wishes it; never rejects. */
  readonly requested: Promise<ExitCode>
  readonly signal: AbortSignal
}

/** How a server is told to stop, as far as it can be chosen. */
export interface StopOptions {
  readonly adminPort?: number
  readonly drainDelay?: number
}

/** Milliseconds in which whoever asks an admin port learns that it stops. */
const CUSTOMARY_DELAY = 500

/** Milliseconds for which a server that stops still takes requests, so that a balancer sends them elsewhere before it takes none. */
export function drainDelayOf({ adminPort, drainDelay }: StopOptions): number {
  return drainDelay ?? (adminPort === undefined ? 0 : CUSTOMARY_DELAY)
}

/** Lets that time pass, unless the server stops because it crashed. */
export async function keepServing(options: StopOptions, code: ExitCode): Promise<ExitCode> {
  if (code === 0) await delay(drainDelayOf(options))
  return code
}

/** What a shell reports for a process that a signal ended. */
const CUT_SHORT: Readonly<Record<StopSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
/** Milliseconds a server may take to end, besides the delay; the requests themselves are cut well before. */
const LIMIT = 15_000

/** Listens for signals and for errors that nobody caught. The second signal ends the process at once. */
export function listenForStop(context: CliContext, options: StopOptions, log: Log): Stop {
  const abort = new AbortController()
  const requested = new Promise<ExitCode>((resolve) => {
    const end = (code: ExitCode) => {
      abort.abort()
      setTimeout(() => context.exit(1), LIMIT + drainDelayOf(options)).unref()
      resolve(code)
    }
    context.onStop((signal) => {
      // A server without a terminal outlives the session that started it.
      if (signal === 'SIGHUP' && !context.err.terminal) return
      // Whoever signals a whole group reaches workers too, and their parent then tells them once more; it speaks for them.
      if (context.parent) return end(0)
      if (abort.signal.aborted) return context.exit(CUT_SHORT[signal])
      log.info({ event: 'stopping', signal, msg: `${signal}: finishing the requests under way` })
      end(0)
    })
    context.parent?.onGone(() => {
      if (abort.signal.aborted) return
      log.warn({
        event: 'orphaned',
        msg: 'the process that started this worker is gone: finishing the requests under way',
      })
      end(0)
    })
    context.onCrash((error) => {
      if (abort.signal.aborted) return
      log.error({ event: 'crash', ...describeError(error) })
      end(1)
    })
  })
  return { requested, signal: abort.signal }
}
