import type { RequestSpec } from '../works.js'
import type { Check, Finding } from './check.js'
import { compareCpu } from './compare.js'
import { inProject, ROWS } from './project.js'

const BIGINT = '/api/snippets/'
const COMPOSITE = '/api/works/'
const CHANGE = JSON.stringify({ title: 'Sample {id}', code: 'print({id})', language: '{language}', name: 'work-{id}' })

/** Requests by a path to all records or to one of them. */
const REQUESTS: Readonly<Record<string, (all: string, one: string) => RequestSpec>> = {
  retrieve: (_all, one) => ({ method: 'GET', path: one }),
  'list of 10': (all) => ({ method: 'GET', path: all }),
  'list of 10, filtered and ordered': (all) => ({
    method: 'GET',
    path: `${all}?language={language}&ordering=-created_at`,
  }),
  update: (_all, one) => ({ method: 'PUT', path: one, body: CHANGE }),
  'partial update': (_all, one) => ({ method: 'PATCH', path: one, body: JSON.stringify({ title: 'Sample {id}' }) }),
}

/** How much more a request costs if the key of the table is composite, of two texts, than if it is a bigint. */
export const keys: Check = (parts) =>
  inProject(parts, { name: 'keys', configuration: CONFIGURATION, sql: [COPY] }, async ({ serve }) => {
    const server = await serve(CONFIGURATION)
    const findings: Finding[] = []
    for (const [name, request] of Object.entries(REQUESTS)) {
      const side = (spec: RequestSpec) => ({ server, spec, rows: ROWS })
      const ratio = await compareCpu(parts, [
        side(request(BIGINT, `${BIGINT}{id}/`)),
        side(request(COMPOSITE, `${COMPOSITE}{language}/work-{id}/`)),
      ])
      findings.push(ratio(`${name} by a composite text key compared with a bigint`, 1.1))
    }
    return findings
  })

// In the order of the key, as the rows of `snippets` are: a page of rows that lie apart costs more, whatever their key.
const COPY = `insert into works (language, name, title, code, created_at)
  select language, 'work-' || id, title, code, created_at from snippets order by 1, 2`

const CONFIGURATION = `version: 1
api: { prefix: /api, title: Keys }
models:
  snippet:
    table: snippets
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      code: { type: text }
      language: { type: string, max: 40 }
      name: { type: string, max: 40, default: '' }
      created_at: { type: timestamp, auto: on_create }
    indexes: [[language, created_at, id]]
  work:
    table: works
    primary_key: [language, name]
    fields:
      language: { type: string, max: 40 }
      name: { type: string, max: 40 }
      title: { type: string, max: 100 }
      code: { type: text }
      created_at: { type: timestamp, auto: on_create }
    indexes: [[language, created_at, name]]
resources:
  snippet: { model: snippet, path: /snippets/, filterable: [language], orderable: [created_at], default_order: [id] }
  work: { model: work, path: /works/, filterable: [language], orderable: [created_at], default_order: [language, name] }
`
