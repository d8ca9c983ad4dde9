import type { Writable } from 'node:stream'
import pg from 'pg'
import { serialize } from 'pg-protocol'
import type { Result, Statement } from '../database.js'
import type { RowMessage } from './row-messages.js'

/** The server's response to a statement. */
export interface StatementResult extends Result {
  /** The command tag of the response, such as `COMMIT` or `ROLLBACK`: what the server really did. */
  readonly command: string
  /** The size of its rows in bytes. */
  readonly size: number
}

/** How statements are sent. */
export interface Sending {
  /** Milliseconds without a response after which a statement counts as lost; longer than the server's own limit. */
  readonly patience: number | undefined
  /** Whether named statements are prepared. */
  readonly prepare: boolean
  /** Whether messages that are sent in one turn of the event loop are written together. */
  readonly gather?: boolean
}

/** After an error, `answer` holds what the server had sent before it. */
export type Settle = (error: Error | null, answer: StatementResult) => void

/** The driver's message for a client whose connection is gone. */
const UNSENT = 'Client was closed and is not queryable: its connection is gone'

/** The parts of the driver's connection that a query needs; the declared type lacks half of them. */
interface Wire {
  readonly stream: Writable
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements: Record<string, string>
  query(text: string): void
}

/**
 * How many statements a connection keeps prepared; beyond it, the oldest is deallocated. More than an application uses, and few enough for the
 * server's memory.
 */
const MAX_PREPARED = 1_000
/** The names of the statements that each connection has prepared, oldest first. */
const prepared = new WeakMap<Wire, string[]>()

/** Executes the bound statement and ends the implicit transaction. */
const END = Buffer.concat([serialize.execute(), serialize.sync()])

const EMPTY: StatementResult = { rows: [], columns: [], count: 0, command: '', size: 0 }

/**
 * The driver accepts custom queries, such as its cursors, but on a pipelined connection only instances of its own class. We use only its prototype:
 * its constructor prepares to parse results, which is expensive for every statement.
 */
const DriverQuery = function () {} as unknown as new () => object
DriverQuery.prototype = pg.Query.prototype

/**
 * A statement in progress. The driver's own query looks up the type of every cell and creates parsers for it each time; here cells stay text, and
 * named statements are never described, so they have no `columns`.
 */
export class CellQuery extends DriverQuery {
  readonly text: string
  readonly name: string | undefined
  readonly values: readonly (string | null)[]
  callback: Settle
  readonly #gather: boolean
  readonly #raw: number | undefined
  readonly #single: boolean
  #isUnsent = false
  #answer = EMPTY
  #rows: (readonly (string | null)[])[] = []
  #columns: Result['columns'] = []
  #bytes: Uint8Array | undefined
  #size = 0

  constructor(
    { text, values, name, raw, single = false }: Statement,
    { prepare, gather = false }: Sending,
    settle: Settle,
  ) {
    super()
    this.text = text
    this.values = values
    this.name = prepare ? name : undefined
    this.callback = settle
    this.#gather = gather
    this.#raw = raw
    this.#single = single
  }

  /** What the server has sent so far. */
  get answer(): StatementResult {
    return this.#answer
  }

  /** Returns an error if the statement cannot be serialized; nothing is sent then. A thrown error would leave the client busy. */
  submit(connection: pg.Connection): Error | undefined {
    const wire = connection as unknown as Wire
    if (!wire.stream.writable) {
      this.#isUnsent = true
      return undefined
    }
    if (this.name === undefined && this.values.length === 0 && !this.#single) {
      wire.query(this.text)
      return undefined
    }
    let messages: Buffer
    try {
      messages = this.#messages(wire)
    } catch (error) {
      return error as Error
    }
    if (this.#gather && wire.stream.writableCorked === 0) {
      wire.stream.cork()
      setImmediate(() => wire.stream.uncork())
    }
    wire.stream.write(messages)
    return undefined
  }

  /** Joins all messages in one buffer: one write is cheaper than several. */
  #messages(wire: Wire): Buffer {
    const { text, name = '', values } = this
    const bind = serialize.bind({ statement: name, values: [...values] })
    if (name === '') return Buffer.concat([serialize.parse({ text }), bind, serialize.describe({ type: 'P' }), END])
    if (name in wire.parsedStatements || name in wire.submittedNamedStatements) return Buffer.concat([bind, END])
    wire.submittedNamedStatements[name] = text
    return Buffer.concat([...closeOldest(wire, name), serialize.parse({ text, name }), bind, END])
  }

  handleRowDescription({ fields }: { readonly fields: Result['columns'] }): void {
    this.#columns = fields
  }

  handleDataRow(row: RowMessage): void {
    const { cells, bytes } = row.read(this.#raw)
    this.#rows.push(cells)
    this.#bytes = bytes
    this.#size += row.size
  }

  /** If a text holds several statements, the response to the last one counts. */
  handleCommandComplete({ text }: { readonly text: string }): void {
    const count = Number(text.slice(text.lastIndexOf(' ') + 1))
    const blank = text.indexOf(' ')
    const command = blank === -1 ? text : text.slice(0, blank)
    this.#answer = {
      rows: this.#rows,
      columns: this.#columns,
      count: Number.isNaN(count) ? 0 : count,
      command,
      bytes: this.#bytes,
      size: this.#size,
    }
    this.#rows = []
    this.#columns = []
  }

  handleEmptyQuery(): void {}

  handleError(error: Error): void {
    this.callback(this.#isUnsent ? new Error(UNSENT, { cause: error }) : error, this.#answer)
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#answer)
  }
}

/** Deallocates the oldest statement if a connection has no room for one more. */
function closeOldest(wire: Wire, name: string): readonly Buffer[] {
  const names = prepared.get(wire) ?? []
  prepared.set(wire, names)
  if (!names.includes(name)) names.push(name)
  if (names.length <= MAX_PREPARED) return []
  const oldest = names.shift() ?? ''
  if (!(oldest in wire.parsedStatements)) return []
  delete wire.parsedStatements[oldest]
  return [serialize.close({ type: 'S', name: oldest })]
}
