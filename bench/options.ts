import { parseArgs } from 'node:util'
import { CHECKS } from './checks/index.js'
import { CONTESTANTS } from './contestants.js'
import { WORKS } from './works.js'

/** The options of a run. */
export interface Options {
  /** Table sizes, in rows. */
  readonly rows: readonly number[]
  /** Names in the table of works. */
  readonly work: readonly string[]
  readonly contestants: readonly string[]
  readonly check: readonly string[]
  readonly profile: string | undefined
  /** Another checkout of this project, as the contestant `before`. */
  readonly before: string | undefined
  /** The duration of one sample, in ms. */
  readonly duration: number
  readonly rounds: number
  readonly connections: number
  readonly json: string | undefined
  readonly markdown: boolean
}

export const USAGE = `npm run bench -- [options]
  --rows 1k,100k,1m        sizes of the table
  --work retrieve,list10   ${[...WORKS.keys()].join(', ')}; default all
  --only ours,floor        ${[...CONTESTANTS.keys()].join(', ')}; default all
  --before DIR             also measures another checkout, as \`before\`
  --seconds 3              the duration of a sample, after a warm-up of a third of it
  --rounds 5               samples of each work and contestant, taken in turn
  --connections 32         concurrent requests
  --check growth,walk      ${[...CHECKS.keys()].join(', ')}; instead of the measurements
  --profile WORK           profiles \`ours\` instead of measuring
  --json FILE              writes every sample
  --markdown               prints tables for README.md`

const SIZE = /^([1-9]\d{0,6})(k|m)?$/i
const FACTORS: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 }

/** @throws Error that names the option and what would be right */
export function parseOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rows: { type: 'string', default: '1k,100k,1m' },
      work: { type: 'string', default: [...WORKS.keys()].join(',') },
      only: { type: 'string', default: [...CONTESTANTS.keys()].join(',') },
      before: { type: 'string' },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
      connections: { type: 'string', default: '32' },
      check: { type: 'string', default: '' },
      profile: { type: 'string' },
      json: { type: 'string' },
      markdown: { type: 'boolean', default: false },
    },
  })
  if (values.profile !== undefined) namesIn('profile', values.profile, WORKS)
  return Object.freeze({
    rows: values.rows.split(',').map(parseSize),
    work: namesIn('work', values.work, WORKS),
    contestants: namesIn('only', values.only, CONTESTANTS),
    check: values.check === '' ? [] : namesIn('check', values.check, CHECKS),
    profile: values.profile,
    before: values.before,
    duration: 1000 * parseNumber('seconds', values.seconds, 0.1),
    rounds: parseNumber('rounds', values.rounds, 1),
    connections: parseNumber('connections', values.connections, 1),
    json: values.json,
    markdown: values.markdown,
  })
}

function parseSize(text: string): number {
  const [, digits, unit = ''] = SIZE.exec(text) ?? []
  if (digits === undefined) throw new Error(`--rows must be a number such as 1000, 100k or 1m; got ${text}`)
  return Number(digits) * (FACTORS[unit.toLowerCase()] ?? 1)
}

function namesIn(option: string, text: string, table: ReadonlyMap<string, unknown>): readonly string[] {
  const names = text.split(',')
  const unknown = names.find((name) => !table.has(name))
  if (unknown === undefined) return names
  throw new Error(`--${option} must be one of ${[...table.keys()].join(', ')}; got ${unknown}`)
}

function parseNumber(option: string, text: string, least: number): number {
  const number = Number(text)
  if (number >= least && Number.isFinite(number)) return number
  throw new Error(`--${option} must be a number of at least ${least}; got ${text}`)
}
