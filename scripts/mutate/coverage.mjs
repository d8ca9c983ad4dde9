import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { runWork } from './jest.mjs'

/** The tests that run: the others test the repository, the plans and runs of migrations, or packages. */
const ASKED =
  /^(?:access|auth|cli|config|data|db|dialects|explore|features|fields|health|http|lookups|migrations\/(?:drift|introspect)|openapi|pagination|plugins|resource|snippets|types)\/|^docs\/(?:docs-commands|plugin-guide)/
/** These take long. Fewer tests run for it, so more mutants survive. */
const NOT_ASKED =
  /\/(?:admin-port|deploy|field-conformance|highlight|json-bodies|new-project|package|plugin-changes|random-rules|random-schemas|settings|startup-imports)/
/** A file that takes longer to load and run, in seconds, judges nothing. */
const SLOW = 45

/**
 * Which mutants each test reaches, and how long it takes; recorded where it is not known yet.
 * @returns of each file: the names of its tests that pass by themselves and their seconds; of each mutant that they reach the places of
 * those tests in the list, or '*' for most of them; the mutants that loading the file reaches; and of each source the share that the tests reach
 */
export async function coverage(planted, say) {
  const { folder, place, print, mutants } = planted
  const known = join(place, 'reached', print)
  mkdirSync(known, { recursive: true })
  const files = readdirSync(join(folder, 'test'), { recursive: true })
    .map((name) => name.replaceAll(sep, '/'))
    .filter((name) => name.endsWith('.test.ts') && ASKED.test(name) && !NOT_ASKED.test(name))
  const states = files.map((name) => ({
    name,
    kept: join(known, `${name.replaceAll('/', '.')}.${printOf(folder, name)}.json`),
  }))
  const missing = states.filter(({ kept }) => !existsSync(kept))
  if (missing.length > 0) say(`recording what ${missing.length} test files reach`)
  const work = missing.map(({ name, kept }) => ({ name, files: [`test/${name}`], coverageFile: `${kept}.part` }))
  await runWork(planted, work, {
    patience: 180_000,
    batch: 20,
    seen: (name, outcome) => {
      const { kept } = missing.find((state) => state.name === name)
      const entry = entryOf(`${kept}.part`, outcome)
      writeFileSync(kept, JSON.stringify(entry))
      say(`${name}: ${Object.keys(entry.reached).length} in ${entry.seconds.toFixed(1)} s`)
      if (outcome.failure) say(`  not all of it passes by itself: ${JSON.stringify(outcome.failure)}`)
    },
  })
  return states
    .map(({ name, kept }) => ({ file: `test/${name}`, ...JSON.parse(readFileSync(kept, 'utf8')) }))
    .filter(({ seconds, tests }) => seconds <= SLOW && tests.length > 0)
    .map(({ loaded, ...rest }) => ({ ...rest, loaded: new Set(loaded), shares: sharesOf(rest.reached, mutants) }))
}

function entryOf(part, { failure, hung, seconds: all }) {
  const nothing = { tests: [], times: [], reached: {}, loaded: [], seconds: all }
  if (hung || !existsSync(part)) return nothing
  const { perTest, loaded, seconds } = JSON.parse(readFileSync(part, 'utf8'))
  rmSync(part)
  if (failure && failure.all === undefined) return nothing
  const tests = Object.keys(seconds).filter((name) => !failure?.all.includes(name))
  const reached = {}
  for (const [at, name] of tests.entries())
    for (const id of Object.keys(perTest[name] ?? {})) (reached[id] ??= []).push(at)
  for (const id of Object.keys(perTest['(hooks)'] ?? {})) reached[id] = '*'
  for (const [id, places] of Object.entries(reached)) if (places.length > tests.length / 2) reached[id] = '*'
  const times = tests.map((name) => seconds[name])
  return { tests, times, reached, loaded: Object.keys(loaded), seconds: all }
}

function sharesOf(reached, mutants) {
  const counts = {}
  for (const { id, file } of mutants) {
    const count = (counts[file] ??= { all: 0, reached: 0 })
    count.all += 1
    if (reached[id] !== undefined) count.reached += 1
  }
  return Object.fromEntries(Object.entries(counts).map(([file, count]) => [file, count.reached / count.all]))
}

/** Of a test file with the files of cases that it names. */
function printOf(folder, name) {
  const text = readFileSync(join(folder, 'test', name), 'utf8')
  const cases = [...new Set(text.match(/test\/fixtures\/[\w.-]+\.txt/g))]
  const hash = createHash('sha256').update(text)
  for (const file of cases) hash.update(readFileSync(join(folder, file)))
  return hash.digest('hex').slice(0, 12)
}
