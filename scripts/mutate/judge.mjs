import { runWork } from './jest.mjs'

/** A loop with this many iterations counts as endless. */
const MOST_HITS = 1_000_000
/** The timeout of a file in milliseconds. */
const PATIENCE = 90_000
/** How many mutants are tested between two controls without a mutation, whose failures show how reliable the results are. */
const CONTROL_EACH = 12
const CONTROL_FILES = 3

/**
 * Wakes one mutant after the other and runs its test files until one fails.
 * @returns a verdict for each, and for how many controls, in which nothing was changed, a test failed all the same
 */
export async function judge(planted, work, until, say) {
  const tasks = []
  for (const [at, { mutant, files, only }] of work.entries()) {
    if (files.length === 0) continue
    tasks.push({ name: mutant.id, files, only, mutant: mutant.id, hitLimit: MOST_HITS })
    if (at % CONTROL_EACH === 0)
      tasks.push({ name: `control ${mutant.id}`, files: files.slice(0, CONTROL_FILES), only, mutant: 'none' })
  }
  const places = new Map(work.map(({ mutant }) => [mutant.id, placeOf(mutant)]))
  const seen = (name, { failure, hung }, count) => {
    const noticed = failure ?? hung
    if (!noticed && places.has(name)) say(`${count} of ${tasks.length}: survived ${places.get(name)}`)
    else if (count % 10 === 0) say(`${count} of ${tasks.length}`)
  }
  const outcomes = await runWork(planted, tasks, { patience: PATIENCE, batch: 20, seen, until })
  const last = work.findLastIndex(({ mutant }) => outcomes.has(mutant.id))
  const judged = work.slice(0, last + 1)
  const verdicts = judged.map(({ mutant, files }) => ({ ...mutant, ...verdictOf(files, outcomes.get(mutant.id)) }))
  const controls = [...outcomes].filter(([name]) => name.startsWith('control'))
  const wrong = controls.filter(([, { failure, hung }]) => failure ?? hung)
  for (const [name, { failure }] of wrong) say(`${name} failed: ${JSON.stringify(failure)}`)
  return { verdicts, controls: { count: controls.length, failed: wrong.length } }
}

function placeOf({ file, line, column, original, replacement }) {
  return `${file}:${line}:${column} ${original} -> ${replacement}`.replace(/\s+/g, ' ')
}

function verdictOf(files, outcome) {
  if (files.length === 0) return { verdict: 'not reached' }
  const { failure, hung, seconds } = outcome
  if (hung || /Hit count limit|Exceeded timeout/.test(failure?.message ?? ''))
    return { verdict: 'timed out', seconds, by: failure }
  return failure ? { verdict: 'killed', seconds, by: failure } : { verdict: 'survived', seconds, tried: files.length }
}
