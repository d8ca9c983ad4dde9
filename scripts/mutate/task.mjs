/**
 * What the processes of a campaign tell each other, in files next to the copy: the runner and the environment say which mutant is awake and which test
 * runs; every process that a test starts says which mutants it has reached.
 */
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PLACE = join(import.meta.dirname, '../../..')
const TASK = join(PLACE, 'task.json')
const REACHED = join(PLACE, 'reached.ndjson')

/** @returns `mutant`, undefined while coverage is recorded; its `hitLimit`; and the `test` that runs */
export function readTask() {
  return JSON.parse(readFileSync(TASK, 'utf8'))
}

export function writeTask(task) {
  writeFileSync(TASK, JSON.stringify(task))
}

/** The state that the switches of mutants read, by the names that StrykerJS gives it. */
export function switches({ mutant, hitLimit }) {
  return {
    activeMutant: mutant,
    hitCount: mutant === undefined ? undefined : 0,
    hitLimit,
    mutantCoverage: { static: {}, perTest: {} },
  }
}

export function noteReached(mutantCoverage) {
  appendFileSync(REACHED, `${JSON.stringify(mutantCoverage)}\n`)
}

/** Returns what was noted, and forgets it. */
export function takeReached() {
  if (!existsSync(REACHED)) return []
  const lines = readFileSync(REACHED, 'utf8').split('\n').slice(0, -1)
  rmSync(REACHED)
  return lines.map((line) => JSON.parse(line))
}
