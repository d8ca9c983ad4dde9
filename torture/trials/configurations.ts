import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HOME } from '../../bench/contestants.js'
import { createRandom, mutate, SEEDS } from '../../test/support/config-mutations.js'
import type { ConfigVerdict } from '../config-child.js'
import { type Arena, atMost, format, trial } from '../trial.js'

interface Amount {
  readonly files: number
  /** How many of the accepted ones are served. */
  readonly served: number
}

const LONGEST = 2_000
const MAX_MEMORY = 300 * 1024 * 1024
const CHILD = fileURLToPath(new URL('config-child.js', import.meta.url))

interface Outcome {
  readonly counts: {
    crashes: number
    hangs: number
    placeless: number
    unserved: number
    accepted: number
    served: number
  }
  rss: number
}

/** Valid configurations with lines, scalars and bytes changed. */
export const configurations = trial<Amount>({
  id: 'T11',
  title: 'mutated configurations cause no crash or hang, and every error has a position',
  stores: ['postgres'],
  tiers: {
    commit: { files: 500, served: 10 },
    nightly: { files: 10_000, served: 200 },
    release: { files: 200_000, served: 2_000 },
  },
  run: async (arena, amount) => {
    const url = await arena.database()
    const next = createRandom(arena.random.between(0, 2 ** 31))
    const more = ['docs/example.yaml', 'test/applications/library.yaml'].map((path) =>
      readFileSync(join(HOME, path), 'utf8'),
    )
    const kept = (arena.kept() as { readonly text: string }[]).map(({ text }) => Buffer.from(text, 'latin1'))
    const files = [...kept, ...Array.from({ length: amount.files }, () => mutate(next, [...SEEDS, ...more]))]
    const counts = { crashes: 0, hangs: 0, placeless: 0, unserved: 0, accepted: 0, served: 0 }
    const outcome: Outcome = { counts, rss: 0 }
    let child = await start()
    for (const [at, bytes] of files.entries()) {
      const served = counts.served < amount.served
      const sound = await tryOne(arena, outcome, child, {
        at,
        text: Buffer.from(bytes).toString('latin1'),
        ...(served && { url }),
      })
      if (!sound) child = await start()
    }
    child.kill('SIGKILL')
    return [
      atMost(
        counts.crashes,
        0,
        `${counts.crashes} crashes with ${format(files.length)} files, of which ${format(counts.accepted)} were accepted`,
      ),
      atMost(counts.hangs, 0, `${counts.hangs} took more than ${format(arena.boundOf(LONGEST) / 1000)} s`),
      atMost(counts.placeless, 0, `${counts.placeless} errors without a position`),
      atMost(counts.unserved, 0, `${counts.unserved} of ${counts.served} accepted files do not serve their routes`),
      atMost(
        outcome.rss / 1024 / 1024,
        MAX_MEMORY / 1024 / 1024,
        `at most ${format(outcome.rss / 1024 / 1024)} MB`,
        ' MB',
      ),
    ]
  },
})

/** Resolves once the child has loaded its modules: the time of a file does not include that. */
async function start(): Promise<ChildProcess> {
  const child = fork(CHILD, { stdio: 'ignore' })
  const [first] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown]
  if (first !== 'ready') throw new Error(`the process that checks files ended with ${String(first)}`)
  return child
}

interface Mutant {
  readonly at: number
  readonly text: string
  readonly url?: string
}

/** Answers whether the child can be given another one. */
async function tryOne(
  arena: Arena,
  outcome: Outcome,
  child: ChildProcess,
  { at, text, url }: Mutant,
): Promise<boolean> {
  const { counts } = outcome
  const found = (fault: string) => {
    arena.say(`file ${at}: ${fault}`)
    // Not the stack, which names places of this machine.
    arena.keep(`${arena.seed}-${at}`, { fault: fault.split('\n')[0], text })
  }
  const timer = new AbortController()
  const late = setTimeout(() => timer.abort(), arena.boundOf(url === undefined ? LONGEST : 5 * LONGEST))
  child.send({ text, ...(url !== undefined && { url }) })
  const exited = once(child, 'exit', timer).then(() => ['exit' as const])
  const told = once(child, 'message', timer) as Promise<[ConfigVerdict | { readonly failure: string }]>
  told.catch(() => undefined)
  exited.catch(() => undefined)
  const verdict = await Promise.race([told, exited]).then(
    ([value]) => value,
    () => 'hang' as const,
  )
  clearTimeout(late)
  timer.abort()
  if (verdict === 'hang' || verdict === 'exit') {
    counts[verdict === 'hang' ? 'hangs' : 'crashes'] += 1
    found(verdict)
    child.kill('SIGKILL')
    return false
  }
  if ('failure' in verdict) {
    counts.crashes += 1
    found(verdict.failure)
    return true
  }
  outcome.rss = Math.max(outcome.rss, verdict.rss)
  counts.accepted += Number(verdict.accepted)
  counts.served += Number(verdict.accepted && url !== undefined)
  counts.placeless += verdict.placeless.length
  counts.unserved += Number(verdict.unserved.length > 0)
  for (const fault of [...verdict.placeless, ...verdict.unserved]) found(fault)
  return true
}
