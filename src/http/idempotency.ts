import { hash } from 'node:crypto'
import type { IdempotencySpec } from '../config/spec.js'
import type { Answers, Asked } from '../db/records/answers.js'
import type { TransactionOptions } from '../db/database.js'
import { Problem } from '../problem.js'
import { textOf } from './server/reply.js'
import type { BodyPolicy, Context, Handler, Reply } from './route.js'

/** A key, perhaps between double quotes, as the draft of the header has it: visible ASCII without what would need escaping there. */
const KEY = /^(?:"([!#-+\--[\]-~]{1,255})"|([!#-+\--[\]-~]{1,255}))$/

/** What a route does once for each key. */
interface Keyed {
  readonly idempotency: IdempotencySpec
  /** The path of the route, with its parameters. */
  readonly path: string
  /** How the body is judged; undefined where none is read. */
  readonly policy: BodyPolicy | undefined
}

/**
 * @returns what a request says of itself by `Idempotency-Key`; undefined for one without it, where there need be none. It throws Problem
 * `malformed_request` for a header that holds no key, or where it is missing, and what reading the body does.
 */
export function readAsked({ idempotency, path, policy }: Keyed): (context: Context) => Promise<Asked | undefined> {
  const { required, hours } = idempotency
  return async (context) => {
    const key = readKey(context, required)
    if (key === undefined) return undefined
    const body = policy === undefined ? '' : (await context.body(policy)).text
    const head = JSON.stringify([context.method, path, Object.entries(context.params), context.search])
    return { key, request: hash('sha256', `${head}\n${body}`, 'base64url'), hours }
  }
}

function readKey({ headers }: Context, required: boolean): string | undefined {
  const given = headers['idempotency-key']
  if (given === undefined && !required) return undefined
  if (given === undefined) {
    const detail =
      'a request here names itself by the header Idempotency-Key: a random text that is sent again with it, such as a UUID'
    throw new Problem('malformed_request', detail)
  }
  const [, quoted, plain] = KEY.exec(String(given)) ?? []
  const key = quoted ?? plain
  if (key !== undefined) return key
  throw new Problem(
    'malformed_request',
    'Idempotency-Key must be one key of 1 to 255 visible ASCII characters other than `"`, `,` and `\\`, perhaps between double quotes',
  )
}

/**
 * A handler of which every key is answered once. The body is judged by `check` before the database is asked for the key, and what is
 * refused keeps no answer.
 */
export function idempotent(
  handle: Handler,
  keyed: Keyed & { readonly options: TransactionOptions },
  check: (context: Context) => Promise<unknown>,
): Handler {
  const read = readAsked(keyed)
  return async (context) => {
    const asked = await read(context)
    if (!asked) return handle(context)
    await check(context)
    return context.transaction((inside) => inside.once(asked, async () => handle(inside)), keyed.options)
  }
}

/** What `Transaction.once` does. */
export async function once(answers: Answers, asked: Asked, work: () => Promise<Reply>): Promise<Reply> {
  const found = await answers.claim(asked)
  if ('claim' in found) {
    const reply = await work()
    await answers.keep(found.claim, toKept(reply))
    return reply
  }
  const { status, headers, body } = found
  return {
    status,
    headers: { ...headers, 'Idempotency-Replayed': 'true' },
    ...(body !== undefined && { text: body }),
  }
}

function toKept(reply: Reply) {
  if (reply.stream !== undefined) throw new TypeError('a handler answered a stream, which cannot be kept for its key')
  const text = textOf(reply)
  const body = text === undefined || typeof text === 'string' ? text : Buffer.from(text).toString()
  return { status: reply.status, headers: reply.headers ?? {}, body }
}
