import { Duplex } from 'node:stream'
import type { PGlite } from '@electric-sql/pglite'

/** The first byte of a startup packet; all later packets start with a letter. */
const STARTUP = 0

/**
 * A stream that the driver uses as its socket: it passes the bytes of PostgreSQL's protocol to PGlite and returns the responses. So the embedded
 * database uses the same driver, parsers and errors as a server.
 */
export class PgliteStream extends Duplex {
  readonly #pglite: PGlite

  constructor(pglite: PGlite) {
    super()
    this.#pglite = pglite
  }

  connect(): this {
    process.nextTick(() => this.emit('connect'))
    return this
  }

  // Methods of a socket that are meaningless in memory.
  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done)
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk))).then(() => done(), done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.push(null)
    done()
  }

  async #send(message: Buffer): Promise<void> {
    if (message[0] === STARTUP) await this.#forgetSession()
    const answer: Buffer[] = []
    // The bytes are a view of PGlite's memory, which the next message overwrites.
    await this.#pglite.execProtocolRawStream(message, { onRawData: (bytes) => answer.push(Buffer.from(bytes)) })
    if (answer.length > 0 && !this.destroyed) this.push(Buffer.concat(answer))
  }

  /** PGlite has a single session: a new connection must not inherit an open transaction or settings from the previous one. */
  async #forgetSession(): Promise<void> {
    await this.#pglite.exec('rollback')
    await this.#pglite.exec('discard all')
  }
}
