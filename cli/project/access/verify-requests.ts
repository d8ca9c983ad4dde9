import {
  type AppSpec,
  featureResponses,
  type AccessRequest,
  type Caller,
  decide,
  exampleValues,
  grantsOf,
  isList,
  isMembers,
  knownBy,
  type Members,
  nearTo,
  readExact,
  type ResourceSpec,
  type Situation,
  type StoredRecord,
} from '../../../src/internal.js'
import type { ExampleRecords } from './example-records.js'
import { comparable, isSimple, jsonOf, simplePart, textsOf } from './record-texts.js'

type Operation = ResourceSpec['operations'][number]

/** A response that is not as the second evaluator decides. */
export interface Difference {
  readonly request: string
  readonly caller: string
  readonly expected: string
  readonly found: string
}

/** Sends requests to a service that serves example records, and collects the responses that differ from the decisions of the second evaluator. */
export interface Verifying {
  readonly spec: AppSpec
  readonly examples: ExampleRecords
  readonly send: Send
  readonly found: { readonly differences: Difference[]; requests: number; undecided: number }
}

/** Sends a request as a caller. */
export type Send = (caller: Caller | undefined, method: string, path: string, sent?: Sent) => Promise<Response>

interface Sent {
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Records of one resource that each caller changes. */
const MAX_CHANGED = 8
const METHODS = { create: 'POST', update: 'PUT', partial_update: 'PATCH', destroy: 'DELETE' } as const

/** Sends the requests of one caller for a resource. */
export async function compareCaller(
  verifying: Verifying,
  caller: Caller | undefined,
  resource: ResourceSpec,
): Promise<void> {
  const { spec, examples } = verifying
  const { model, operations } = resource
  const records = examples.world.get(model.table) ?? []
  const known = knownBy(spec, caller, (table) => examples.world.get(table))
  const situation: Situation = { spec, resource, caller, known }
  if (operations.includes('list')) await compareList(verifying, situation)
  if (model.key.length === 0) return
  // Without a grant, each request of an operation has the same answer.
  const some = <T>(operation: Operation, all: readonly T[]): readonly T[] =>
    operations.includes(operation) ? (grantsOf(resource, operation, caller).length > 0 ? all : all.slice(0, 1)) : []
  const retrieved = some('retrieve', records)
  await Promise.all(
    retrieved.map((record) => compare(verifying, situation, { operation: 'retrieve', id: keyOf(resource, record) })),
  )
  const near = records.filter((record) => isNear(situation, record))
  const changed = [...new Set([...near.slice(0, MAX_CHANGED - 2), ...records])].slice(0, MAX_CHANGED)
  for (const operation of ['update', 'partial_update'] as const)
    for (const record of some(operation, changed))
      for (const body of some(operation, changesOf(verifying, situation, operation, record)))
        await compare(verifying, situation, { operation, id: keyOf(resource, record), body })
  for (const record of some('destroy', changed))
    await compare(verifying, situation, { operation: 'destroy', id: keyOf(resource, record) })
  for (const record of some('create', changed))
    await compare(verifying, situation, { operation: 'create', body: simplePart(resource, record) })
}

/** The texts of a record's key. */
function keyOf({ model }: ResourceSpec, record: StoredRecord): readonly string[] {
  return model.key.map(({ name }) => record[name] ?? '')
}

/** Whether a grant to the caller covers the record, or would without one of its conditions. */
function isNear({ resource, caller, known }: Situation, record: StoredRecord): boolean {
  const rules = resource.operations
    .flatMap((each) => grantsOf(resource, each, caller))
    .flatMap(({ rows }) => (rows ? [rows] : []))
  return rules.some((rule) => nearTo(rule, record, known).length > 0)
}

/** Bodies that set one field each: of the conditions of grants, and some of other fields. */
function changesOf(
  { spec, examples }: Verifying,
  situation: Situation,
  operation: 'update' | 'partial_update',
  record: StoredRecord,
): readonly StoredRecord[] {
  const { resource, caller } = situation
  const seen = decide(situation, { operation: 'retrieve', id: keyOf(resource, record) }).records?.[0]
  const grants = grantsOf(resource, operation, caller)
  const compared = new Set(
    grants
      .flatMap(({ rows, becomes }) => [...(rows ?? []), ...(becomes ?? [])].flat())
      .map((each) => each.relations[0]?.field ?? each.field),
  )
  const others = resource.model.fields.filter((field) => !compared.has(field)).slice(0, 3)
  return [...compared, ...others]
    .filter((field) => isSimple(field) && !field.readOnly && !field.primaryKey)
    .flatMap((field) =>
      exampleValues(spec, field, examples.world)
        .slice(0, 3)
        .map((value) => ({ ...(operation === 'update' && simplePart(resource, seen ?? {})), [field.name]: value })),
    )
}

async function compareList(verifying: Verifying, situation: Situation): Promise<void> {
  const expected = decide(situation, { operation: 'list' })
  const items: Members[] = []
  let path: string | undefined = situation.resource.path
  let status = 200
  while (path !== undefined) {
    const response: Response = await verifying.send(situation.caller, 'GET', path)
    status = response.status
    const body = readExact(await response.text())
    if (status >= 400) break
    const records = isMembers(body) ? [...body.values()].find(isList) : body
    items.push(...(isList(records) ? records.filter(isMembers) : []))
    path = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
  }
  const sorted = (records: readonly StoredRecord[]) =>
    records.map((each) => comparable(situation.resource, each)).toSorted()
  addResult(verifying, situation, {
    request: `GET ${situation.resource.path}`,
    status: expected.status === 200 && expected.records === undefined ? undefined : expected.status,
    expected: `${expected.status}${expected.records ? ` ${sorted(expected.records).join(' ')}` : ''}`,
    given: `${status}${status < 400 ? ` ${sorted(items.map(textsOf)).join(' ')}` : ''}`,
  })
}

async function compare(verifying: Verifying, situation: Situation, request: AccessRequest): Promise<void> {
  const { resource, caller } = situation
  const { operation, id = [], body } = request
  const expected = decide(situation, request)
  const path = `${resource.path}${id.map((each) => `${encodeURIComponent(each)}/`).join('')}`
  const method = operation === 'retrieve' ? 'GET' : METHODS[operation as keyof typeof METHODS]
  const response = await verifying.send(caller, method, path, {
    body: body && jsonOf(resource, body),
    headers: requiredHeaders(resource, operation),
  })
  const text = await response.text()
  const { status } = response
  const isWritten = operation !== 'retrieve' && status < 400
  if (isWritten) await verifying.examples.restore()
  const [record] = expected.records ?? []
  const shown = (given: StoredRecord) => comparable(resource, given, expected.stored)
  const given = status < 400 && (operation === 'retrieve' || record !== undefined) ? readExact(text) : undefined
  addResult(verifying, situation, {
    request: `${method} ${path}${body ? ` ${jsonOf(resource, body)}` : ''}`,
    status: expected.status,
    expected: `${expected.status}${record ? ` ${shown(record)}` : ''}`,
    given: `${status}${isMembers(given) ? ` ${shown(textsOf(given))}` : ''}`,
  })
}

/** The headers without which the resource rejects a request, whatever the grants. */
function requiredHeaders(
  resource: ResourceSpec,
  operation: AccessRequest['operation'],
): Readonly<Record<string, string>> {
  const headers = featureResponses(resource, { operation }).flatMap(({ requestHeaders = {} }) =>
    Object.entries(requestHeaders),
  )
  return Object.fromEntries(
    headers.flatMap(([name, { required, any }]) => (required && any ? [[name, any()] as const] : [])),
  )
}

/** A request, its expected status, and the texts of both responses. */
interface Compared {
  readonly request: string
  readonly status: number | undefined
  readonly expected: string
  readonly given: string
}

/** Counts a request, and keeps the difference if there is one. */
function addResult({ found }: Verifying, { caller }: Situation, { request, status, expected, given }: Compared): void {
  found.requests += 1
  if (status === undefined) found.undecided += 1
  else if (expected !== given)
    found.differences.push({ request, caller: caller ? JSON.stringify(caller) : 'nobody', expected, found: given })
}
