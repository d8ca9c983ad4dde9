/**
 * The first import of every program in the copy that tests start: wakes the mutant before the code is loaded, and notes the mutants that the
 * process reaches.
 */
import { noteReached, readTask, switches } from './task.mjs'

const task = readTask()
export const mutants = (globalThis.__stryker__ = switches(task))

await import('../../dist/cli/run.js')
// What was reached until here, loading reaches.
mutants.currentTestId = task.test
process.on('exit', tellReached)

/** Notes the mutants reached since the last time. */
export function tellReached() {
  if (task.mutant !== undefined) return
  noteReached(mutants.mutantCoverage)
  mutants.mutantCoverage.perTest = {}
}
