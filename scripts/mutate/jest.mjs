import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../sources.mjs'

const PROGRAM = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(HOME, 'node_modules/jest/bin/jest.js'),
]
const LOOK = 500

/**
 * Runs items in Jest processes, one after another; an item has a name, test files, and input for the environment.
 * @param options.patience milliseconds after which a file of an item counts as hanging, in a loop that cannot be interrupted from inside
 * @param options.batch one process runs so much; modules that were loaded for one file are never freed
 * @param options.seen told of each outcome
 * @param options.until after which nothing is begun any more, by the clock of the process; what was under way then is done to its end
 * @returns of each name: the seconds, and a failure, or that it hung
 */
export async function runWork({ place, folder }, work, { patience, batch, seen, until = Infinity }) {
  const done = new Map()
  for (
    let left = work;
    left.length > 0 && performance.now() < until;
    left = left.filter(({ name }) => !done.has(name))
  ) {
    const before = done.size
    await runBatch(
      { place, folder },
      left.slice(0, batch),
      { patience, until: Date.now() + until - performance.now() },
      (name, outcome) => {
        if (done.has(name)) return
        done.set(name, outcome)
        seen(name, outcome, done.size)
      },
    )
    if (done.size === before && performance.now() < until)
      throw new Error(`Jest did nothing; run it with: ${JSON.stringify(left[0])}`)
  }
  return done
}

async function runBatch({ place, folder }, work, { patience, until }, tell) {
  const log = join(place, 'log.ndjson')
  const task = join(place, 'work.json')
  rmSync(log, { force: true })
  // JSON knows no infinity.
  writeFileSync(task, JSON.stringify({ work, log, until: Math.min(until, Number.MAX_SAFE_INTEGER) }))
  const files = [...new Set(work.flatMap((item) => item.files))].map((file) => join(folder, file))
  const options = [
    '-i',
    '--forceExit',
    '--rootDir',
    folder,
    '--config',
    join(folder, 'jest.mutate.mjs'),
    '--runTestsByPath',
    ...files,
  ]
  const child = spawn(process.execPath, [...PROGRAM, ...options], {
    cwd: folder,
    env: { ...process.env, MUTATE_WORK: task },
    stdio: ['ignore', 'ignore', process.env.MUTATE_SHOW ? 'inherit' : 'ignore'],
    // Its own group, because a process that is stopped in a loop does not stop its database.
    detached: true,
  })
  const stop = () => {
    process.kill(-child.pid, 'SIGTERM')
    process.exit(130)
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  let hung = false
  let lines = 0
  let since = performance.now()
  const timer = setInterval(() => {
    const entries = entriesOf(log)
    if (entries.length !== lines) since = performance.now()
    lines = entries.length
    for (const [name, outcome] of ended(entries)) tell(name, outcome)
    // The start of the database is in the first.
    if (performance.now() - since < (lines === 0 ? 60_000 : patience)) return
    hung = true
    stopGroup(child)
  }, LOOK)
  await once(child, 'exit')
  clearInterval(timer)
  stopGroup(child)
  process.off('SIGINT', stop).off('SIGTERM', stop)
  const entries = entriesOf(log)
  for (const [name, outcome] of ended(entries)) tell(name, outcome)
  const last = entries.at(-1)
  if (last === undefined || last.ended) return
  const { name, file } = last
  // What was under way when the process ended has ended it.
  tell(name, { seconds: 0, hung, failure: { file, test: hung ? '(hung)' : '(the process)' } })
}

/** Kills a process and those that it has started: mutants can keep them from ending. */
function stopGroup({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

function entriesOf(log) {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

function ended(entries) {
  return entries.filter((entry) => entry.ended).map(({ name, seconds, failure }) => [name, { seconds, failure }])
}
