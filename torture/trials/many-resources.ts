import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { median } from '../../bench/statistics.js'
import { loadSpec } from '../../src/internal.js'
import { createAll, wantedTables } from '../../src/migrations/plan/sql.js'
import { runCli } from '../../test/support/cli.js'
import { type Client, createClient } from '../client.js'
import { atMost, format, trial } from '../trial.js'

interface Amount {
  readonly resources: number
  readonly fields: number
}

const ASKED = 400

/** A configuration far larger than any is. */
export const manyResources = trial<Amount>({
  id: 'T14',
  title: 'a thousand resources start quickly, use little memory, and the last route is as fast as the first',
  stores: ['postgres'],
  alone: true,
  tiers: {
    commit: { resources: 1_000, fields: 5 },
    nightly: { resources: 1_000, fields: 20 },
    release: { resources: 3_500, fields: 5 },
  },
  run: async (arena, { resources, fields }) => {
    const folder = join(arena.folder, 'many')
    mkdirSync(join(folder, 'migrations'), { recursive: true })
    writeFileSync(join(folder, 'resources.yaml'), configuration(resources, fields))
    await writeMigration(folder)
    const url = await arena.database()
    const { code, stderr } = await runCli(['migrate', 'up'], { cwd: folder, env: { DATABASE_URL: url } })
    if (code !== 0) throw new Error(`migrate up ended with ${code}: ${stderr.slice(0, 2_000)}`)
    const served = await arena.serve({ url, folder, args: [] })
    const client = createClient(served.port, 1)
    arena.later(() => client.close())
    const [first, last] = await compare(client, '/api/r0/', `/api/r${resources - 1}/`)
    const { rss } = await served.read()
    return [
      arena.inTime(
        served.startTime,
        3_000,
        `${format(resources)} resources listen after ${format(served.startTime)} ms`,
      ),
      atMost(rss / 1024 / 1024, 300, `RSS ${format(rss / 1024 / 1024)} MB`, ' MB'),
      atMost(last / first, 1.2, `the last route takes ${format(last / first)} times as long as the first`),
    ]
  },
})

/** Writes the statements of a plan, without testing them. */
async function writeMigration(folder: string): Promise<void> {
  const loaded = await loadSpec(join(folder, 'resources.yaml'))
  if (!loaded.ok) throw new Error('the configuration is not in order')
  const statements = createAll(wantedTables(loaded.spec)).map((statement) => `${statement};`)
  writeFileSync(join(folder, 'migrations/0001_all.sql'), `-- up\n${statements.join('\n')}\n`)
}

function configuration(resources: number, fields: number): string {
  const numbers = Array.from({ length: resources }, (_, index) => index)
  const field = (index: number) => `      f${index}: { type: text, nullable: true }`
  const columns = Array.from({ length: fields - 1 }, (_, index) => field(index)).join('\n')
  const models = numbers.map(
    (n) => `  model${n}:\n    table: model${n}\n    fields:\n      id: { type: bigint, primary_key: true }\n${columns}`,
  )
  const exposed = numbers.map((n) => `  r${n}: { model: model${n}, path: /r${n}/ }`)
  return `version: 1\nmodels:\n${models.join('\n')}\nresources:\n${exposed.join('\n')}\n`
}

/** Medians of the times of two paths, asked in turn. */
async function compare(client: Client, one: string, other: string): Promise<readonly [number, number]> {
  const times: Record<string, number[]> = { [one]: [], [other]: [] }
  for (let at = 0; at < ASKED + 20; at++) {
    for (const path of [one, other]) {
      const { status, time } = await client.ask({ path })
      if (status !== 200) throw new Error(`${path} was answered ${status}`)
      if (at >= 20) times[path]?.push(time)
    }
  }
  return [median(times[one] ?? []), median(times[other] ?? [])]
}
