import { type Chain, createChain, type Link } from './linked-list.js'
import type { Share } from '../database.js'
import type { Problem } from '../../problem.js'

/** Work that is granted in the order of its arrival: that of one statement, one route or one record. */
export interface Line {
  readonly group: Group
  readonly key: string
  /** For the line of a record: that of the statement or route. A record gains nothing from a second connection. */
  readonly outer: Line | undefined
  /** For the line of a statement or route: how many lines of records have it as their outer one. */
  inner: number
  /** Connections that are granted. */
  held: number
  /** Milliseconds for which a connection is used, a moving average. */
  time: number
  /** Made for the first that waits, because most lines of records never have any. */
  waiters: Chain<Waiter> | undefined
  /** For the line of a statement or route: itself and the lines of its records, as far as they are ready. Made when one of them is. */
  ready: Chain<Line> | undefined
  /** Its place among the ready lines of a statement or route. */
  place: Link<Line> | undefined
  /** Its place in the queue of its group, which only lines of statements and routes have. */
  queued: Link<Line> | undefined
}

/** The lines of one resource, or of one hand-written route. */
export interface Group {
  readonly lines: Map<string, Line>
  readonly records: Map<string, Line>
  /** Lines of statements and routes with ready lines. In each chain, what was granted something last is at the end. */
  readonly queue: Chain<Line>
  /** Work of the process itself is not limited. */
  readonly limited: boolean
  held: number
  waiting: number
  time: number
  /** Its place among the groups with ready lines. */
  queued: Link<Group> | undefined
}

export interface Waiter {
  readonly line: Line
  readonly turn: Turn
  readonly since: number
  /** Its places in the line, and among all that wait; undefined when it waits no more. */
  place: Link<Waiter> | undefined
  arrival: Link<Waiter> | undefined
}

/** Called once: with the line to leave later, or with the reason why there is no connection. */
export type Turn = (problem: Problem | null, granted: Line) => void

/** Work of which nothing is known yet is not quick. */
const UNKNOWN = 200
const WEIGHT = 1 / 8
/** Lines that are remembered when nothing is in them, for each resource. */
const MOST_IDLE = 100

/** The lines of all work that is under way or waits, and what was learned about work before. */
export function createLines() {
  const groups = new Map<string | undefined, Group>()

  function groupOf(name: string | undefined): Group {
    const known = groups.get(name)
    if (known) return known
    const limited = name !== undefined
    const [lines, records, queue] = [new Map<string, Line>(), new Map<string, Line>(), createChain<Line>()]
    const group = { lines, records, queue, limited, held: 0, waiting: 0, time: UNKNOWN, queued: undefined }
    groups.set(name, group)
    return group
  }

  function find({ resource, record, name = '' }: Share): Line {
    const group = groupOf(resource)
    if (record === undefined) return group.lines.get(name) ?? newLine({ group, lines: group.lines, key: name })
    const known = group.records.get(record)
    if (known) return known
    const outer = find({ resource, name })
    outer.inner += 1
    return newLine({ group, lines: group.records, key: record, outer })
  }

  /** Records come and go; what was learned about statements is worth keeping. */
  function forgetIfIdle(line: Line): void {
    const { group, key, outer, held, inner } = line
    const lines = outer ? group.records : group.lines
    if (held > 0 || hasWaiters(line) || inner > 0 || lines.get(key) !== line) return
    if (!outer && lines.size <= MOST_IDLE) return
    lines.delete(key)
    if (!outer) return
    outer.inner -= 1
    forgetIfIdle(outer)
  }

  return { find, forgetIfIdle }
}

interface NewLine extends Pick<Line, 'group' | 'key'> {
  readonly lines: Map<string, Line>
  readonly outer?: Line
}

function newLine({ group, key, lines, outer }: NewLine): Line {
  const line: Line = {
    group,
    key,
    outer,
    inner: 0,
    held: 0,
    time: UNKNOWN,
    waiters: undefined,
    ready: undefined,
    place: undefined,
    queued: undefined,
  }
  lines.set(key, line)
  return line
}

/** Whether work waits in a line. */
export function hasWaiters({ waiters }: Line): boolean {
  return waiters !== undefined && waiters.length > 0
}

/** Learns from the milliseconds for which a connection was used. */
export function learn(about: Line | Group, time: number): void {
  about.time += (time - about.time) * WEIGHT
}
