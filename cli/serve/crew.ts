import { setTimeout as delay } from 'node:timers/promises'
import { type ExitCode, Failure, Finished } from '../failure.js'
import type { Log } from './log.js'
import type { LogEntry } from './log-entry.js'
import { count } from '../output.js'
import type { Listening } from './parent.js'
import type { CrewWatch } from './watch-crew.js'
import { type End, startWorker, type WorkerProcess } from './worker.js'

/** Milliseconds before a worker that ended is replaced; doubled each time that its place is left early. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000
/** A worker that lasted so long was no failure of its place. */
const STEADY = 30_000
/** So many workers in a row that end before they listen, with none left, are the end. */
const MOST_FAILURES = 5
/** Milliseconds that all workers together get to finish, besides their delay; above what each of them gives its requests. */
const PATIENCE = 12_000

/** The worker processes of a server: as many as it has places. */
export interface Crew {
  /**
   * Starts the first worker, and then the others at once, so that what is wrong with all of them is told by one.
   * @throws Finished or Failure when one ends before it listens
   */
  start(): Promise<Listening>
  /** Resolves with the exit code when workers only ever end. */
  readonly lost: Promise<ExitCode>
  /** Tells all workers, also those to come, that somebody has seen to the schema. */
  tellPrepared(): void
  /** Replaces each worker, one after the other, by one that listens; answers false when one did not, and the rest stay as they are. */
  replaceAll(): Promise<boolean>
  /**
   * Lets all workers finish.
   * @throws Failure 1 when some did not, and were ended
   */
  stop(): Promise<void>
  /** Ends all workers at once. */
  kill(): void
}

interface CrewOptions {
  /** The connections to the database that each place has. */
  readonly shares: readonly number[]
  readonly port: number
  readonly prepared: boolean
  readonly log: Log
  /** Milliseconds for which workers that are told to stop still take requests. */
  readonly drainDelay: number
  /** Who asks the workers how they are. */
  readonly watch: Pick<CrewWatch, 'add'> | undefined
}

interface Place {
  readonly connections: number
  worker: WorkerProcess | undefined
  /** Workers in a row that left early. */
  failures: number
}

/** Makes a crew by the set-up of the cluster; no worker is started yet. */
export function createCrew({ shares, port, prepared, log, watch, drainDelay }: CrewOptions): Crew {
  const places = shares.map((connections): Place => ({ connections, worker: undefined, failures: 0 }))
  const alive = new Set<WorkerProcess>()
  const over = new AbortController()
  const state = { started: false, prepared, failures: 0 }
  const address = rememberAddress(port)
  let giveUp = (_code: ExitCode): void => {}
  const lost = new Promise<ExitCode>((resolve) => (giveUp = resolve))
  const isServed = () => [...alive].some((worker) => worker.isServing())

  const hire = ({ connections }: Place): WorkerProcess => {
    const worker = startWorker(() => ({
      connections,
      port: address.port(isServed()),
      prepared: state.prepared,
      watched: watch !== undefined,
    }))
    alive.add(worker)
    watch?.add(worker)
    void worker.ended.then((end) => {
      alive.delete(worker)
      if (state.started && !over.signal.aborted && !worker.isRetired()) log.warn(endEntry(worker, end))
    })
    return worker
  }

  /** Puts a worker in its place, and another one when it leaves. */
  const employ = (place: Place, worker: WorkerProcess): void => {
    place.worker = worker
    void keep(place, worker)
  }

  const keep = async (place: Place, worker: WorkerProcess): Promise<void> => {
    const isOver = () => over.signal.aborted || place.worker !== worker
    const listening = await worker.listening
    const since = performance.now()
    if (listening) arrive(worker, listening)
    await worker.leaving
    if (isOver()) return
    if (!listening && !isServed()) countFailure(await worker.ended)
    place.failures = listening && performance.now() - since > STEADY ? 0 : place.failures + 1
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (place.failures - 1))
    await delay(pause, undefined, { signal: over.signal }).catch(() => {})
    if (!isOver()) employ(place, hire(place))
  }

  const arrive = (worker: WorkerProcess, { url }: Listening): void => {
    state.failures = 0
    if (!address.isSame(url)) worker.kill()
  }

  const countFailure = ({ code }: End): void => {
    state.failures += 1
    if (state.failures >= MOST_FAILURES) giveUp(code === 2 ? 2 : 1)
  }

  const startOne = async (place: Place): Promise<Listening> => {
    const worker = hire(place)
    const listening = await worker.listening
    if (listening === undefined) throw earlyEnd(worker, await worker.ended)
    employ(place, worker)
    return listening
  }

  const replace = async (place: Place): Promise<boolean> => {
    const worker = hire(place)
    if ((await worker.listening) === undefined) return false
    const old = place.worker
    employ(place, worker)
    old?.stop()
    await old?.ended
    return true
  }

  return {
    lost,
    start: async () => {
      const [first, ...others] = places
      if (first === undefined) throw new Error('a crew has no place')
      const listening = await startOne(first)
      await Promise.all(others.map(startOne))
      state.started = true
      return listening
    },
    tellPrepared: () => {
      state.prepared = true
      for (const worker of alive) worker.tellPrepared()
    },
    replaceAll: async () => {
      for (const place of places) if (over.signal.aborted || !(await replace(place))) return false
      return true
    },
    stop: async () => {
      over.abort()
      for (const worker of alive) worker.stop()
      const late = new AbortController()
      const overdue = delay(PATIENCE + drainDelay, undefined, { signal: late.signal }).catch(() => {})
      await Promise.race([overdue, Promise.all([...alive].map((worker) => worker.ended))])
      late.abort()
      if (alive.size === 0) return
      for (const worker of alive) worker.kill()
      throw new Failure(1, `${count(alive.size, 'worker')} did not finish in time and had to be ended`)
    },
    kill: () => {
      for (const worker of alive) worker.kill()
    },
  }
}

/**
 * The port that workers ask for. They share one socket because they ask for the same: 0, if any free one is wanted. When the
 * last of them has left, the socket is closed, and only its number leads back to the address that was announced.
 */
function rememberAddress(wanted: number) {
  let asked = wanted
  let known: string | undefined
  return {
    port: (isServed: boolean): number => {
      if (known !== undefined && !isServed) asked = Number(new URL(known).port || 80)
      return asked
    },
    isSame: (url: string): boolean => (known ??= url) === url,
  }
}

function describe({ code, signal }: End): string {
  return signal === null ? `with code ${code}` : `by ${signal}`
}

function endEntry({ about }: WorkerProcess, end: End): LogEntry {
  return { event: 'worker_ended', ...about, ...end, msg: `worker ${about.worker} ended ${describe(end)}` }
}

/** The worker itself has printed why it could not run. */
function earlyEnd({ about }: WorkerProcess, end: End): Error {
  if (end.code === 2) return new Finished(2)
  return new Failure(2, `worker ${about.worker} ended ${describe(end)} before it listened`)
}
