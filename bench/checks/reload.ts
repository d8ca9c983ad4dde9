import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ask } from '../ask.js'
import { startServer } from '../server.js'
import { median } from '../statistics.js'
import { atMost, type Check } from './check.js'

const PROMISE = 300
const PAUSE = 2
const PATIENCE = 10_000

/** A file that is saved in a new version each time, and the path that shows the version. */
interface Saved {
  readonly name: string
  readonly text: (version: number) => string
  readonly path: (version: number) => string
}

const PROJECT: readonly Saved[] = [
  {
    name: 'resources.yaml',
    path: (version) => `/api/file-${version}/`,
    text: (version) => `version: 1
api: { prefix: /api, title: Books }
plugins: [./plugin.ts]
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 100 }
resources:
  book: { model: book, path: /file-${version}/ }
`,
  },
  {
    name: 'plugin.ts',
    path: (version) => `/api/plugin-${version}/`,
    text: (version) => `import type { Plugin } from 'snippetctl'
const plugin: Plugin = (app) => app.route('GET', '/plugin-${version}/', 'said', async () => ({ status: 200, body: {} }))
export default plugin
`,
  },
]

/** Milliseconds from saving a file to the first response of the new version, in development on the embedded database. */
export const reload: Check = async ({ ours, rounds }) => {
  const directory = mkdtempSync(join(tmpdir(), 'snippetctl-reload-'))
  const save = ({ name, text }: Saved, version: number) => writeFileSync(join(directory, name), text(version))
  try {
    for (const each of PROJECT) save(each, 0)
    const file = ['--config', join(directory, 'resources.yaml')]
    const [program = ''] = ours.program
    const plan = [program, 'migrate', 'plan', '--write', 'tables', ...file]
    execFileSync(process.execPath, plan, { cwd: ours.directory, stdio: 'pipe' })
    const contestant = { ...ours, program: [...ours.program, '--migrate', ...file] }
    const server = await startServer({ contestant, path: '/api/file-0/' })
    try {
      const findings = []
      for (const each of PROJECT) {
        const times: number[] = []
        for (let version = 1; version <= rounds; version++) {
          save(each, version)
          times.push(await untilAnswered(server.port, each.path(version)))
        }
        const detail = ` (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)})`
        findings.push(atMost(`${each.name} from saving to the first response${detail}`, median(times), PROMISE, ' ms'))
      }
      return findings
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function untilAnswered(port: number, path: string): Promise<number> {
  const saved = performance.now()
  while ((await ask({ port, path })).status !== 200) {
    if (performance.now() - saved > PATIENCE)
      throw new Error(`${path} did not respond within ${PATIENCE} ms after saving`)
    await delay(PAUSE)
  }
  return performance.now() - saved
}
