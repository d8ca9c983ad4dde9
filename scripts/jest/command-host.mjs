/**
 * A process that runs command lines one after another, for tests of what commands do. Most of the time of a command is spent on starting: Node, the
 * program, the code of the embedded database. Each message is a task and its parameter; the reply is its result and the memory of the process.
 * A server runs beside them; its output and its end are messages of their own, `served`.
 */
import { createRequire } from 'node:module'
import { Readable, Writable } from 'node:stream'
// It starts its service in the folder where it was loaded, and those of commands are removed.
import 'esbuild'
import { runCommandLine } from '../../dist/cli/run.js'
import { openDatabase } from '../../dist/src/internal.js'
import { emptyKeptProject, openKeptProject, releaseKeptProject } from './kept-project.mjs'
import { closeKeptScratch, openKeptScratch } from './kept-scratch.mjs'

const { version } = createRequire(import.meta.url)('../../package.json')
const program = new URL('../../bin/snippetctl.js', import.meta.url).pathname
const inherited = { ...process.env }

// Each command adds listeners for the end of its process.
process.setMaxListeners(0)
const tasks = { run, serve, stop, query, loadExtensions, empty: emptyKeptProject, release: releaseKeptProject }
process.on('message', ({ task, given }) => {
  tasks[task](given).then(
    (result) => process.send({ result, bytes: process.memoryUsage.rss() }),
    (error) => process.send({ error, bytes: process.memoryUsage.rss() }),
  )
})
process.on('disconnect', () => {
  void Promise.allSettled([closeKeptScratch(), releaseKeptProject()]).then(() => process.exit())
})

/**
 * Runs a command line. With `terminal`, both streams are a terminal, whose text is `output`. With `keep`, the embedded database of the project stays
 * open for later commands and queries; nothing else can open it before it is released, or before a command without `keep`.
 */
async function run(line) {
  if (!line.keep) await releaseKeptProject()
  const outcome = { code: null, stdout: '', stderr: '', output: '' }
  const print = (name, text) => {
    outcome[name] += text
    outcome.output += text
  }
  outcome.code = await runLine(line, { print, onStop: () => {} })
  return outcome
}

/** Passes a signal to the server. */
let signalServer

/** Starts a server, which keeps its database open for later commands. */
async function serve(line) {
  const print = (name, text) => process.send({ served: { name, text } })
  const onStop = (listener) => {
    signalServer = listener
  }
  runLine({ ...line, keep: true }, { print, onStop }).then(
    (code) => process.send({ served: { code } }),
    // As an uncaught error would.
    (error) => setImmediate(() => Promise.reject(error)),
  )
}

async function stop({ signal }) {
  signalServer?.(signal)
}

/** Resolves to the exit code of a command line. */
async function runLine({ args, cwd, env, terminal, keep }, { print, onStop }) {
  process.chdir(cwd)
  process.env = { ...inherited, ...env }
  const streamOf = (name) => {
    const write = (text, _encoding, done) => {
      print(name, String(text))
      done()
    }
    return Object.assign(new Writable({ decodeStrings: false, write }), { isTTY: terminal })
  }
  const [stdin, stdout, stderr] = [Readable.from([]), streamOf('stdout'), streamOf('stderr')]
  const inputs = { argv: args, cwd, env: process.env, startedAt: Date.now() + 1, version, program, parent: undefined }
  const ignore = () => {}
  const endings = []
  let [code, hasEnded] = [null, false]
  await runCommandLine(
    { ...inputs, stdin, stdout, stderr },
    {
      onStop,
      onCrash: ignore,
      onUnwritable: ignore,
      onReplace: ignore,
      onExit: (listener) => {
        endings.push(listener)
      },
      // A stopped server would end its process after a while.
      exit: (number) => {
        if (!hasEnded) process.exit(number)
      },
      finish: (number) => {
        code = number
      },
      openDatabase: keep ? openKeptProject : openDatabase,
      openScratch: openKeptScratch,
    },
  )
  for (const end of endings) end()
  hasEnded = true
  return code
}

/** Runs a statement in the embedded database of a project, and keeps it open. */
function query({ cwd, statement }) {
  return onKeptProject(cwd, (database) => database.query(statement))
}

function loadExtensions({ cwd, names }) {
  return onKeptProject(cwd, (database) => database.loadExtensions(names))
}

async function onKeptProject(cwd, work) {
  process.chdir(cwd)
  const database = await openKeptProject({ url: undefined, directory: '.snippetctl/pg' }, {})
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
