import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import pg from 'pg'
import type { Cell } from '../../fields/cell.js'

/** The parts of the driver's connection that concern rows; its declared type lacks them. */
interface Wire {
  emit(event: 'dataRow', row: RowMessage): void
  attachListeners(stream: EventEmitter): void
}

/** A message starts with one byte for its type and four for its length, which includes those four. */
const HEAD = 5
const ROW = 'D'.charCodeAt(0)

/**
 * A client that keeps the cells of rows as received bytes until they are read. The driver converts each cell to a string, and copies a partial
 * message again with every chunk, which is most of the cost of a page that is forwarded unchanged. The driver still parses all other messages.
 */
export class RowClient extends pg.Client {
  /** What the server reported besides its responses: `unreplicated` if a commit may not have reached a standby. */
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

/** The size of the read buffer, in bytes. */
const READ = 64 * 1024

/** The smallest message, in bytes, that gets memory of its own. */
const MAPPED = 256 * 1024

/**
 * Creates a socket that reads into one buffer repeatedly; a chunk is valid until its listener returns. With a new buffer for each read, V8 notices
 * the garbage too late.
 */
export function makeSocket({ ssl }: { readonly ssl?: unknown } = {}): Socket {
  // TLS does its own reading.
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

/** A row of a result. Read it before its listener returns. */
export class RowMessage {
  readonly #body: Buffer
  readonly #lasts: boolean

  /** `lasts` says that the memory of `body` is not reused. */
  constructor(body: Buffer, lasts: boolean) {
    this.#body = body
    this.#lasts = lasts
  }

  /** The size in bytes. */
  get size(): number {
    return this.#body.length
  }

  /** Returns the cells of the row. The cell at `raw` is returned as bytes, and is empty among the cells. */
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

  /** Read by the driver's own queries. */
  get fields(): readonly Cell[] {
    return this.read(undefined).cells
  }
}

/** Splits a stream of messages into rows, and other messages, which are passed on whole. */
function createReader(onRow: (row: RowMessage) => void, onOthers: (bytes: Buffer) => void): (chunk: Buffer) => void {
  /** A partial message: as much of it as is needed so far, `filled` up to here. */
  let begun: Buffer | undefined
  let filled = 0

  const fill = (chunk: Buffer, from: number, into: Buffer): number => {
    const copied = chunk.copy(into, filled, from)
    filled += copied
    return from + copied
  }

  /** Continues a partial message; returns where the next message starts. */
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
        begun = roomFor(size)
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
    begun = roomFor(chunk.length - at < HEAD ? HEAD : sizeOf(chunk, at))
    filled = 0
    fill(chunk, at, begun)
  }
}

/**
 * Large buffers are resizable only because V8 then maps their memory itself, and returns it to the system with them. The malloc of glibc keeps pieces of
 * some megabytes after they are freed, so pages of long texts would make the process grow to twice what they need.
 */
function roomFor(size: number): Buffer {
  if (size < MAPPED) return Buffer.allocUnsafeSlow(size)
  return Buffer.from(new ArrayBuffer(size, { maxByteLength: size }), 0, size)
}

function sizeOf(bytes: Buffer, at: number): number {
  return 1 + bytes.readUInt32BE(at + 1)
}
