import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const HOST = fileURLToPath(new URL('command-host.mjs', import.meta.url))

/** After this many commands a host is replaced, because code of plugins and databases stays in its memory. */
const MAX_COMMANDS = 50

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
  if (host === undefined || commands === MAX_COMMANDS) replaceHost()
  commands += 1
  const current = host
  current.ref()
  current.channel.ref()
  try {
    const ended = once(current, 'exit').then(([code, signal]) => {
      host = undefined
      throw new Error(`the process ended with ${signal ?? code}: snippetctl ${line.args.join(' ')}`)
    })
    ended.catch(() => {})
    current.send(line)
    const [outcome] = await Promise.race([once(current, 'message'), ended])
    return outcome
  } finally {
    current.unref()
    current.channel?.unref()
  }
}

function replaceHost() {
  host?.disconnect()
  commands = 0
  host = fork(HOST, {
    env: {},
    execArgv: ['--cpu-prof', '--cpu-prof-dir=/dev/shm/prof'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}
