import type { Running } from '../server.js'
import type { RequestSpec } from '../works.js'
import type { Check, Finding } from './check.js'
import { compareCpu } from './compare.js'
import { inProject, ROWS } from './project.js'

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
export const access: Check = (parts) => {
  const [open, limited] = [configurationOf('', ''), configurationOf(AUTH, ACCESS)]
  return inProject(parts, { name: 'access', configuration: open }, async ({ run, serve }) => {
    const authorization = `Bearer ${run(limited, 'token', '--subject', 'ann', '--for', '1d').trim()}`
    const servers = [await serve(open), await serve(limited)] as const
    const findings: Finding[] = []
    for (const [name, spec] of Object.entries(REQUESTS)) {
      const side = (server: Running) => ({ server, spec: { ...spec, authorization }, rows: ROWS })
      const ratio = await compareCpu(parts, [side(servers[0]), side(servers[1])])
      findings.push(ratio(`${name} with access rules compared with none`, 1.1))
    }
    return findings
  })
}

const AUTH = `auth:
  jwt: { issuer: https://local.example, audience: https://api.example, algorithms: [ES256], keys: ./keys.json }
  routes: { openapi: anyone }
`

const ACCESS = `
    access:
      - { to: signed_in, may: [read, create, change], rows: { owner: $sub } }
`

function configurationOf(auth: string, rules: string): string {
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
