import { parseArgs } from 'node:util'
import { type Tier, TIERS, type Trial } from './trial.js'

/** The options of a run. */
export interface Options {
  readonly tier: Tier
  readonly trials: readonly Trial[]
  readonly seed: number
  readonly json: string | undefined
  readonly planted: boolean
  /** Parts of the names of the bugs that are planted; all of them when left out. */
  readonly bugs: readonly string[]
  /** Files of results that are written out for people. */
  readonly evidence: readonly string[] | undefined
}

/** The commit tier does the same on every machine. */
const FIXED_SEED = 20_260_101

export const usage = (trials: readonly Trial[]): string => `npm run torture -- [options]
  --tier commit|nightly|release   the extent; default commit
  --only T2,T3                    only these trials, or alone (they need the machine to themselves), or shared (the others)
  --seed N                        repeats a run; the commit tier has a fixed seed
  --json FILE                     writes every figure
  --planted                       plants known bugs instead, each of which a test must catch
  --bug TEXT                      with --planted: only bugs whose names contain this text; repeatable
  --evidence FILE                 prints the results in FILE as a table instead; repeatable

${trials.map(({ id, title }) => `  ${id.padEnd(5)}${title}`).join('\n')}`

/** @throws Error that names the option and what would be right */
export function parseOptions(argv: readonly string[], trials: readonly Trial[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      tier: { type: 'string', default: 'commit' },
      only: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'string' },
      planted: { type: 'boolean', default: false },
      bug: { type: 'string', multiple: true, default: [''] },
      evidence: { type: 'string', multiple: true },
    },
  })
  const tier = TIERS.find((name) => name === values.tier)
  if (tier === undefined) throw new Error(`--tier must be one of ${TIERS.join(', ')}; got ${values.tier}`)
  return Object.freeze({
    tier,
    trials: values.only === undefined ? trials : chosen(values.only, trials),
    seed: values.seed === undefined ? seedFor(tier) : parseSeed(values.seed),
    json: values.json,
    planted: values.planted,
    bugs: values.bug,
    evidence: values.evidence,
  })
}

function seedFor(tier: Tier): number {
  return tier === 'commit' ? FIXED_SEED : Math.floor(Math.random() * 2 ** 31)
}

function parseSeed(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw new Error(`--seed must be a whole number; got ${text}`)
}

function chosen(text: string, trials: readonly Trial[]): readonly Trial[] {
  if (text === 'alone') return trials.filter(({ alone }) => alone)
  if (text === 'shared') return trials.filter(({ alone }) => !alone)
  return text.split(',').map((name) => {
    const found = trials.find(({ id }) => id === name.toUpperCase())
    if (found) return found
    throw new Error(`--only ${name} is not there; right are alone, shared, ${trials.map(({ id }) => id).join(', ')}`)
  })
}
