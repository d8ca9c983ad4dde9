import { readFileSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import { HOME } from '../bench/contestants.js'
import type { Figure, Store, Tier } from './trial.js'

/** `known`: a target is missed, and why that is so is written down. */
export type Outcome = 'ok' | 'missed' | 'known' | 'skipped' | 'failed'

/** What became of one trial on one kind of database. */
export interface Result {
  readonly id: string
  readonly title: string
  readonly store: Store
  readonly amount: string
  readonly outcome: Outcome
  readonly seconds: number
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
  known: 'missed, as is known',
  skipped: 'SKIPPED',
  failed: 'FAILED',
}

export function outcomeOf(figures: readonly Figure[]): Outcome {
  const missed = figures.filter(({ met }) => !met)
  if (missed.length === 0) return 'ok'
  return missed.every(({ known }) => known !== undefined) ? 'known' : 'missed'
}

/** One trial in one line: its figures, their targets in the same order, and what came of it. */
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

/** What the figures are about. */
export function versions(postgresql: string | undefined): Readonly<Record<string, string>> {
  const { version } = JSON.parse(readFileSync(join(HOME, 'package.json'), 'utf8')) as { readonly version: string }
  return {
    snippetctl: version,
    node: process.versions.node,
    system: `${process.platform} ${release()}`,
    ...(postgresql && { postgresql }),
  }
}

/** The results as tables of Markdown. */
export function toEvidence({ tier, seed, started, seconds, versions, results }: Results): string {
  const facts = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const rows = results.flatMap((result) => {
    const { id, title, store, amount } = result
    const command = `\`npm run torture -- --tier ${tier} --only ${id} --seed ${seed}\``
    const head = `| ${id} | ${title} | ${store === 'none' ? '' : store} | ${amount} |`
    if (result.figures.length === 0)
      return [`${head} ${result.reason ?? ''} | | ${MARKS[result.outcome]} | ${command} |`]
    return result.figures.map(
      ({ text, target, met, known }) =>
        `${head} ${text} | ${target} | ${met ? 'ok' : `missed: ${known ?? ''}`} | ${command} |`,
    )
  })
  return [
    `Tier ${tier}, seed ${seed}, ${started}, ${Math.round(seconds)} s; ${facts.join(', ')}.`,
    '',
    '| | what | database | amount | figure | target | | command |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}
