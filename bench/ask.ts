import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

interface Question {
  readonly port: number
  readonly path: string
  readonly method?: string
  readonly body?: string | undefined
  /** Whether to use the connection that is kept for consecutive requests. */
  readonly keep?: boolean
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Sends a request; the body of the response is left to be read. */
export async function open({
  port,
  path,
  method = 'GET',
  body,
  keep = method === 'GET',
}: Question): Promise<IncomingMessage> {
  const headers =
    body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: keep ? agent : false })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer
}

/** Sends a request and reads the whole response. */
export async function ask(question: Question): Promise<Answer> {
  const answer = await open(question)
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }
}
