import { readFileSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import { HOME } from '../bench/contestants.js'
import type { Figure, Store, Tier } from './trial.js'

/** `known`: a target is missed, and why that is so is written down. */
export type Outcome = 'ok' | 'missed' | 'known' | 'skipped' | 'failed'

/** The result of one trial on one kind of database. */
export interface Result {
  readonly id: string
  readonly title: string
  readonly store: Store
  readonly amount: string
  readonly outcome: Outcome
  readonly seconds: number
  /** How many processes wanted to run on the machine before it began. */
  readonly load?: number | undefined
  readonly figures: readonly Figure[]
  /** Why it was skipped or failed. */
  readonly reason?: string
}

/** A whole run. */
export interface Results {
  readonly tier: Tier
  readonly seed: number
  readonly started: string
  readonly seconds: number
  readonly versions: Readonly<Record<string, string>>
  readonly results: readonly Result[]
}

const MARKS: Readonly<Record<Outcome, string>> = {
  ok: 'ok',
  missed: 'MISSED',
  known: 'missed (known)',
  skipped: 'SKIPPED',
  failed: 'FAILED',
}

export function outcomeOf(figures: readonly Figure[]): Outcome {
  const missed = figures.filter(({ met }) => !met)
  if (missed.length === 0) return 'ok'
  return missed.every(({ known }) => known !== undefined) ? 'known' : 'missed'
}

/** One trial in one line: its figures, their targets in the same order, and the result. */
export function toLine({ id, store, figures, outcome, reason }: Result): string {
  const where = store === 'none' ? '' : `${store}: `
  const mark = MARKS[outcome]
  if (figures.length === 0) return `${id.padEnd(4)} ${where}${mark}: ${reason ?? ''}`
  const found = figures
    .map(({ text, met, known }) => (met ? text : `*${text}*${known ? ` (${known})` : ''}`))
    .join(', ')
  const targets = figures.map(({ target }) => target).join('; ')
  return `${id.padEnd(4)} ${where}${found} (target: ${targets})  ${mark}`
}

/** The versions that the figures are about. */
export function versions(postgresql: string | undefined): Readonly<Record<string, string>> {
  const { version } = JSON.parse(readFileSync(join(HOME, 'package.json'), 'utf8')) as { readonly version: string }
  return {
    snippetctl: version,
    node: process.versions.node,
    system: `${process.platform} ${release()}`,
    ...(postgresql && { postgresql }),
  }
}

/** Renders the results of several runs as a Markdown table, preceded by the versions. */
export function toEvidence(runs: readonly Results[]): string {
  const facts = new Set(runs.flatMap(({ versions }) => Object.entries(versions).map((fact) => fact.join(' '))))
  const rows = runs
    .flatMap((run) => run.results.flatMap((result) => toRows(run, result)))
    .sort((a, b) => a.id - b.id)
    .map(({ row }) => row)
  return [
    `${[...facts].join(', ')}.`,
    '',
    '| | What | Database, amount | Figure | Target | | Run |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function toRows(
  { tier, seed, started }: Results,
  result: Result,
): readonly { readonly id: number; readonly row: string }[] {
  const { id, title, store, amount, seconds, load, outcome, reason = '' } = result
  const where = store === 'none' ? amount : `${store}, ${amount}`
  const busy = load === undefined ? '' : `, load ${load.toFixed(1)}`
  const command = `\`--tier ${tier} --only ${id} --seed ${seed}\``
  const run = `${command}, ${started.slice(0, 10)}, ${Math.round(seconds)} s${busy}`
  const told: readonly Figure[] =
    result.figures.length > 0
      ? result.figures
      : [{ text: reason.split('\n')[0] ?? '', value: 0, target: '', met: false, known: MARKS[outcome] }]
  return told.map(({ text, target, met, known }, at) => {
    const head = at === 0 ? `${id} | ${title} | ${where}` : '| |'
    const verdict = met ? 'met' : `missed${known === undefined ? '' : `: ${known}`}`
    return { id: Number(id.slice(1)), row: `| ${head} | ${text} | ${target} | ${verdict} | ${at === 0 ? run : ''} |` }
  })
}
