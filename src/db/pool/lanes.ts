import type pg from 'pg'
import { createAdmission } from './admission.js'
import { type Answer, CellQuery, type Sending } from '../driver/cell-query.js'
import type { Statement } from '../database.js'
import { cutStream } from '../driver/cancel.js'
import { isBroken } from '../driver/errors.js'
import { SILENCE } from '../driver/outcome.js'
import { RowClient } from '../driver/row-messages.js'

/** Connections on which quick reads follow each other without waiting for answers. */
export interface Lanes {
  /**
   * @throws LaneStalled when the statement waits behind one that is not quick, and the driver's error; the statement only reads, so
   * that it may be sent once more; Problem `unavailable` when too many are on their way
   */
  query(statement: Statement): Promise<TimedAnswer>
  /** Whether an answer came since a moment of the process's clock. */
  hasAnsweredSince(time: number): boolean
  /** How many there are, the statements on their way, and those that were refused. */
  usage(): { readonly lanes: number; readonly laneStatements: number; readonly refused: number }
  close(): Promise<void>
}

export interface TimedAnswer extends Answer {
  /** Milliseconds that others had to wait for this statement. */
  readonly time: number
}

export interface LanesOptions {
  readonly client: pg.ClientConfig
  /** At most; one more is opened only when all are in use. */
  readonly most: number
  /** Prepares a new connection. */
  readonly prepare: (client: pg.ClientBase) => Promise<void>
  readonly sending: Sending
}

/** Another statement holds the lane up. */
export class LaneStalled extends Error {
  override name = 'LaneStalled'
  /** Whether the statement had a place in a lane. */
  readonly waited: boolean

  constructor(message: string, waited: boolean) {
    super(message)
    this.waited = waited
  }
}

/** A statement without its answer. */
interface Pending {
  readonly query: CellQuery
  readonly sent: number
  readonly giveUp: () => void
  /** How often it was found to be the next that is answered. */
  looks: number
}

interface Lane {
  readonly client: pg.Client
  readonly ready: Promise<unknown>
  readonly pending: Set<Pending>
  /** Statements on their way to this lane, those without a connection yet too. */
  waiting: number
  /** When the last answer came. */
  answered: number
  /** Its first statement is not quick; nobody else is sent behind it. */
  stalled: boolean
}

/** A statement may hold up those behind it for so many looks, in milliseconds between them. By the clock alone, a busy process would be to blame. */
const LOOKS = 5
const BETWEEN = 50

/**
 * Several statements on the way at once cost both sides far fewer system calls than one at a time. The price is that a
 * statement waits for those before it, so only reads that an index answers belong here; should one take long after all, those behind
 * it are given back.
 */
export function openLanes({ client: config, most, prepare, sending: common }: LanesOptions): Lanes {
  const sending = { ...common, gather: true }
  const lanes = new Set<Lane>()
  const line = createAdmission(most)
  let watch: NodeJS.Timeout | undefined

  function open(): Lane {
    const client = new RowClient({ ...config, pipeline: true })
    const ready = client.connect().then(() => prepare(client))
    const lane: Lane = { client, ready, pending: new Set(), waiting: 0, answered: 0, stalled: false }
    lanes.add(lane)
    // Without a listener a dropped connection would end the process.
    client.on('error', () => discard(lane))
    client.on('end', () => lanes.delete(lane))
    // Whoever waits for the lane is told; nobody may be waiting any more.
    ready.catch(() => discard(lane))
    return lane
  }

  function discard(lane: Lane): void {
    lanes.delete(lane)
    lane.client.end().catch(() => undefined)
  }

  function choose(): Lane | undefined {
    let idlest: Lane | undefined
    for (const lane of lanes) if (!lane.stalled && (!idlest || lane.waiting < idlest.waiting)) idlest = lane
    return lanes.size < most && idlest?.waiting !== 0 ? open() : idlest
  }

  function look(): void {
    let busy = false
    for (const lane of lanes) {
      const [first, ...behind] = lane.pending
      if (!first) continue
      busy = true
      if (isLost(first)) setImmediate(cutIfLost, lane, first)
      first.looks += 1
      if (first.looks < LOOKS) continue
      lane.stalled = true
      for (const pending of behind) pending.giveUp()
    }
    if (busy) return
    clearInterval(watch)
    watch = undefined
  }

  function isLost({ sent }: Pending): boolean {
    return sending.patience !== undefined && performance.now() - sent >= sending.patience
  }

  /** A process that was suspended runs its timers before it reads the answers that have arrived, hence the second look. */
  function cutIfLost(lane: Lane, first: Pending): void {
    if (!lane.pending.has(first)) return
    first.query.callback(new Error(SILENCE), first.query.answer)
    cutStream(lane.client)
  }

  function ask(lane: Lane, statement: Statement): Promise<TimedAnswer> {
    watch ??= setInterval(look, BETWEEN).unref()
    return new Promise((resolve, reject) => {
      const sent = performance.now()
      const query = new CellQuery(statement, sending, (error, answer) => {
        lane.pending.delete(pending)
        lane.stalled &&= lane.pending.size > 0
        const since = Math.max(sent, lane.answered)
        lane.answered = performance.now()
        if (error) reject(error)
        else resolve({ ...answer, time: lane.answered - since })
      })
      const giveUp = () => reject(new LaneStalled('a statement before it takes long', true))
      const pending: Pending = { query, sent, giveUp, looks: 0 }
      lane.pending.add(pending)
      lane.client.query(query)
    })
  }

  return {
    async query(statement) {
      const lane = choose()
      if (!lane) throw new LaneStalled('every lane is held up', false)
      if (statement.follows) line.push()
      else line.enter()
      lane.waiting += 1
      try {
        await lane.ready
        return await ask(lane, statement)
      } catch (error) {
        if (!(error instanceof LaneStalled) && isBroken(error)) discard(lane)
        throw error
      } finally {
        lane.waiting -= 1
        line.leave()
      }
    },
    hasAnsweredSince: (time) => [...lanes].some(({ answered }) => answered > time),
    usage: () => ({
      lanes: lanes.size,
      refused: line.refused(),
      laneStatements: [...lanes].reduce((sum, { waiting }) => sum + waiting, 0),
    }),
    close: async () => {
      clearInterval(watch)
      await Promise.all([...lanes].map(({ client }) => client.end().catch(() => undefined)))
    },
  }
}
