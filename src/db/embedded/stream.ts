import { Duplex } from 'node:stream'
import type { PGlite } from '@electric-sql/pglite'

/** The first byte of the packet that opens a session; all later ones begin with a letter. */
const STARTUP = 0

/**
 * What the driver takes for the socket to a server: bytes of PostgreSQL's protocol go straight into PGlite, and its
 * answers come back. So the embedded database is spoken to by the same driver, with the same parsers and errors.
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

  // What a socket has and memory does not need.
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

  /** PGlite has one session for ever, and what an earlier connection left open or set in it must not be inherited. */
  async #forgetSession(): Promise<void> {
    await this.#pglite.exec('rollback')
    await this.#pglite.exec('discard all')
  }
}
