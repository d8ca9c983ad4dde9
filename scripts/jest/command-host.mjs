/**
 * A process that runs command lines one after another, for tests of what commands do. Most of the time of a command is spent on starting: Node, the
 * program, the code of the embedded database. Each message is a command line; the reply is its outcome. With `terminal`, both streams are a terminal,
 * whose text is `output`.
 */
import { createRequire } from 'node:module'
import { Readable, Writable } from 'node:stream'
// It starts its service in the folder where it was loaded, and those of commands are removed.
import 'esbuild'
import { runCommandLine } from '../../dist/cli/run.js'
import { closeKeptScratch, openKeptScratch } from './kept-scratch.mjs'

const { version } = createRequire(import.meta.url)('../../package.json')
const program = new URL('../../bin/snippetctl.js', import.meta.url).pathname
const inherited = { ...process.env }

// Each command adds listeners for the end of its process.
process.setMaxListeners(0)
process.on('message', (line) => void run(line).then((outcome) => process.send(outcome)))
process.on('disconnect', () => void closeKeptScratch().finally(() => process.exit()))

async function run({ args, cwd, env, terminal }) {
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
      openScratch: openKeptScratch,
    },
  )
  return outcome
}
