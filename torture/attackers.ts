import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient, type Question } from './client.js'

/** How many requests for each path got which status; 0 is a connection that was cut. */
export type AttackReport = Readonly<Record<string, number>>

const WRITERS = 200
const HOOKS = 7
const PIPELINED = 20
/** How many send the longest header that is accepted, and a text that a pattern needs long for. */
const COSTLY = 4
/** Milliseconds between two requests of one attacker. */
const PAUSE = 20

const HEADER = ['GET /books/1/ HTTP/1.1', 'Host: localhost', `If-None-Match: "a",${' '.repeat(15_000)}x`, '', ''].join(
  '\r\n',
)
const LIST = 'GET /pages/?page_size=100 HTTP/1.1\r\nHost: localhost\r\n\r\n'
const CHANGE = { method: 'PATCH', path: '/counters/1/', body: { count: 1 } }
const LETTER = { method: 'POST', path: '/letters/', body: { body: 'never' } }
const PART = { method: 'POST', path: '/parts/', body: { number: '1'.repeat(10_000) } }

// The attackers of T23: reports `begun`, and when it is told to end, the statuses. It ends with the trial.
const [port = 0, readers = 0] = process.argv.slice(2).map(Number)
const answers: Record<string, number> = {}
const client = createClient(port, WRITERS + HOOKS + COSTLY)
for (let at = 0; at < WRITERS; at++) void askAgain(CHANGE)
for (let at = 0; at < HOOKS; at++) void askAgain(LETTER)
for (let at = 0; at < COSTLY; at++) {
  void askAgain(PART)
  sendHeaderAgain(openSocket(HEADER))
}
for (let at = 0; at < readers; at++) openSocket(LIST.repeat(PIPELINED)).pause()
process.once('disconnect', () => process.exit())
process.send?.('begun')
process.once('message', () => {
  process.send?.(answers, () => process.exit(0))
})

function count(what: string): void {
  answers[what] = (answers[what] ?? 0) + 1
}

async function askAgain(question: Question): Promise<never> {
  for (;;) {
    const { status, time } = await client.ask(question)
    count(`${question.path} ${status}`)
    await delay(Math.max(0, PAUSE - time))
  }
}

/** Sends the header again for each piece of a response. */
function sendHeaderAgain(socket: Socket): void {
  socket.on('data', () => {
    count('the longest header')
    setTimeout(() => socket.writable && socket.write(HEADER), PAUSE)
  })
}

function openSocket(bytes: string): Socket {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => undefined)
  socket.write(bytes)
  return socket
}
