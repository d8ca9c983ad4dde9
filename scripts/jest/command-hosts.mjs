import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const HOST = fileURLToPath(new URL('command-host.mjs', import.meta.url))

/** After this many commands a host is replaced, because code of plugins and databases stays in its memory. */
const MAX_COMMANDS = 50

/** The process and its end; undefined before the first command and after an unexpected end. */
let host
let commands = 0
let last = Promise.resolve()

/** Runs a command line in the host of this worker, after those that were given before. Resolves to its outcome. */
export function runCommand(line) {
  const outcome = last.then(() => runNow(line))
  last = outcome.catch(() => {})
  return outcome
}

async function runNow(line) {
  if (commands === MAX_COMMANDS) endHost()
  if (host === undefined) startHost()
  commands += 1
  const { child, ended } = host
  // An idle host does not keep Jest from ending.
  child.ref()
  child.channel.ref()
  try {
    child.send(line)
    const outcome = await Promise.race([once(child, 'message'), ended])
    if (outcome !== undefined) return outcome[0]
    host = undefined
    throw new Error(`the process ended: snippetctl ${line.args.join(' ')}`)
  } finally {
    child.unref()
    child.channel?.unref()
  }
}

/** Ends the host, if there is one; the next command starts another. */
export function endHost() {
  host?.child.disconnect()
  host = undefined
}

function startHost() {
  commands = 0
  // Node reads it from the environment with which the process has started: without it, the databases of commands are on a disk.
  const { TMPDIR } = process.env
  const child = fork(HOST, {
    env: TMPDIR === undefined ? {} : { TMPDIR },
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  host = { child, ended: once(child, 'exit').then(() => undefined) }
}
