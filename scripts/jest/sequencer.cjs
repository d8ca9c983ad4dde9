const Sequencer = require('@jest/test-sequencer').default
const { startsProcesses } = require('./tiers.cjs')

/**
 * Runs the files that start processes first, because they take the longest whatever their size: a long one that begins last runs alone. A
 * machine that has run the suite before knows the time of each file, and Jest orders by that.
 */
module.exports = class extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests)
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted
    return [true, false].flatMap((first) => sorted.filter(({ path }) => startsProcesses(path) === first))
  }
}
