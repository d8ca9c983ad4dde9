import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withClient } from '../cluster.js'
import { insertRows } from '../rows.js'
import { startServer } from '../server.js'
import type { RequestSpec } from '../works.js'
import { atMost, type Check, type CheckParts, type Finding } from './check.js'
import { compare } from './compare.js'

const ROWS = 1_000
const PATH = '/api/snippets/'
const CHANGE = JSON.stringify({ title: 'Sample {id}', code: 'print({id})', language: '{language}', owner: 'ann' })

/** Requests for records of the caller's own: each rule compares one column with the subject of the token. */
const REQUESTS: Readonly<Record<string, RequestSpec>> = {
  retrieve: { method: 'GET', path: `${PATH}{id}/` },
  'list of 10': { method: 'GET', path: PATH },
  'list of 10, filtered and ordered': { method: 'GET', path: `${PATH}?language={language}&ordering=-created_at` },
  create: { method: 'POST', path: PATH, body: CHANGE },
  update: { method: 'PUT', path: `${PATH}{id}/`, body: CHANGE },
  'partial update': { method: 'PATCH', path: `${PATH}{id}/`, body: JSON.stringify({ title: 'Sample {id}' }) },
}

/** How much more a request costs with a token and access rules than without `auth`. */
export const access: Check = async (parts) => {
  const directory = mkdtempSync(join(tmpdir(), 'snippetctl-access-'))
  try {
    return await checkCost(parts, directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function checkCost(parts: CheckParts, directory: string): Promise<readonly Finding[]> {
  const { postgres, ours } = parts
  const url = await postgres.database('access')
  const [program = ''] = ours.program
  const run = (file: string, ...words: readonly string[]) =>
    execFileSync(process.execPath, [program, ...words, '--config', file], {
      cwd: ours.directory,
      env: { ...process.env, DATABASE_URL: url },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const [open, limited] = [join(directory, 'open.yaml'), join(directory, 'limited.yaml')]
  writeFileSync(open, configuration('', ''))
  writeFileSync(limited, configuration(AUTH, ACCESS))
  run(open, 'migrate', 'plan', '--write', 'tables')
  run(open, 'migrate', 'up')
  await withClient(url, async (client) => {
    await client.query(insertRows(ROWS))
    await client.query('vacuum analyze snippets')
  })
  const authorization = `Bearer ${run(limited, 'token', '--subject', 'ann', '--for', '1d').trim()}`
  const start = (file: string) =>
    startServer({ contestant: { ...ours, program: [...ours.program, '--config', file] }, url, path: '/openapi.json' })
  const without = await start(open)
  const within = await start(limited)
  try {
    const findings: Finding[] = []
    for (const [name, spec] of Object.entries(REQUESTS)) {
      const side = (server: typeof without) => ({ server, spec: { ...spec, authorization }, rows: ROWS })
      const { first, second } = await compare(parts, [side(without), side(within)])
      const total = (times: typeof first) => times.server + times.postgres
      const detail = ` (server ${first.server.toFixed(1)} and ${second.server.toFixed(1)} µs, PostgreSQL ${first.postgres.toFixed(1)} and ${second.postgres.toFixed(1)} µs)`
      findings.push(
        atMost(`${name} with access rules compared with none, CPU${detail}`, total(second) / total(first), 1.1),
      )
    }
    return findings
  } finally {
    await without.stop()
    await within.stop()
  }
}

const AUTH = `auth:
  jwt: { issuer: https://local.example, audience: https://api.example, algorithms: [ES256], keys: ./keys.json }
  routes: { openapi: anyone }
`

const ACCESS = `
    access:
      - { to: signed_in, may: [read, create, change], rows: { owner: $sub } }
`

function configuration(auth: string, rules: string): string {
  return `version: 1
api: { prefix: /api, title: Access }
${auth}models:
  snippet:
    table: snippets
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      code: { type: text }
      language: { type: string, max: 40 }
      owner: { type: string, max: 40, default: ann }
      created_at: { type: timestamp, auto: on_create }
    indexes:
      - [language, created_at, id]
      - [owner, id]
      - [owner, language, created_at, id]
resources:
  snippet:
    model: snippet
    path: /snippets/
    filterable: [language]
    orderable: [created_at]
    default_order: [id]${rules}`
}
