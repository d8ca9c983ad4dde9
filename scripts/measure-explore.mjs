/**
 * Measures how long the server takes for a page of Explore with 100 rows of 25 columns, on an embedded database and, with DATABASE_URL, on that
 * empty database.
 */
import { create, withServedProject } from './served-project.mjs'

const TYPES = [
  ['string, max: 50', 'Some words about number'],
  ['integer', 42],
  ['date', '2026-11-21'],
  ['decimal, precision: 12, scale: 2', '1234.50'],
]
const FIELDS = Array.from({ length: 24 }, (_, index) => [`field_${index}`, ...TYPES[index % TYPES.length]])
const CONFIGURATION = `version: 1
api: { prefix: "", title: Wide, explore: true }
models:
  wide:
    fields:
      id: { type: bigint, primary_key: true }
${FIELDS.map(([name, type]) => `      ${name}: { type: ${type} }`).join('\n')}
resources:
  wide: { model: wide, path: /wides/ }
`
const [WARM_UP, RUNS] = [20, 200]

async function measure(name, env) {
  await withServedProject(CONFIGURATION, env, async (url) => {
    const record = Object.fromEntries(FIELDS.map(([field, , value]) => [field, value]))
    for (let made = 0; made < 100; made += 1) await create(`${url}/wides/`, record)
    const times = []
    for (let run = 0; run < WARM_UP + RUNS; run += 1) {
      const started = performance.now()
      const text = await (await fetch(`${url}/explore/wides/?page_size=100`)).text()
      times.push(performance.now() - started)
      if (text.split('<tr>').length - 1 !== 101) throw new Error('the page does not have 100 rows')
    }
    const [first] = times
    const sorted = times.slice(WARM_UP).sort((a, b) => a - b)
    const at = (share) => sorted[Math.floor((sorted.length - 1) * share)].toFixed(1)
    console.log(
      `${name}: median ${at(0.5)} ms, p95 ${at(0.95)} ms of ${RUNS} pages; the first took ${first.toFixed(0)} ms`,
    )
  })
}

const { DATABASE_URL, ...rest } = process.env
await measure('embedded', rest)
if (DATABASE_URL) await measure('PostgreSQL', process.env)
