/** Makes a Postman collection of a document and has newman run it: `collection.mjs DOCUMENT URL CONFIGURATION`. Ends with 1 on a failure. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import newman from 'newman'

const [document, target, configuration] = process.argv.slice(2)
const output = `${document}.collection.json`
const portman = 'node_modules/@apideck/portman/bin/portman'
const made = spawnSync(
  process.execPath,
  [portman, '--local', document, '--output', output, '--portmanConfigFile', configuration, '--baseUrl', target],
  { encoding: 'utf8' },
)
if (made.status !== 0) throw new Error(made.stdout + made.stderr)
newman.run({ collection: JSON.parse(readFileSync(output, 'utf8')) }, (error, summary) => {
  if (error) throw error
  const { failures, stats } = summary.run
  for (const { source, error: wrong } of failures) console.error(`${source?.name}: ${wrong.name}: ${wrong.message}`)
  console.error(`${stats.requests.total} requests, ${stats.assertions.total} assertions, ${failures.length} failures`)
  process.exitCode = failures.length === 0 && stats.assertions.total > 0 ? 0 : 1
})
