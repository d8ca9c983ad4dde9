import {
  type AppSpec,
  type Caller,
  createService,
  type Database,
  exampleCallers,
  readMigrations,
} from '../../../src/internal.js'
import { type Application, type CliContext, projectFolders } from '../../context.js'
import { type ScratchOptions, withSilentScratch } from '../../migrate/scratch.js'
import type { ExitCode } from '../../failure.js'
import { count } from '../../output.js'
import { createProgress } from '../../progress.js'
import type { LineOf } from './access-text.js'
import { type ExampleRecords, makeExamples } from './example-records.js'
import { findRedundant, type RedundantCondition } from './idle-conditions.js'
import { compareCaller, type Send, type Verifying } from './verify-requests.js'

interface Verification extends ScratchOptions {
  readonly json?: true
  readonly lineOf: LineOf
}

const HEADER = 'x-verify-caller'

/**
 * Serves the application on a scratch database that has, for each grant, a record that meets it and records that fail one condition each; sends the
 * requests of every caller, and compares the responses with the evaluator of rules in memory. Returns 1 if a response differs, or if a model has no record.
 */
export async function verifyAccess(context: CliContext, loaded: Application, request: Verification): Promise<ExitCode> {
  const { spec } = loaded
  return withSilentScratch(context, { ...request, config: spec.file, tables: spec.models.length }, async (scratch) => {
    const examples = await makeExamples(spec, scratch, await readMigrations(projectFolders(spec.file).migrations))
    const found = await compareAll(context, loaded, { examples, scratch }).finally(examples.remove)
    const idle = findRedundant(loaded, examples, request.lineOf)
    const reported = { found, idle, empty: examples.empty }
    if (request.json) reportJson(context, reported)
    else reportText(context, spec, reported)
    return found.differences.length > 0 || examples.empty.size > 0 ? 1 : 0
  })
}

async function compareAll(
  context: CliContext,
  { spec, app }: Application,
  { examples, scratch }: { readonly examples: ExampleRecords; readonly scratch: Database },
): Promise<Verifying['found']> {
  const log = { info: () => {}, error: () => {} }
  const find = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) =>
    headers[HEADER] === undefined ? undefined : (JSON.parse(decodeURIComponent(String(headers[HEADER]))) as Caller)
  const authenticator = { name: 'verify', find, placeOf: () => 'access --verify' }
  // Without a public URL, links are paths, which `senderTo` can request.
  const served = { ...app.spec, api: { ...app.spec.api, publicUrl: undefined } }
  const service = createService({ ...app, spec: served, authenticators: [authenticator] }, scratch, { log })
  const { url } = await service.listen({ port: 0, host: '127.0.0.1' })
  const found = { differences: [], requests: 0, undecided: 0 }
  // Requests for a view that cannot be read would only repeat the reason.
  const resources = spec.resources.filter(
    ({ access, model }) => access !== undefined && !(model.view !== undefined && examples.empty.has(model.name)),
  )
  const pairs = resources.flatMap((resource) => exampleCallers(spec).map((caller) => ({ resource, caller })))
  const progress = createProgress(context, pairs.length)
  try {
    const verifying = { spec, examples, send: senderTo(url), found }
    for (const [at, { resource, caller }] of pairs.entries()) {
      progress.at(at, `${count(found.requests, 'request')}, ${resource.name}`)
      await compareCaller(verifying, caller, resource)
    }
    return found
  } finally {
    progress.end()
    await service.drain()
  }
}

function senderTo(url: string): Send {
  return (caller, method, path, { body, headers } = {}) =>
    fetch(url + path, {
      method,
      headers: {
        ...headers,
        ...(caller && { [HEADER]: encodeURIComponent(JSON.stringify(caller)) }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body }),
    })
}

interface Reported {
  readonly found: Verifying['found']
  readonly idle: readonly RedundantCondition[]
  readonly empty: ReadonlyMap<string, string>
}

function reportJson({ out }: CliContext, { found, idle, empty }: Reported): void {
  const { differences, requests, undecided } = found
  const missing = [...empty].map(([model, reason]) => ({ model, reason }))
  out.data(JSON.stringify({ schemaVersion: 1, requests, undecided, differences, idle, empty: missing }))
}

function reportText({ out }: CliContext, spec: AppSpec, { found, idle, empty }: Reported): void {
  const { differences, requests, undecided } = found
  out.line(
    `${count(requests, 'request')} of ${count(exampleCallers(spec).length, 'caller')}, ${count(differences.length, 'difference')}${undecided > 0 ? `, ${undecided} skipped, because only PostgreSQL can evaluate their rules` : ''}`,
  )
  for (const each of differences.slice(0, 20)) {
    out.line(`${each.request}  as ${each.caller}`)
    out.line(`  expected ${each.expected}`)
    out.line(`  found    ${each.found}`)
  }
  if (differences.length > 20) out.line(`and ${differences.length - 20} more; --json lists all of them`)
  for (const each of idle) out.line(`line ${each.line}  ${each.condition}  ${each.reason}`)
  for (const [model, reason] of empty) out.line(`no record of \`${model}\` could be made: ${reason}`)
}
