import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withClient } from '../cluster.js'
import { startServer } from '../server.js'
import { median } from '../statistics.js'
import { atMost, type Check, type CheckParts } from './check.js'
import { compare } from './compare.js'

const RESOURCES = 1_000

/** Whether many resources, each with its own table, slow down the start or the last route. */
export const resources: Check = async (parts) => {
  const directory = mkdtempSync(join(tmpdir(), 'snippetctl-many-'))
  try {
    const file = join(directory, 'resources.yaml')
    writeFileSync(file, configuration())
    return await checkMany(parts, file)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function checkMany(parts: CheckParts, file: string) {
  const { postgres, ours, rounds } = parts
  const url = await postgres.database('many')
  const [program = ''] = ours.program
  const run = (...words: readonly string[]) =>
    execFileSync(process.execPath, [program, ...words, '--config', file], {
      cwd: ours.directory,
      env: { ...process.env, DATABASE_URL: url },
      stdio: 'pipe',
    })
  run('migrate', 'plan', '--write', 'tables')
  run('migrate', 'up')
  for (const table of [nameOf(1), nameOf(RESOURCES)])
    await withClient(url, (client) => client.query(`insert into ${table} (title) values ('The only one')`))

  const contestant = { ...ours, program: [...ours.program, '--config', file] }
  const start = () => startServer({ contestant, url, path: pathOf(RESOURCES) })
  const starts: number[] = []
  for (let round = 1; round < rounds; round++) {
    const { coldStart, stop } = await start()
    starts.push(coldStart)
    await stop()
  }
  const server = await start()
  try {
    const side = (number: number) => ({ server, spec: { method: 'GET', path: pathOf(number) } as const, rows: 1 })
    const { first, second } = await compare(parts, [side(1), side(RESOURCES)])
    const detail = ` (${first.server.toFixed(1)} and ${second.server.toFixed(1)} µs)`
    return [
      atMost(`${RESOURCES} resources start`, median([...starts, server.coldStart]) / 1000, 3, ' s'),
      atMost(`route ${RESOURCES} compared with the first, server CPU${detail}`, second.server / first.server, 1.2),
    ]
  } finally {
    await server.stop()
  }
}

function nameOf(number: number): string {
  return `thing${String(number).padStart(4, '0')}`
}

function pathOf(number: number): string {
  return `/api/${nameOf(number)}/1/`
}

function configuration(): string {
  const names = Array.from({ length: RESOURCES }, (_, index) => nameOf(index + 1))
  const models = names.map(
    (name) => `  ${name}:
    table: ${name}
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 100 }
      created_at: { type: timestamp, auto: on_create }
    indexes:
      - [title, id]`,
  )
  const exposed = names.map(
    (name) => `  ${name}: { model: ${name}, path: /${name}/, filterable: [title], orderable: [title] }`,
  )
  return ['version: 1', 'api: { prefix: /api, title: Many }', 'models:', ...models, 'resources:', ...exposed, ''].join(
    '\n',
  )
}
