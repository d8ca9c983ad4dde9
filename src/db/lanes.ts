import pg from 'pg'
import type { Statement } from './database.js'
import { isBroken } from './errors.js'
import type { Answer, Sending } from './cell-query.js'
import { send } from './send.js'

/** Connections on which quick reads follow each other without waiting for answers. */
export interface Lanes {
  /** @throws the driver's error */
  query(statement: Statement): Promise<TimedAnswer>
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

interface Lane {
  readonly client: pg.Client
  readonly ready: Promise<unknown>
  /** Statements that wait for an answer. */
  waiting: number
  /** When the last answer came. */
  answered: number
}

/**
 * Several statements on the way at once cost both sides far fewer system calls than one at a time. The price is that a
 * statement waits for those before it, so only reads that an index answers belong here.
 */
export function openLanes({ client: config, most, prepare, sending: common }: LanesOptions): Lanes {
  const sending = { ...common, gather: true }
  const lanes = new Set<Lane>()

  function open(): Lane {
    const client = new pg.Client({ ...config, pipeline: true })
    const lane: Lane = { client, ready: client.connect().then(() => prepare(client)), waiting: 0, answered: 0 }
    lanes.add(lane)
    // Without a listener a dropped connection would end the process.
    client.on('error', () => discard(lane))
    client.on('end', () => lanes.delete(lane))
    // Whoever waits for the lane is told; nobody may be waiting any more.
    lane.ready.catch(() => discard(lane))
    return lane
  }

  function discard(lane: Lane): void {
    lanes.delete(lane)
    lane.client.end().catch(() => undefined)
  }

  function choose(): Lane {
    let idlest: Lane | undefined
    for (const lane of lanes) if (!idlest || lane.waiting < idlest.waiting) idlest = lane
    return idlest && (idlest.waiting === 0 || lanes.size >= most) ? idlest : open()
  }

  return {
    async query(statement) {
      const lane = choose()
      lane.waiting += 1
      try {
        await lane.ready
        const sent = performance.now()
        const answer = await send(lane.client, statement, sending)
        const since = Math.max(sent, lane.answered)
        lane.answered = performance.now()
        return { ...answer, time: lane.answered - since }
      } catch (error) {
        if (isBroken(error)) discard(lane)
        throw error
      } finally {
        lane.waiting -= 1
      }
    },
    close: async () => {
      await Promise.all([...lanes].map(({ client }) => client.end().catch(() => undefined)))
    },
  }
}
