import { once } from 'node:events'
import type { Answer } from './leaks.js'
import { dial, receive } from './wire.js'

/** A client with a single connection. */
export interface Client {
  /** Rejects if the connection ends without a response. */
  get(path: string): Promise<Answer>
  /** The process that responds at `/api/pid/`. */
  pid(): Promise<number>
  /** Resolves when the connection is closed by either side. */
  readonly closed: Promise<unknown>
  close(): void
}

/** Resolves once connected. */
export async function connectClient(url: string): Promise<Client> {
  const socket = dial(url)
  // Each response has listeners of its own.
  socket.setMaxListeners(0)
  await once(socket, 'connect')
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const get = async (path: string): Promise<Answer> => {
    const answered = receive(socket, { answers: 1 })
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    const { answers } = await answered
    const [answer] = answers
    if (answer === undefined) throw new Error(`the connection ended before ${path} was answered`)
    return answer
  }
  return {
    get,
    pid: async () => (JSON.parse((await get('/api/pid/')).body) as { pid: number }).pid,
    closed,
    close: () => socket.destroy(),
  }
}
