/** A response as received. Header names are lower-case. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Parses responses from the bytes of one connection. */
export interface AnswerReader {
  readonly answers: readonly RawAnswer[]
  read(bytes: Buffer): void
  /** The bytes after the last complete response. */
  rest(): string
}

/** @param method the method of the requests, which determines whether responses have bodies */
export function createAnswerReader(method: string): AnswerReader {
  const answers: RawAnswer[] = []
  let bytes: Buffer = Buffer.alloc(0)
  const next = (): boolean => {
    const end = bytes.indexOf('\r\n\r\n')
    if (end === -1) return false
    const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    )
    const status = Number(first.split(' ')[1])
    const body =
      method === 'HEAD' || status < 200 || status === 204 ? NOTHING : readBody(bytes.subarray(end + 4), headers)
    if (body === undefined) return false
    answers.push({ status, headers, body: body.text })
    bytes = bytes.subarray(end + 4 + body.size)
    return true
  }
  return {
    answers,
    read: (piece) => {
      bytes = Buffer.concat([bytes, piece])
      while (next());
    },
    rest: () => bytes.toString('latin1'),
  }
}

interface Body {
  readonly text: string
  readonly size: number
}

const NOTHING: Body = { text: '', size: 0 }

function readBody(bytes: Buffer, headers: Readonly<Record<string, string>>): Body | undefined {
  if (headers['transfer-encoding'] === 'chunked') return readChunks(bytes)
  const size = Number(headers['content-length'] ?? 0)
  return bytes.length < size ? undefined : { text: bytes.toString('utf8', 0, size), size }
}

function readChunks(bytes: Buffer): Body | undefined {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const next = line + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { text: Buffer.concat(pieces).toString('utf8'), size: next }
    pieces.push(bytes.subarray(line + 2, line + 2 + size))
    at = next
  }
}
