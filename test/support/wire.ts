import { connect, type Socket } from 'node:net'
import { type Answer, expectSound } from './leaks.js'

/** The responses on one connection. */
export interface Received {
  /** In order, including interim ones such as `100 Continue`. */
  readonly answers: readonly Answer[]
  readonly closed: boolean
  /** Bytes after the last complete response. */
  readonly rest: string
}

interface Wishes {
  /** Resolves after this many responses; otherwise when the server closes. */
  readonly answers?: number
  /** The methods of the requests, if some responses have no body. */
  readonly methods?: readonly string[]
}

/** Sends raw bytes, which no HTTP client would, and parses the responses; each must be sound. */
export async function talk(url: string, bytes: string | Uint8Array, wishes: Wishes = {}): Promise<Received> {
  const socket = dial(url)
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  try {
    return await receive(socket, wishes)
  } finally {
    socket.destroy()
  }
}

export function dial(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect({ host: hostname, port: Number(port) })
}

/** Reads responses until there are enough or the connection ends. */
export function receive(
  socket: Socket,
  { answers: wanted = Number.POSITIVE_INFINITY, methods = [] }: Wishes = {},
): Promise<Received> {
  return new Promise((resolve) => {
    let text = ''
    let done = false
    const finish = (closed: boolean) => {
      const parsed = parse(text, methods)
      if (done || (!closed && parsed.answers.length < wanted)) return
      done = true
      for (const answer of parsed.answers) if (answer.status >= 200) expectSound(answer)
      resolve({ ...parsed, closed })
    }
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      finish(false)
    })
    socket.on('error', () => {})
    socket.on('end', () => finish(true))
    socket.on('close', () => finish(true))
  })
}

function parse(text: string, methods: readonly string[]): { answers: Answer[]; rest: string } {
  const answers: Answer[] = []
  let rest = text
  let final = 0
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return { answers, rest }
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    )
    const status = Number(first.split(' ')[1])
    const bodyless = status < 200 || status === 204 || methods[final] === 'HEAD'
    const read = bodyless ? { body: '', size: 0 } : readBody(rest.slice(end + 4), headers)
    if (!read) return { answers, rest }
    answers.push({ status, headers, body: Buffer.from(read.body, 'latin1').toString('utf8') })
    rest = rest.slice(end + 4 + read.size)
    if (status >= 200) final += 1
  }
}

function readBody(text: string, headers: Readonly<Record<string, string>>): { body: string; size: number } | undefined {
  if (headers['transfer-encoding'] === 'chunked') return readChunks(text)
  const size = Number(headers['content-length'] ?? 0)
  return text.length < size ? undefined : { body: text.slice(0, size), size }
}

function readChunks(text: string): { body: string; size: number } | undefined {
  let at = 0
  let body = ''
  for (;;) {
    const line = text.indexOf('\r\n', at)
    if (line === -1) return undefined
    const size = Number.parseInt(text.slice(at, line), 16)
    const next = line + 2 + size + 2
    if (text.length < next) return undefined
    body += text.slice(line + 2, line + 2 + size)
    if (size === 0) return { body, size: next }
    at = next
  }
}
