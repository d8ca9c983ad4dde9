/**
 * Mutation testing: plants small mistakes (those of StrykerJS) in a copy of the sources, a random sample of them, one at a time, and runs the
 * test files that reach it. `npm run mutate -- --help`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { candidates } from './mutate/candidates.mjs'
import { coverage } from './mutate/coverage.mjs'
import { judge } from './mutate/judge.mjs'
import { FOLDERS, plant } from './mutate/plant.mjs'
import { report, toText } from './mutate/report.mjs'
import { draw } from './mutate/random.mjs'

const USAGE = `npm run mutate -- [options]
  --sample N      how many mutants are drawn, of all folders together; 300 when left out
  --seed N        draws the same ones again
  --files N       at most so many test files judge one mutant; 12 when left out. What passes them all has survived
  --minutes N     ends after so many, with those that were judged by then: the first of a sample are a sample
  --again FILE    only those that survived in these results
  --json FILE     writes every verdict

The sources are ${FOLDERS.join(', ')}. They are mutated also in the programs that tests start: commands, servers and their workers.
Which tests reach which mutant is recorded first, once for each test file and state of the
sources, in .snippetctl/mutate. SNIPPETCTL_TEST_DB says on which database, as for the tests.`

const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    files: { type: 'string', default: '12' },
    minutes: { type: 'string', default: '1000' },
    again: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(USAGE)
else await main()

async function main() {
  const say = (line) => void process.stderr.write(`mutate: ${line}\n`)
  const started = performance.now()
  const planted = await plant()
  say(`${planted.mutants.length} mutants in ${planted.folder}`)
  const reached = await coverage(planted, say)
  const sample =
    values.again === undefined ? draw(planted.mutants, wholeNumber('sample'), wholeNumber('seed')) : survivors()
  say(`${sample.length} of them by seed ${values.seed}`)
  const work = sample.map((mutant) => ({ mutant, ...candidates(mutant, reached, wholeNumber('files')) }))
  const { verdicts, controls } = await judge(planted, work, started + wholeNumber('minutes') * 60_000, say)
  const results = report({ planted, verdicts, controls, seed: Number(values.seed), started })
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, undefined, 2)}\n`)
  console.log(toText(results))

  function survivors() {
    const { verdicts: before } = JSON.parse(readFileSync(values.again, 'utf8'))
    const left = new Set(
      before.filter(({ verdict }) => verdict === 'survived' || verdict === 'not reached').map(nameOf),
    )
    return planted.mutants.filter((mutant) => left.has(nameOf(mutant)))
  }
}

/** Numbers of mutants change with the sources; this does not, unless the line is another. */
function nameOf({ file, line, column, replacement }) {
  return `${file}:${line}:${column} ${replacement}`
}

function wholeNumber(name) {
  const text = values[name]
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw new Error(`--${name} ${text} is no whole number`)
}
