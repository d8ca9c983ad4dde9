import type { Random } from './random.js'
import type { Postgres, PostgresOptions } from './postgres.js'
import type { Served, ServeWishes } from './serve.js'

/** The extent of a run: before a change is accepted, every night, before a release. */
export type Tier = 'commit' | 'nightly' | 'release'

export const TIERS: readonly Tier[] = ['commit', 'nightly', 'release']

/** Where the server under test keeps its records; `none` for a trial without a database. */
export type Store = 'postgres' | 'embedded' | 'none'

/** A measured figure and its target. */
export interface Figure {
  readonly text: string
  readonly value: number
  readonly target: string
  readonly met: boolean
  /** Why a target that is missed is not asked for yet. */
  readonly known?: string
}

/** The resources of a trial, which are removed after it. */
export interface Arena {
  readonly tier: Tier
  readonly seed: number
  readonly random: Random
  readonly store: Store
  /** A folder of this trial alone, inside the checkout, so that packages are found from it. */
  readonly folder: string
  /** The bound of a time in this tier. The commit tier shares its machine, so it tolerates a tenfold excess: it detects hangs, and the nightly tier slowness. */
  boundOf(milliseconds: number): number
  /** A figure in ms. */
  inTime(value: number, bound: number, text: string): Figure
  /** Reports progress. */
  say(line: string): void
  /** Runs after the trial; the last one first. */
  later(cleanUp: () => Promise<unknown> | unknown): void
  /** The URL of a new, empty database on the PostgreSQL server that all trials share. */
  database(): Promise<string>
  /** A PostgreSQL server of this trial alone, which may be broken; it is not running yet. */
  postgres(options?: PostgresOptions): Promise<Postgres>
  /** Starts the service with its schema, on a database of `store` unless a URL is given. */
  serve(wishes?: ServeWishes): Promise<Served>
  /** Keeps an input that showed a fault as a case that the commit tier replays. */
  keep(name: string, finding: unknown): void
  /** What earlier runs of this trial have saved. */
  kept(): readonly unknown[]
}

/** A test of the campaign: its number, its title, where it runs, how much, and its code. */
export interface Trial {
  readonly id: string
  readonly title: string
  readonly stores: readonly Store[]
  /** Whether its figures are about time or memory, so that it must run alone. */
  readonly alone?: boolean
  /** For each tier the amount in words, or why it is left out. */
  readonly amount: (tier: Tier) => string
  readonly run: (arena: Arena) => Promise<readonly Figure[]>
}

interface TrialParts<Amount> extends Omit<Trial, 'run' | 'amount'> {
  /** The amount for each tier; a text is the reason for skipping it. */
  readonly tiers: Readonly<Record<Tier, Amount | string>>
  readonly run: (arena: Arena, amount: Amount) => Promise<readonly Figure[]>
}

/** A trial that could not be run here, and why. */
export class Skipped extends Error {
  override name = 'Skipped'
}

/** Creates a trial from its table of amounts; `run` receives the amount of the tier. */
export function trial<Amount extends object>({ tiers, run, ...parts }: TrialParts<Amount>): Trial {
  return {
    ...parts,
    amount: (tier) => describe(tiers[tier]),
    run: (arena) => {
      const amount = tiers[arena.tier]
      if (typeof amount === 'string') throw new Skipped(amount)
      return run(arena, amount)
    },
  }
}

function describe(amount: object | string): string {
  if (typeof amount === 'string') return amount
  return Object.entries(amount)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}

/** A figure that may be at most `bound`. */
export function atMost(value: number, bound: number, text: string, unit = ''): Figure {
  const target = bound === 0 ? '0' : `≤ ${format(bound)}${unit}`
  return { text, value, target, met: value <= bound }
}

/** A figure that must be at least `bound`. */
export function atLeast(value: number, bound: number, text: string, unit = ''): Figure {
  return { text, value, target: `≥ ${format(bound)}${unit}`, met: value >= bound }
}

/** The same figure, whose target need not be reached yet. */
export function known(figure: Figure, reason: string): Figure {
  return { ...figure, known: reason }
}

/** A number for people: 9 312, 0.25. */
export function format(number: number): string {
  if (!Number.isFinite(number)) return String(number)
  const rounded = Math.abs(number) >= 100 ? Math.round(number) : Math.round(number * 100) / 100
  const [whole = '', part] = String(rounded).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ' ')
  return part === undefined ? grouped : `${grouped}.${part}`
}
