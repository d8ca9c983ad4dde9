import { setTimeout as delay } from 'node:timers/promises'
import { endsWithin } from '../../../src/internal.js'
import { type ExitCode, Failure, Finished } from '../../failure.js'
import type { Log } from '../log/log.js'
import type { LogEntry } from '../log/log-entry.js'
import { count } from '../../output.js'
import type { Listening } from './parent.js'
import type { WorkerWatch } from './watch-workers.js'
import { type End, startWorker, type WorkerProcess } from './worker.js'

/** The delay before an ended worker is replaced. It doubles with each early end in the same slot. */
const MIN_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 10_000
/** A worker that served this long does not count as an early end. */
const STEADY_MS = 30_000
/** The server gives up after this many workers in a row that ended before they listened, with no other worker left. */
const MAX_FAILURES = 5
/** The time for a worker that replaces another to listen. */
const LISTEN_TIMEOUT_MS = 60_000
/** The time for all workers to finish, on top of the drain delay. It exceeds the time that each worker gives its requests. */
const STOP_TIMEOUT_MS = 12_000

/** The worker processes of a server, one in each slot. */
export interface WorkerPool {
  /**
   * Starts the first worker, and then all others at once, so that an error that they share is printed only once.
   * @throws Finished or Failure if a worker ends before it listens
   */
  start(): Promise<Listening>
  /** Resolves with the exit code when the server gives up on starting workers. */
  readonly lost: Promise<ExitCode>
  /** Tells all present and future workers that the schema is ready. */
  tellPrepared(): void
  /**
   * Replaces the workers one by one by workers that serve the current files, and kills those that do not finish in time. If the
   * files change meanwhile, starts over once.
   * @throws Error if a new worker does not listen, or the files change again; the other workers are kept
   */
  replaceAll(): Promise<void>
  /**
   * Stops all workers and waits until they have finished their requests.
   * @throws Failure 1 if some had to be killed
   */
  stop(): Promise<void>
  /** Kills all workers. */
  kill(): void
}

interface WorkerPoolOptions {
  /** The number of database connections of each slot. */
  readonly poolSizes: readonly number[]
  readonly port: number
  readonly prepared: boolean
  readonly log: Log
  /** Milliseconds for which stopping workers still accept requests. */
  readonly drainDelay: number
  /** Collects readiness and metrics from the workers. */
  readonly watch: Pick<WorkerWatch, 'add'> | undefined
}

interface Slot {
  readonly connections: number
  worker: WorkerProcess | undefined
  /** The number of workers in a row that ended early. */
  failures: number
}

/** Creates a pool with the settings of `cluster.setupPrimary`. It starts no worker yet. */
export function createWorkerPool({ poolSizes, port, prepared, log, watch, drainDelay }: WorkerPoolOptions): WorkerPool {
  const slots = poolSizes.map((connections): Slot => ({ connections, worker: undefined, failures: 0 }))
  const alive = new Set<WorkerProcess>()
  const over = new AbortController()
  const state = { started: false, prepared, failures: 0 }
  const address = rememberAddress(port)
  let resolveLost = (_code: ExitCode): void => {}
  const lost = new Promise<ExitCode>((resolve) => (resolveLost = resolve))
  const isServed = () => [...alive].some((worker) => worker.isServing())

  /** The versions of the files that workers serve now. The files may have changed, and a worker that replaces a lost one adds no version. */
  const servedFiles = () => [...new Set([...alive].flatMap((worker) => worker.servedFiles() ?? []))]

  const spawn = ({ connections }: Slot, served = servedFiles): WorkerProcess => {
    const options = () => ({
      connections,
      port: address.port(isServed()),
      prepared: state.prepared,
      watched: watch !== undefined,
      served: served(),
      started: state.started,
    })
    const worker = startWorker({ options, isServed })
    alive.add(worker)
    watch?.add(worker)
    void worker.ended.then((end) => {
      alive.delete(worker)
      if (state.started && !over.signal.aborted && !worker.isRetired()) log.warn(endEntry(worker, end))
    })
    return worker
  }

  /** Puts a worker into a slot, and replaces it when it ends. */
  const assign = (slot: Slot, worker: WorkerProcess): void => {
    slot.worker = worker
    void keepFilled(slot, worker)
  }

  const keepFilled = async (slot: Slot, worker: WorkerProcess): Promise<void> => {
    const isOver = () => over.signal.aborted || slot.worker !== worker
    const listening = await worker.listening
    const since = performance.now()
    if (listening) noteListening(worker, listening)
    await worker.leaving
    if (isOver()) return
    if (!listening && !isServed()) countFailure(await worker.ended)
    slot.failures = listening && performance.now() - since > STEADY_MS ? 0 : slot.failures + 1
    const restartDelay = Math.min(MAX_RESTART_DELAY_MS, MIN_RESTART_DELAY_MS * 2 ** (slot.failures - 1))
    await delay(restartDelay, undefined, { signal: over.signal }).catch(() => {})
    if (!isOver()) assign(slot, spawn(slot))
  }

  const noteListening = (worker: WorkerProcess, { url }: Listening): void => {
    state.failures = 0
    if (!address.isSame(url)) worker.kill()
  }

  const countFailure = ({ code }: End): void => {
    state.failures += 1
    if (state.failures >= MAX_FAILURES) resolveLost(code === 2 ? 2 : 1)
  }

  const startOne = async (slot: Slot): Promise<Listening> => {
    const worker = spawn(slot)
    const listening = await worker.listening
    if (listening === undefined) throw earlyEnd(worker, await worker.ended)
    assign(slot, worker)
    return listening
  }

  /** Replaces the worker of a slot by one that serves the current files, and returns their digest. */
  const replace = async (slot: Slot): Promise<string | undefined> => {
    const worker = spawn(slot, () => [])
    const listens = await endsWithin(worker.listening, LISTEN_TIMEOUT_MS)
    if (!listens) worker.kill()
    const listening = listens ? await worker.listening : undefined
    if (listening === undefined)
      throw new Failure(1, listens ? 'a new worker ended before it listened' : 'a new worker did not listen in time')
    const files = worker.servedFiles()
    const old = slot.worker
    assign(slot, worker)
    if (old) await retire(old, { log, drainDelay })
    return files
  }

  const replaceAll = async (): Promise<void> => {
    const replaced = new Set<Slot>()
    let latest: string | undefined
    const isLatest = (slot: Slot) => replaced.has(slot) && slot.worker?.servedFiles() === latest
    try {
      for (const slot of [...slots, ...slots]) {
        if (over.signal.aborted) throw new Failure(1, 'the server stops')
        if (isLatest(slot)) continue
        latest = await replace(slot)
        replaced.add(slot)
      }
      if (!slots.every(isLatest)) throw new Failure(1, 'the files changed again meanwhile')
    } catch (cause) {
      const versions = servedFiles().length
      const mixed = versions > 1 ? `, so ${versions} versions of the files are served until the next SIGUSR2` : ''
      const told = `replaced ${replaced.size} of ${count(slots.length, 'worker')}${mixed}`
      throw new Failure(1, `${(cause as Error).message}; ${told}`, [], cause)
    }
  }

  return {
    lost,
    start: async () => {
      const [first, ...others] = slots
      if (first === undefined) throw new Error('at least one worker is required')
      const listening = await startOne(first)
      await Promise.all(others.map(startOne))
      state.started = true
      return listening
    },
    tellPrepared: () => {
      state.prepared = true
      for (const worker of alive) worker.tellPrepared()
    },
    replaceAll,
    stop: async () => {
      over.abort()
      for (const worker of alive) worker.stop()
      const ends = Promise.all([...alive].map((worker) => worker.ended))
      if (await endsWithin(ends, STOP_TIMEOUT_MS + drainDelay)) return
      for (const worker of alive) worker.kill()
      throw new Failure(1, `${count(alive.size, 'worker')} did not finish in time and had to be killed`)
    },
    kill: () => {
      for (const worker of alive) worker.kill()
    },
  }
}

/** Stops a worker; one whose event loop is blocked ends only when it is killed. */
async function retire(
  worker: WorkerProcess,
  { log, drainDelay }: Pick<WorkerPoolOptions, 'log' | 'drainDelay'>,
): Promise<void> {
  worker.stop()
  if (await endsWithin(worker.ended, STOP_TIMEOUT_MS + drainDelay)) return
  const { about } = worker
  log.warn({ event: 'worker_killed', ...about, msg: `worker ${about.worker} did not finish in time and was killed` })
  worker.kill()
  await worker.ended
}

/**
 * Chooses the port for the next worker. Workers share one socket because they all ask for the same port, which may be 0. Once the last
 * worker has ended, that socket is closed, so the next worker asks for the announced port by its number.
 */
function rememberAddress(wanted: number) {
  let requested = wanted
  let known: string | undefined
  return {
    port: (isServed: boolean): number => {
      if (known !== undefined && !isServed) requested = Number(new URL(known).port || 80)
      return requested
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

/** The worker has already printed why it could not run. */
function earlyEnd({ about }: WorkerProcess, end: End): Error {
  if (end.code === 2) return new Finished(2)
  return new Failure(2, `worker ${about.worker} ended ${describe(end)} before it listened`)
}
