/**
 * A process that runs command lines one after another, for tests of what commands do. Most of the time of a command is spent on starting: Node, the
 * program, the code of the embedded database. Each message is a task and its parameter; the reply is its result and the memory of the process.
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
const tasks = { run, query, loadExtensions, empty: emptyKeptProject, release: releaseKeptProject }
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
async function run({ args, cwd, env, terminal, keep }) {
  if (!keep) await releaseKeptProject()
  process.chdir(cwd)
  process.env = { ...inherited, ...env }
  const outcome = { code: null, stdout: '', stderr: '', output: '' }
  const collect = (name) => {
    const stream = new Writable({
      decodeStrings: false,
      write: (text, _encoding, done) => {
        outcome[name] += text
        outcome.output += text
        done()
      },
    })
    return Object.assign(stream, { isTTY: terminal })
  }
  const stdin = Readable.from([])
  const surroundings = { argv: args, cwd, env: process.env, version, program, stdin, parent: undefined }
  const ignore = () => {}
  await runCommandLine(
    { ...surroundings, stdout: collect('stdout'), stderr: collect('stderr') },
    {
      onStop: ignore,
      onCrash: ignore,
      onUnwritable: ignore,
      onReplace: ignore,
      onExit: ignore,
      exit: (code) => process.exit(code),
      finish: (code) => {
        outcome.code = code
      },
      openDatabase: keep ? openKeptProject : openDatabase,
      openScratch: openKeptScratch,
    },
  )
  return outcome
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
