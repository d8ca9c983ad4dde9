const HEAD_END = Buffer.from('\r\n\r\n')
const CHUNKED_END = '\r\n0\r\n\r\n'

/**
 * Parses HTTP/1.1 responses on one connection, as little as counting requires: bodies are skipped. A chunked body must not contain its own end mark,
 * which JSON never does.
 * @returns a function that takes received bytes; `answered` is called with the status of each complete response, and whether the server closes the
 * connection
 */
export function createReader(answered: (status: number, last: boolean) => void): (bytes: Buffer) => void {
  let head: Buffer = Buffer.alloc(0)
  let tail = ''
  /** The missing bytes of the body; undefined in a head, Infinity in a chunked body. */
  let missing: number | undefined
  let status = 0
  let last = false

  const finish = () => {
    missing = undefined
    head = Buffer.alloc(0)
    tail = ''
    answered(status, last)
  }

  const readBody = (bytes: Buffer) => {
    if (missing === Infinity) {
      tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - CHUNKED_END.length))).slice(
        -CHUNKED_END.length,
      )
      if (tail === CHUNKED_END) finish()
      return
    }
    missing = (missing ?? 0) - bytes.length
    if (missing === 0) finish()
    else if (missing < 0) throw new Error('the server sent more than one answer to one request')
  }

  return (bytes) => {
    if (missing !== undefined) return readBody(bytes)
    head = head.length === 0 ? bytes : Buffer.concat([head, bytes])
    const end = head.indexOf(HEAD_END)
    if (end === -1) return
    const text = head.toString('latin1', 0, end)
    status = Number(text.slice(9, 12))
    last = /\r\nconnection: close/i.test(text)
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
    missing = length === undefined ? Infinity : Number(length)
    // The line end before the last chunk may be that of the head.
    readBody(head.subarray(length === undefined ? end + 2 : end + HEAD_END.length))
  }
}
