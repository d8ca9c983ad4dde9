import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CHECKS } from './checks/index.js'
import { type BenchServer, startPostgres } from './cluster.js'
import { checkout, type Contestant, CONTESTANTS } from './contestants.js'
import { type Loader, startLoader } from './loader.js'
import { type Footprint, measure, type Measured } from './measure.js'
import { type Options, parseOptions, USAGE } from './options.js'
import { profile } from './profile.js'
import { describeLoad, render, type Table, toTables } from './report.js'

/** What every kind of run needs. */
interface Run {
  readonly options: Options
  readonly postgres: BenchServer
  readonly loader: Loader
  readonly contestants: ReadonlyMap<string, Contestant>
}

const say = (line: string) => process.stderr.write(`bench: ${line}\n`)

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return console.log(USAGE)
  const options = readOptions()
  if (options === undefined) return
  const postgres = await startPostgres()
  // Otherwise PostgreSQL would keep running.
  process.once('SIGINT', () => void postgres.remove().then(() => process.exit(130)))
  const loader = startLoader()
  try {
    say(`PostgreSQL ${postgres.version}, Node ${process.versions.node}; ${describeLoad()}`)
    const tables = await run({ options, postgres, loader, contestants: chosen(options) })
    for (const table of tables) console.log(`\n${render(table, options.markdown)}`)
    say(describeLoad())
  } finally {
    loader.stop()
    await postgres.remove()
  }
}

function readOptions(): Options | undefined {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`)
    process.exitCode = 2
    return undefined
  }
}

function chosen({ contestants, before }: Options): ReadonlyMap<string, Contestant> {
  const named = [...CONTESTANTS].filter(([name]) => contestants.includes(name))
  if (before === undefined) return new Map(named)
  return new Map([...named, ['before', checkout('another checkout', resolve(before))]])
}

async function run(parts: Run): Promise<readonly Table[]> {
  const { options, contestants } = parts
  const { profile: work, check } = options
  if (work !== undefined) {
    // Of several contestants, the first one: `--only floor --profile list10` shows what is left to gain.
    const [contestant] = contestants.values()
    if (contestant !== undefined) return profile({ ...parts, contestant, work })
  }
  return check.length > 0 ? [await runChecks(parts)] : runWorks(parts)
}

async function runWorks(parts: Run): Promise<readonly Table[]> {
  const { options } = parts
  const measured: Measured[] = []
  const footprints: Footprint[] = []
  for (const rows of options.rows) {
    const results = await measure({ ...parts, say }, rows)
    measured.push(...results.measured)
    footprints.push(...results.footprints)
  }
  const results = { measured, footprints }
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ options, ...results }, undefined, 2)}\n`)
  return toTables(results)
}

async function runChecks({ options, contestants, postgres, loader }: Run): Promise<Table> {
  const ours = contestants.get('before') ?? contestants.get('ours')
  if (ours === undefined) throw new Error('checks are about `ours`, which --only leaves out')
  const { duration, rounds, connections } = options
  const rows: string[][] = []
  for (const name of options.check) {
    say(`checking ${name}`)
    const findings = (await CHECKS.get(name)?.({ ours, postgres, loader, duration, rounds, connections })) ?? []
    rows.push(...findings.map(({ promise, found, kept }) => [name, kept ? 'kept' : 'BROKEN', found, promise]))
  }
  return { title: 'Checks', head: ['check', 'result', 'found', 'promise'], rows }
}

await main()
