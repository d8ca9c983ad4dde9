import {
  type Asked,
  type Asker,
  callerFor,
  createService,
  decide,
  exampleCallers,
  exampleValues,
  grantsOf,
  judgeRule,
  knownBy,
  nearTo,
  type ResourceSpec,
  type Situation,
  spellCondition,
  type StoredRecord,
} from '../../src/internal.js'
import type { Application, CliContext } from '../context.js'
import { type ScratchOptions, withScratch } from '../migrate/scratch.js'
import type { ExitCode } from '../failure.js'
import type { LineOf } from './access-text.js'
import { type ExampleRecords, makeExamples } from './example-records.js'
import { comparable, isSimple, jsonOf, simplePart, withoutAssigned } from './record-texts.js'

type Operation = ResourceSpec['operations'][number]

interface Verification extends ScratchOptions {
  readonly json?: true
  readonly lineOf: LineOf
}

/** A response that is not as the second evaluator decides. */
interface Difference {
  readonly request: string
  readonly caller: string
  readonly expected: string
  readonly found: string
}

/** Records of one resource that each caller changes. */
const MAX_CHANGED = 8
const METHODS = { create: 'POST', update: 'PUT', partial_update: 'PATCH', destroy: 'DELETE' } as const
const HEADER = 'x-verify-caller'

/**
 * Serves the application on a scratch database that has a record for each grant and each broken condition, sends the requests of every caller, and
 * compares the responses with the second evaluator. Returns 1 if one differs.
 */
export async function verifyAccess(context: CliContext, loaded: Application, request: Verification): Promise<ExitCode> {
  const { spec, app } = loaded
  return withScratch(context, request, async (scratch) => {
    const examples = await makeExamples(spec, scratch)
    const log = { info: () => {}, error: () => {} }
    const find = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) =>
      headers[HEADER] === undefined ? undefined : (JSON.parse(decodeURIComponent(String(headers[HEADER]))) as Asker)
    const service = createService({ ...app, authenticators: [{ name: 'verify', find }] }, scratch, { log })
    const { url } = await service.listen({ port: 0, host: '127.0.0.1' })
    const found = { differences: [] as Difference[], requests: 0, undecided: 0 }
    try {
      for (const resource of spec.resources.filter((each) => each.access !== undefined))
        for (const asker of exampleCallers(spec)) await compareCaller(asker, resource)
    } finally {
      await service.drain()
    }
    const idle = findIdle(loaded, examples, request.lineOf)
    report()
    return found.differences.length > 0 || examples.empty.size > 0 ? 1 : 0

    async function compareCaller(asker: Asker | undefined, resource: ResourceSpec): Promise<void> {
      const { model, operations } = resource
      const records = examples.world.get(model.table) ?? []
      const known = knownBy(spec, asker, (table) => examples.world.get(table))
      const situation: Situation = { spec, resource, asker, known }
      if (operations.includes('list')) await compareList(situation)
      if (model.key.length === 0) return
      const idOf = (record: StoredRecord) => model.key.map(({ name }) => record[name] ?? '')
      // Without a grant, each request of an operation has the same answer.
      const some = <T>(operation: Operation, all: readonly T[]): readonly T[] =>
        operations.includes(operation) ? (grantsOf(resource, operation, asker).length > 0 ? all : all.slice(0, 1)) : []
      const retrieved = some('retrieve', records)
      await Promise.all(retrieved.map((record) => compare(situation, { operation: 'retrieve', id: idOf(record) })))
      const near = records.filter((record) => isNear(situation, record))
      const changed = [...new Set([...near.slice(0, MAX_CHANGED - 2), ...records])].slice(0, MAX_CHANGED)
      for (const operation of ['update', 'partial_update'] as const)
        for (const record of some(operation, changed))
          for (const body of some(operation, changesOf(situation, operation, record)))
            await compare(situation, { operation, id: idOf(record), body })
      for (const record of some('destroy', changed))
        await compare(situation, { operation: 'destroy', id: idOf(record) })
      for (const record of some('create', changed))
        await compare(situation, { operation: 'create', body: simplePart(resource, record) })
    }

    /** Whether a grant to the caller covers the record, or would without one of its conditions. */
    function isNear({ resource, asker, known }: Situation, record: StoredRecord): boolean {
      const rules = resource.operations
        .flatMap((each) => grantsOf(resource, each, asker))
        .flatMap(({ rows }) => (rows ? [rows] : []))
      return rules.some((rule) => nearTo(rule, record, known).length > 0)
    }

    /** Bodies that set one field each: of the conditions of grants, and some of other fields. */
    function changesOf(
      situation: Situation,
      operation: 'update' | 'partial_update',
      record: StoredRecord,
    ): readonly StoredRecord[] {
      const { resource, asker } = situation
      const seen = decide(situation, {
        operation: 'retrieve',
        id: resource.model.key.map(({ name }) => record[name] ?? ''),
      }).records?.[0]
      const grants = grantsOf(resource, operation, asker)
      const judged = new Set(
        grants
          .flatMap(({ rows, becomes }) => [...(rows ?? []), ...(becomes ?? [])].flat())
          .map((each) => each.relations[0]?.field ?? each.field),
      )
      const others = resource.model.fields.filter((field) => !judged.has(field)).slice(0, 3)
      return [...judged, ...others]
        .filter((field) => isSimple(field) && !field.readOnly && !field.primaryKey)
        .flatMap((field) =>
          exampleValues(spec, field, examples.world)
            .slice(0, 3)
            .map((value) => ({ ...(operation === 'update' && simplePart(resource, seen ?? {})), [field.name]: value })),
        )
    }

    async function compareList(situation: Situation): Promise<void> {
      const expected = decide(situation, { operation: 'list' })
      const items: unknown[] = []
      let path: string | undefined = situation.resource.path
      let status = 200
      while (path !== undefined) {
        const response: Response = await send(situation.asker, 'GET', path)
        status = response.status
        const body = (await response.json()) as object
        if (status >= 400) break
        items.push(...((Array.isArray(body) ? body : Object.values(body).find(Array.isArray)) ?? []))
        path = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      }
      const sorted = (records: readonly object[]) =>
        records.map((each) => comparable(situation.resource, each)).toSorted()
      judge(situation, `GET ${situation.resource.path}`, expected.status, [
        `${expected.status}${expected.records ? ` ${sorted(expected.records).join(' ')}` : ''}`,
        `${status}${status < 400 ? ` ${sorted(items as object[]).join(' ')}` : ''}`,
      ])
    }

    async function compare(situation: Situation, asked: Asked): Promise<void> {
      const { resource, asker } = situation
      const { operation, id = [], body } = asked
      const expected = decide(situation, asked)
      const path = `${resource.path}${id.map((each) => `${encodeURIComponent(each)}/`).join('')}`
      const method = operation === 'retrieve' ? 'GET' : METHODS[operation as keyof typeof METHODS]
      const response = await send(asker, method, path, body && jsonOf(resource, body))
      const text = await response.text()
      const { status } = response
      const isWritten = operation !== 'retrieve' && status < 400
      if (isWritten) await examples.restore()
      const [record] = expected.records ?? []
      const shown = (given: object) =>
        comparable(resource, operation === 'create' ? withoutAssigned(resource, given) : given)
      const isShown = status < 400 && text !== '' && (operation === 'retrieve' || record !== undefined)
      judge(
        situation,
        `${method} ${path}${body ? ` ${JSON.stringify(jsonOf(resource, body))}` : ''}`,
        expected.status,
        [
          `${expected.status}${record ? ` ${shown(record)}` : ''}`,
          `${status}${isShown ? ` ${shown(JSON.parse(text) as object)}` : ''}`,
        ],
      )
    }

    function judge(
      { asker }: Situation,
      what: string,
      status: number | undefined,
      [expected, given]: readonly [string, string],
    ): void {
      found.requests += 1
      if (status === undefined) found.undecided += 1
      else if (expected !== given)
        found.differences.push({
          request: what,
          caller: asker ? JSON.stringify(asker) : 'nobody',
          expected,
          found: given,
        })
    }

    function send(asker: Asker | undefined, method: string, path: string, body?: object): Promise<Response> {
      return fetch(url + path, {
        method,
        headers: {
          ...(asker && { [HEADER]: encodeURIComponent(JSON.stringify(asker)) }),
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
    }

    function report(): void {
      const { differences, requests, undecided } = found
      const empty = [...examples.empty].map(([model, reason]) => ({ model, reason }))
      if (request.json) {
        context.out.data(JSON.stringify({ schemaVersion: 1, requests, undecided, differences, idle, empty }))
        return
      }
      context.out.line(
        `${requests} requests of ${exampleCallers(spec).length} callers, ${differences.length} differ${undecided > 0 ? `, ${undecided} could not be decided without the database` : ''}`,
      )
      for (const each of differences.slice(0, 20)) {
        context.out.line(`${each.request}  as ${each.caller}`)
        context.out.line(`  expected ${each.expected}`)
        context.out.line(`  found    ${each.found}`)
      }
      for (const each of idle) context.out.line(`line ${each.line}  ${each.condition}  ${each.reason}`)
      for (const { model, reason } of empty) context.out.line(`no record of \`${model}\` could be made: ${reason}`)
    }
  })
}

/** A condition that no caller notices. */
interface Idle {
  readonly line: number
  readonly condition: string
  readonly reason: string
}

/** Finds conditions whose breaking changes nothing: other grants to the same callers cover the same records. */
function findIdle({ spec }: Application, { world }: ExampleRecords, lineOf: LineOf): readonly Idle[] {
  return spec.resources.flatMap((resource) =>
    (resource.access ?? []).flatMap((grant, index) => {
      const { asker, known } = callerFor(spec, grant.to, world)
      const records = world.get(resource.model.table) ?? []
      const effect = (operation: string, record: StoredRecord) =>
        grantsOf(resource, operation, asker)
          .filter(({ rows }) => judgeRule(rows, record, known).holds === true)
          .flatMap(({ fields }) => fields)
      return (grant.rows ?? []).flatMap((all, alternative) =>
        all.flatMap((condition, broken): readonly Idle[] => {
          const near = records.filter((record) =>
            nearTo(grant.rows ?? [], record, known).some(
              (each) => each.alternative === alternative && each.broken === broken,
            ),
          )
          const changes = near.some((record) =>
            grant.may.some((operation) => grant.fields.some((field) => !effect(operation, record).includes(field))),
          )
          if (changes) return []
          const line = lineOf(['resources', resource.name, 'access', index])
          const reason =
            near.length > 0 ? 'changes nothing: other grants cover the same' : 'no example record breaks it alone'
          return [{ line, condition: spellCondition(condition), reason }]
        }),
      )
    }),
  )
}
