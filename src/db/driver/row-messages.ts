import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import pg from 'pg'
import type { Cell } from '../../fields/cell.js'

/** The driver's connection, as far as the rows on it are concerned; its declared type leaves that out. */
interface Wire {
  emit(event: 'dataRow', row: RowMessage): void
  attachListeners(stream: EventEmitter): void
}

/** A message is its type, one byte, and its length, four bytes that count themselves; what it holds follows. */
const HEAD = 5
const ROW = 'D'.charCodeAt(0)

/**
 * A client of the driver that leaves the cells of rows as the bytes that they came in until they are asked for. The driver makes a string of
 * each cell, and copies what it has of a message again with each part that arrives: for a page that goes on to a client as it is,
 * that is most of the work. All other messages are read by the driver.
 */
export class RowClient extends pg.Client {
  /** What the server has said besides its answers: that a commit is done here, and perhaps on no standby. */
  readonly notices = { unreplicated: false }

  constructor(config?: string | pg.ClientConfig) {
    super(config)
    this.on('notice', (notice) => {
      if ('routine' in notice && notice.routine === 'SyncRepWaitForLSN') this.notices.unreplicated = true
    })
    const { connection } = this as unknown as { readonly connection: Wire }
    const attach = connection.attachListeners.bind(connection)
    connection.attachListeners = (stream) => {
      const others = new EventEmitter()
      attach(others)
      const read = createReader(
        (row) => connection.emit('dataRow', row),
        (bytes) => others.emit('data', bytes),
      )
      stream.on('data', read)
    }
  }
}

/** What one read of a socket takes at most, in bytes. */
const READ = 64 * 1024

/**
 * A socket that reads into one piece of memory, again and again; its chunks are valid until their listener returns. A new piece for each
 * read would be garbage that V8 does not see the size of soon enough.
 */
export function makeSocket({ ssl }: { readonly ssl?: unknown } = {}): Socket {
  // The layer of encryption reads by itself.
  if (ssl) return new Socket()
  const buffer = Buffer.allocUnsafeSlow(READ)
  const onread = {
    buffer,
    callback: (length: number) => {
      socket.emit('data', buffer.subarray(0, length))
      return true
    },
  }
  const socket: Socket = new Socket({ onread } as object)
  return socket
}

/** A row of an answer, to be read before its listener returns. */
export class RowMessage {
  readonly #body: Buffer
  readonly #lasts: boolean

  /** `lasts` says that nobody else writes to `body`. */
  constructor(body: Buffer, lasts: boolean) {
    this.#body = body
    this.#lasts = lasts
  }

  /** In bytes. */
  get size(): number {
    return this.#body.length
  }

  /** Its cells; of the one at `raw`, in its place an empty one, the bytes. */
  read(raw: number | undefined): { readonly cells: readonly Cell[]; readonly bytes: Uint8Array | undefined } {
    const body = this.#body
    const cells: Cell[] = []
    let bytes: Buffer | undefined
    let at = 2
    for (let left = body.readUInt16BE(0); left > 0; left--) {
      const length = body.readInt32BE(at)
      at += 4
      if (length < 0) {
        cells.push(null)
        continue
      }
      if (cells.length === raw) {
        bytes = body.subarray(at, at + length)
        cells.push('')
      } else cells.push(body.toString('utf8', at, at + length))
      at += length
    }
    return { cells, bytes: bytes && !this.#lasts ? Buffer.from(bytes) : bytes }
  }

  /** What the driver's own queries look at. */
  get fields(): readonly Cell[] {
    return this.read(undefined).cells
  }
}

/** Takes a stream of messages chunk by chunk, and tells rows from the rest, which is passed on as whole messages. */
function createReader(onRow: (row: RowMessage) => void, onOthers: (bytes: Buffer) => void): (chunk: Buffer) => void {
  /** A message of which only the beginning has come: as much of it as is known to be needed, `filled` to here. */
  let begun: Buffer | undefined
  let filled = 0

  const fill = (chunk: Buffer, from: number, into: Buffer): number => {
    const copied = chunk.copy(into, filled, from)
    filled += copied
    return from + copied
  }

  /** Goes on with the message that is begun; answers where the next one begins. */
  const complete = (chunk: Buffer): number => {
    let at = 0
    while (begun) {
      at = fill(chunk, at, begun)
      if (filled < begun.length) return at
      const size = sizeOf(begun, 0)
      if (size === begun.length) {
        const message = begun
        begun = undefined
        if (message[0] === ROW) onRow(new RowMessage(message.subarray(HEAD), true))
        else onOthers(message)
      } else {
        const head = begun
        begun = Buffer.allocUnsafeSlow(size)
        head.copy(begun)
      }
    }
    return at
  }

  return (chunk) => {
    let at = begun ? complete(chunk) : 0
    let others = at
    while (at + HEAD <= chunk.length) {
      const end = at + sizeOf(chunk, at)
      if (end > chunk.length) break
      if (chunk[at] === ROW) {
        if (others < at) onOthers(Buffer.from(chunk.subarray(others, at)))
        onRow(new RowMessage(chunk.subarray(at + HEAD, end), false))
        others = end
      }
      at = end
    }
    if (others < at) onOthers(Buffer.from(chunk.subarray(others, at)))
    if (begun || at === chunk.length) return
    begun = Buffer.allocUnsafeSlow(chunk.length - at < HEAD ? HEAD : sizeOf(chunk, at))
    filled = 0
    fill(chunk, at, begun)
  }
}

function sizeOf(bytes: Buffer, at: number): number {
  return 1 + bytes.readUInt32BE(at + 1)
}
