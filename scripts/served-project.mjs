import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const HOME = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs work with the URL of a project that is served until it ends: on an embedded database, or on the empty database of `env.DATABASE_URL`.
 * @param configuration the text of its resources.yaml
 */
export async function withServedProject(configuration, env, work) {
  const folder = mkdtempSync(join(tmpdir(), 'snippetctl-project-'))
  writeFileSync(join(folder, 'resources.yaml'), configuration)
  const snippetctl = (...words) =>
    spawn(process.execPath, [join(HOME, 'bin/snippetctl.js'), ...words], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  const planned = snippetctl('migrate', 'plan', '--write', 'all')
  planned.stdout.resume()
  await once(planned, 'exit')
  const server = snippetctl('serve', '--migrate', '--json', '--port', '0')
  const exit = once(server, 'exit')
  try {
    await work(await listening(server))
  } finally {
    server.kill()
    await exit
    rmSync(folder, { recursive: true })
  }
}

function listening({ stdout }) {
  return new Promise((resolve) => {
    createInterface(stdout).on('line', (line) => {
      const entry = JSON.parse(line)
      if (entry.event === 'listening') resolve(new URL(entry.url).origin)
    })
  })
}

/** Creates a record at the URL of a list. */
export async function create(url, body) {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
}
