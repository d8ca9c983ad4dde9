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

/** A project whose files are saved in another version each time; each version answers at a path of its own. */
const PROJECT: Readonly<Record<string, (version: number) => string>> = {
  'resources.yaml': (version) => `version: 1
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
  'plugin.ts': (version) => `import type { Plugin } from 'snippetctl'
const plugin: Plugin = (app) => app.route('GET', '/plugin-${version}/', 'said', async () => ({ status: 200, body: {} }))
export default plugin
`,
}
const PATHS: Readonly<Record<string, (version: number) => string>> = {
  'resources.yaml': (version) => `/api/file-${version}/`,
  'plugin.ts': (version) => `/api/plugin-${version}/`,
}

/** Milliseconds from saving a file to the first answer by what it says, of a server in development on the embedded database. */
export const reload: Check = async ({ ours, rounds }) => {
  const directory = mkdtempSync(join(tmpdir(), 'snippetctl-reload-'))
  const save = (file: string, version: number) => writeFileSync(join(directory, file), PROJECT[file]?.(version) ?? '')
  try {
    for (const file of Object.keys(PROJECT)) save(file, 0)
    const file = ['--config', join(directory, 'resources.yaml')]
    const [program = ''] = ours.program
    const plan = [program, 'migrate', 'plan', '--write', 'tables', ...file]
    execFileSync(process.execPath, plan, { cwd: ours.directory, stdio: 'pipe' })
    const contestant = { ...ours, program: [...ours.program, '--migrate', ...file] }
    const server = await startServer({ contestant, path: '/api/file-0/' })
    try {
      const findings = []
      for (const file of Object.keys(PROJECT)) {
        const times: number[] = []
        for (let version = 1; version <= rounds; version++) {
          save(file, version)
          times.push(await untilAnswered(server.port, PATHS[file]?.(version) ?? ''))
        }
        const detail = ` (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)})`
        findings.push(atMost(`${file} is saved and answers${detail}`, median(times), PROMISE, ' ms'))
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
      throw new Error(`${path} is not answered ${PATIENCE} ms after it was saved`)
    await delay(PAUSE)
  }
  return performance.now() - saved
}
