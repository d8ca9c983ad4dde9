import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const HOST = fileURLToPath(new URL('command-host.mjs', import.meta.url))

/** A host is replaced when it uses this much memory, because code of plugins and databases stays in it. */
const MAX_BYTES = 700 * 1024 ** 2

/** The process and its end; undefined before the first command and after an unexpected end. */
let host
let isLarge = false
let last = Promise.resolve()
/** The project whose embedded database the host keeps open. */
let kept
/** The server that runs in the host: its project, and the functions for its output and its end. */
let server

/** The host of this worker, which does one thing after another. */
export const commandHost = {
  /** Runs a command line. Resolves to its outcome. */
  run(line) {
    return perform('run', line, line.keep ? line.cwd : undefined)
  },

  /**
   * Starts a server, and passes its output on. Only one can run at a time. Its database stays open for later commands with `keep`.
   * @returns its exit code, and a function that passes a signal to it
   */
  async serve(line, print) {
    if (server !== undefined) throw new Error('stop the other server first')
    const ended = new Promise((resolve) => {
      server = { folder: line.cwd, print, end: resolve }
    })
    await perform('serve', line, line.cwd)
    return { ended, stop: (signal) => perform('stop', { signal }, kept) }
  },

  /** From now on, it keeps the embedded database of a project open once it is opened. */
  keep(folder) {
    kept = folder
  },

  /** Whether it keeps the embedded database of a project open, which therefore only it can query. */
  keeps: (folder) => kept === folder,
  query: (cwd, statement) => perform('query', { cwd, statement }, cwd),
  loadExtensions: (cwd, names) => perform('loadExtensions', { cwd, names }, cwd),

  /** Empties the database of a project. Returns false if that cannot be done while it is kept open. */
  empty: async (folder) => kept === folder && perform('empty', {}, folder),

  /** Closes the database of a project if it is kept. */
  async release(folder) {
    if (kept === folder) await perform('release')
  },
}

function perform(task, given, keeping) {
  const result = last.then(() => performNow(task, given))
  kept = keeping
  last = result.catch(() => {})
  return result
}

async function performNow(task, given) {
  if (isLarge && (task === 'serve' || (task === 'run' && server === undefined))) await endHost()
  if (host === undefined) startHost()
  const { child, ended } = host
  // An idle host does not keep Jest from ending.
  child.ref()
  child.channel.ref()
  try {
    child.send({ task, given })
    const reply = await Promise.race([once(child, 'reply'), ended])
    if (reply === undefined) throw new Error(`the process ended: ${task} ${JSON.stringify(given)}`)
    const [{ result, error, bytes }] = reply
    isLarge = bytes > MAX_BYTES
    if (error !== undefined) throw error
    return result
  } finally {
    if (server === undefined) release(child)
  }
}

function release(child) {
  child.unref()
  child.channel?.unref()
}

/** Ends the host, if there is one; the next command starts another. Resolves once no database is open in it. */
export async function endHost() {
  const { child, ended } = host ?? {}
  host = undefined
  child?.disconnect()
  await ended
}

function startHost() {
  isLarge = false
  // Node reads it from the environment with which the process has started: without it, the databases of commands are on a disk.
  const { TMPDIR } = process.env
  const child = fork(HOST, {
    env: TMPDIR === undefined ? {} : { TMPDIR },
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Errors stay errors.
    serialization: 'advanced',
  })
  const ended = once(child, 'exit').then(() => {
    if (host?.child !== child) return
    host = undefined
    endServer(child, null)
  })
  child.on('message', ({ served, ...reply }) => {
    if (served === undefined) child.emit('reply', reply)
    else if ('code' in served) endServer(child, served.code)
    else server.print(served.name, served.text)
  })
  host = { child, ended }
}

function endServer(child, code) {
  // Its database stays open.
  kept = server?.folder
  server?.end(code)
  server = undefined
  release(child)
}
