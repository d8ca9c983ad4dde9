import { Buffer } from 'node:buffer'
import type { Sample } from './grammar.js'

/** A record as the model has it. */
export type Fields = Readonly<Record<string, string>>

/** The expected response, and the resulting records. */
export interface Prediction {
  readonly status: number
  /** The record in the response, if any. */
  readonly shows?: Fields
  /** The list that the response holds: its records in order, and how many records match on all pages. */
  readonly lists?: { readonly ids: readonly string[]; readonly total: number }
  readonly change?: { readonly kind: 'create' | 'put' | 'delete'; readonly fields: Fields }
}

type Rows = ReadonlyMap<string, Fields>
type Rule = (sample: Sample, row: Fields | undefined, rows: Rows) => Prediction

const MISSING: Prediction = { status: 404 }

/** How Set A validates a body: one status for everything that is not a record, and JSON if there is no media type. */
const judgeA = ({ media, body }: Sample, rejection: number): number | undefined => {
  if (media.kind !== 'json' && media.kind !== 'none') return rejection
  if (body.kind === 'huge') return 413
  return body.kind === 'record' ? undefined : rejection
}

/** How the generated endpoints do. */
const judgeB = ({ method, media, body }: Sample): number | undefined => {
  const readable = media.kind === 'json' || (media.kind === 'patch' && method === 'PATCH')
  if (!readable) return 415
  if (body.kind === 'huge') return 413
  return body.kind === 'record' || (body.kind === 'part' && method === 'PATCH') ? undefined : 400
}

const retrieve: Rule = (_sample, row) => (row ? { status: 200, shows: row } : MISSING)
const destroy: Rule = (_sample, row) => (row ? { status: 204, change: { kind: 'delete', fields: row } } : MISSING)

const put: Rule = (sample, row) => {
  if (!row) return MISSING
  const fields = { ...row, ...sample.body.fields }
  return { status: 200, shows: fields, change: { kind: 'put', fields } }
}

const create: Rule = ({ body: { fields } }) => ({ status: 201, shows: fields, change: { kind: 'create', fields } })

const guarded =
  (judge: (sample: Sample) => number | undefined, rule: Rule): Rule =>
  (sample, row, rows) => {
    const rejected = judge(sample)
    return rejected === undefined ? rule(sample, row, rows) : { status: rejected }
  }

/** Set A lists every record, by id. */
const listAll: Rule = (_sample, _row, rows) => ({
  status: 200,
  lists: { ids: [...rows.keys()].sort(byId), total: rows.size },
})

const DEFAULT_PAGE_SIZE = 10
const MAX_PAGE_SIZE = 100

/** Set B lists the records that match every filter, in the order asked for, one page of them. */
const listPage: Rule = ({ query }, _row, rows) => {
  if (!query.good) return { status: 400 }
  const parameters = new URLSearchParams(query.text)
  const filters = FILTERS.filter((name) => parameters.has(name))
  const matching = [...rows].filter(([, row]) => filters.every((name) => row[name] === parameters.get(name)))
  const ordering = parameters.get('ordering')?.split(',') ?? []
  const ids = matching.sort((a, b) => compareRows(a, b, ordering)).map(([id]) => id)
  const size = Math.min(Number(parameters.get('page_size') ?? DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE)
  const start = (Number(parameters.get('page') ?? 1) - 1) * size
  return { status: 200, lists: { ids: ids.slice(start, start + size), total: ids.length } }
}

const FILTERS = ['language', 'title'] as const

function byId(a: string, b: string): number {
  return Number(BigInt(a) - BigInt(b))
}

type Row = readonly [id: string, fields: Fields]

/** Orders two records by the fields of `ordering` and then by id, in the direction of the last field. Ids grow with `created_at`. */
function compareRows([idOfA, a]: Row, [idOfB, b]: Row, ordering: readonly string[]): number {
  for (const field of ordering) {
    const name = field.replace(/^-/, '')
    const difference = name === 'created_at' ? byId(idOfA, idOfB) : compareText(a[name], b[name])
    if (difference !== 0) return field.startsWith('-') ? -difference : difference
  }
  return ordering.at(-1)?.startsWith('-') ? byId(idOfB, idOfA) : byId(idOfA, idOfB)
}

/** Compares by code point, as the contract requires; that is the order of the UTF-8 bytes. */
function compareText(a = '', b = ''): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The methods of each path. */
const OFFERS: Readonly<Record<Exclude<Sample['target'], 'nowhere'>, Readonly<Record<string, Rule>>>> = {
  'a-list': { GET: listAll, POST: guarded((sample) => judgeA(sample, 400), create) },
  'a-detail': { GET: retrieve, PUT: guarded((sample) => judgeA(sample, 422), put), DELETE: destroy },
  'a-config': { GET: () => ({ status: 200 }) },
  // The pages for people, which a service under development has.
  pages: { GET: () => ({ status: 200 }) },
  'b-list': { GET: listPage, POST: guarded(judgeB, create) },
  'b-detail': { GET: retrieve, PUT: guarded(judgeB, put), PATCH: guarded(judgeB, put), DELETE: destroy },
}

/**
 * The status of a request according to the contract. A body that is too large may be rejected for its length before its media type is checked, so
 * `lengthGiven` says whether the head contained the length.
 */
export function predict(sample: Sample, rows: Rows, lengthGiven: boolean): Prediction {
  const { head, target, id } = sample
  if (head.status !== undefined) return { status: head.status }
  const method = sample.method === 'HEAD' ? 'GET' : sample.method
  if (target === 'nowhere') return { status: method === 'TRACE' ? 405 : 404 }
  const offer = OFFERS[target]
  const rule = offer[method]
  const isGenerated = target === 'b-list' || target === 'b-detail'
  if (method === 'OPTIONS') return { status: isGenerated ? 200 : 204 }
  if (rule === undefined) return { status: 405 }
  if (head.asks === 'from another site' && method !== 'GET') return { status: 403 }
  if (isGenerated && head.asks === 'no JSON' && method !== 'DELETE') return { status: 406 }
  const hasParameters = target === 'b-list' && method === 'GET'
  if (isGenerated && !hasParameters && !/^&*$/.test(sample.query.text)) return { status: 400 }
  const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  if (takesBody && lengthGiven && sample.body.kind === 'huge') return { status: 413 }
  const row = id === undefined ? undefined : rows.get(id)
  const done = rule(sample, row, rows)
  const isOther = target === 'b-detail' && row !== undefined && head.asks === 'another version' && done.status < 300
  return isOther ? { status: method === 'GET' ? 304 : 412 } : done
}
