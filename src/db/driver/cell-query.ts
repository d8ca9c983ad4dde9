import type { Writable } from 'node:stream'
import pg from 'pg'
import { serialize } from 'pg-protocol'
import type { Result, Statement } from '../database.js'
import type { RowMessage } from './row-messages.js'

/** What a statement led to. */
export interface Answer extends Result {
  /** The first word of the server's answer: what was really done. */
  readonly command: string
  /** The size of its rows in bytes. */
  readonly size: number
}

/** How statements are sent. */
export interface Sending {
  /** Milliseconds after which a statement without an answer counts as lost; the server's own limit comes first. */
  readonly patience: number | undefined
  /** Whether statements that have a name are prepared under it. */
  readonly prepare: boolean
  /** Whether what one turn of the event loop sends on a connection leaves together. */
  readonly gather?: boolean
}

/** With an error too, `answer` is what the server had said before it. */
export type Settle = (error: Error | null, answer: Answer) => void

/** As the driver says it of a client whose connection it knows to be gone. */
const UNSENT = 'Client was closed and is not queryable: its connection is gone'

/** The driver's connection, as far as a query that is sent on it needs it; its declared type leaves out half of that. */
interface Wire {
  readonly stream: Writable
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements: Record<string, string>
  query(text: string): void
}

/**
 * Statements that a connection keeps prepared; with one more, the server forgets the one that was prepared first. More than an application
 * uses, and few enough for the memory of the server.
 */
const MOST_PREPARED = 1_000
/** The names of what each connection has prepared, in order. */
const prepared = new WeakMap<Wire, string[]>()

/** Runs what was bound, and ends what runs as one. */
const END = Buffer.concat([serialize.execute(), serialize.sync()])

const EMPTY: Answer = { rows: [], columns: [], count: 0, command: '', size: 0 }

/**
 * The driver accepts custom queries, such as its cursors; on a pipelined connection it requires instances of its own class. Its constructor
 * would prepare to parse results, at a noticeable cost for each statement, so that only its prototype is used.
 */
const DriverQuery = function () {} as unknown as new () => object
DriverQuery.prototype = pg.Query.prototype

/**
 * A statement on its way. The driver's own query finds out the type of every cell and makes a parser for each, every time; here
 * cells stay text, and a statement with a name is never described. It has no `columns` for that.
 */
export class CellQuery extends DriverQuery {
  readonly text: string
  readonly name: string | undefined
  readonly values: readonly (string | null)[]
  callback: Settle
  readonly #gather: boolean
  readonly #raw: number | undefined
  #isUnsent = false
  #answer = EMPTY
  #rows: (readonly (string | null)[])[] = []
  #columns: Result['columns'] = []
  #bytes: Uint8Array | undefined
  #size = 0

  constructor({ text, values, name, raw }: Statement, { prepare, gather = false }: Sending, settle: Settle) {
    super()
    this.text = text
    this.values = values
    this.name = prepare ? name : undefined
    this.callback = settle
    this.#gather = gather
    this.#raw = raw
  }

  /** What the server has said so far. */
  get answer(): Answer {
    return this.#answer
  }

  submit(connection: pg.Connection): void {
    const wire = connection as unknown as Wire
    if (!wire.stream.writable) {
      this.#isUnsent = true
      return
    }
    if (this.name === undefined && this.values.length === 0) return wire.query(this.text)
    if (this.#gather && wire.stream.writableCorked === 0) {
      wire.stream.cork()
      setImmediate(() => wire.stream.uncork())
    }
    wire.stream.write(this.#messages(wire))
  }

  /** One piece of memory for all of them: the socket takes it at less cost than several. */
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

  /** Of several statements in one text, the last one's answer counts. */
  handleCommandComplete({ text }: { readonly text: string }): void {
    const count = Number(text.slice(text.lastIndexOf(' ') + 1))
    const [command = ''] = text.split(' ', 1)
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

/** Makes room on a connection for a statement that is about to be prepared. */
function closeOldest(wire: Wire, name: string): readonly Buffer[] {
  const names = prepared.get(wire) ?? []
  prepared.set(wire, names)
  if (!names.includes(name)) names.push(name)
  if (names.length <= MOST_PREPARED) return []
  const oldest = names.shift() ?? ''
  if (!(oldest in wire.parsedStatements)) return []
  delete wire.parsedStatements[oldest]
  return [serialize.close({ type: 'S', name: oldest })]
}
