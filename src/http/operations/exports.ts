import type { ModelSpec } from '../../config/spec.js'
import type { ListReader } from '../../db/records/list-reader.js'
import type { Bounds } from '../../db/statements/rules/bounds.js'
import type { Database, InternalTransactionOptions, QueueKey } from '../../db/database.js'
import { Problem } from '../../foundation/problem.js'
import { remember } from '../../foundation/remember.js'
import type { ListPlan } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Exchange } from '../server/exchange.js'
import type { Limits } from '../connections/limits.js'
import { cutOff } from '../server/replies/reply.js'
import { readAhead } from './read-ahead.js'

/** Lists of any length, each read from one snapshot. */
export interface Exports {
  /** The maximum number of exports at once; each keeps a connection busy. */
  readonly limit: number
  /** The maximum number of characters that an export may be ahead of its client. Once all records are read, the connection is free. */
  readonly ahead: number
  readonly times: Pick<Limits, 'exportTimeout' | 'exportStallTimeout'>
  /** The exports in progress. */
  readonly slots: { running: number }
  /** Passes the documents of a list to `take`, some at a time. */
  read(
    asked: ExportedList,
    take: (documents: readonly string[]) => Promise<void>,
    options: Pick<InternalTransactionOptions, 'signal' | 'queueKey'>,
  ): Promise<void>
}

/** The list to export, and the limits on its records. */
export interface ExportedList {
  readonly resource: Resource
  readonly plan: ListPlan
  readonly bounds: Bounds | undefined
}

/** The key under which contexts keep their export function; plugins do not need it. */
export const EXPORT = Symbol('export')

export interface WithExports {
  readonly [EXPORT]: (resource: Resource, plan: ListPlan, form: ExportForm) => AsyncIterable<string>
}

/** The text of an export: its documents, and the text around them. */
export interface ExportForm {
  readonly before: string
  readonly between: string
  readonly after: string
  format(document: string): string
}

/** Exports use at most a third of the connections. The embedded database has only one, so it reads as fast as memory allows. */
function exportBounds({ concurrent, usage }: Pick<Database, 'concurrent' | 'usage'>): Pick<Exports, 'limit' | 'ahead'> {
  if (!concurrent) return { limit: 1, ahead: 16 * 2 ** 20 }
  return { limit: Math.min(MAX_EXPORTS, Math.max(1, Math.floor(usage().max / 3))), ahead: 2 ** 20 }
}

const MAX_EXPORTS = 4

interface ExportParts extends Pick<Exports, 'slots' | 'times'> {
  readonly transaction: Database['transaction']
  /** @throws Problem `unavailable` for a model whose table differs */
  admit(model: ModelSpec): void
  /** Compiles how the lists of a resource are read. */
  reader(resource: Resource): ListReader<string>
}

/** Binds exports to a database. */
export function bindExports(
  database: Pick<Database, 'concurrent' | 'usage'>,
  { slots, times, transaction, admit, reader }: ExportParts,
): Exports {
  const readers = remember(reader)
  return {
    ...exportBounds(database),
    slots,
    times,
    read: ({ resource, plan, bounds }, take, options) => {
      admit(resource.spec.model)
      return transaction(
        async (connection) => {
          for await (const documents of readers(resource)(connection, plan, bounds)) await take(documents)
        },
        { ...options, snapshot: true },
      )
    },
  }
}

interface Exporting {
  readonly exchange: Exchange
  readonly exports: Exports | undefined
  readonly queueKey: QueueKey
}

/**
 * Returns the text of a list in pieces. The snapshot begins with the first piece that is read and ends with the last one, when the client leaves, or
 * when time is up.
 * @throws Problem `unavailable`, from the stream, while too many exports are under way
 */
export async function* exportList(
  { exchange, exports, queueKey }: Exporting,
  asked: ExportedList,
  form: ExportForm,
): AsyncGenerator<string, void> {
  if (!exports) throw new Error('a list cannot be exported in a transaction')
  const { slots, limit, ahead, times } = exports
  if (slots.running >= limit) throw busy(limit)
  slots.running += 1
  const { response } = exchange
  const ending = new AbortController()
  const abort = (reason: Problem) => {
    ending.abort(reason)
    // Ends waiting for a client that does not read.
    if (response.headersSent) cutOff(exchange)
  }
  const leave = () => abort(new Problem('unavailable', 'the client has left'))
  const expire = () =>
    abort(new Problem('timeout', `the export took longer than ${times.exportTimeout / 1000} seconds`))
  const timer = setTimeout(expire, times.exportTimeout).unref()
  response.once('close', leave)
  try {
    if (response.destroyed) leave()
    yield* readAhead(
      async (put) => {
        let lead = form.before
        let isEmpty = true
        const take = (documents: readonly string[]) => {
          const text = documents.map((document) => form.format(document)).join(form.between)
          const piece = lead + text
          lead = form.between
          isEmpty = false
          return put(piece)
        }
        try {
          await exports.read(asked, take, { signal: ending.signal, queueKey })
        } catch (error) {
          if (error instanceof Problem) abort(error)
          throw error
        }
        await put(`${isEmpty ? form.before : ''}${form.after}`)
      },
      { length: ahead, patience: times.exportStallTimeout },
    )
  } finally {
    slots.running -= 1
    clearTimeout(timer)
    response.off('close', leave)
    ending.abort(new Problem('unavailable', 'the export has ended'))
  }
}

function busy(limit: number): Problem {
  const detail = limit === 1 ? 'another export is under way' : `${limit} other exports are under way`
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '5' } })
}
