import { hash } from 'node:crypto'
import { shownFields } from '../../config/model-spec.js'
import type { StoredResponses, KeyedRequest } from '../../db/records/stored-responses.js'
import { Problem } from '../../foundation/problem.js'
import { textOf } from '../server/replies/reply.js'
import type { Context, Reply } from '../route.js'
import type { Operation } from '../operations/operation.js'
import type { Stage } from './endpoint.js'

const REPLAYED = 'Idempotency-Replayed'

/** A key, optionally in double quotes as in the draft of the header: visible ASCII except characters that would need escaping. */
const KEY = /^(?:"([!#-+\--[\]-~]{1,255})"|([!#-+\--[\]-~]{1,255}))$/

/**
 * Runs a request with an `Idempotency-Key` once, and returns the stored response for repeated requests. Only successful responses are stored.
 */
export const idempotency: Stage = (next, endpoint) => {
  const { idempotency: spec, resource, operation, path, showsRecords, transaction = {} } = endpoint
  if (!spec) return next
  const { required, hours } = spec
  const shown = shownFields(resource.spec.model).map(({ name }) => name)
  return async (context) => {
    const key = readKey(context, required)
    if (key === undefined) return next(context, await operation.read(context))
    const body = operation.body === undefined ? '' : (await context.body(operation.body)).text
    const head = JSON.stringify([context.method, path, Object.entries(context.params), context.search])
    const asked = { key, request: hash('sha256', `${head}\n${body}`, 'base64url'), hours, shown, showsRecords }
    // The rules of bodies may have become stricter since the response was stored.
    const parsed = await parse(operation, context)
    const run = async (inside: Context) =>
      'input' in parsed ? next(inside, parsed.input) : Promise.reject(parsed.problem)
    const answered = context.transaction((inside) => inside.once(asked, () => run(inside)), transaction)
    if ('input' in parsed) return answered
    return answered.catch((error: unknown) => {
      throw isReused(error) ? parsed.problem : error
    })
  }
}

function isReused(error: unknown): boolean {
  return error instanceof Problem && error.type === 'idempotency_key_reused'
}

/** Returns the parsed request, or the reason why it is invalid. */
async function parse(
  operation: Operation,
  context: Context,
): Promise<{ readonly input: object } | { readonly problem: Problem }> {
  try {
    return { input: await operation.read(context) }
  } catch (error) {
    if (error instanceof Problem) return { problem: error }
    throw error
  }
}

/** @returns the key of the request; undefined if there is none and none is required */
function readKey({ headers }: Context, required: boolean): string | undefined {
  const given = headers['idempotency-key']
  if (given === undefined && !required) return undefined
  if (given === undefined) {
    const detail =
      'this request requires the header Idempotency-Key: a unique text such as a UUID, which stays the same when the request is retried'
    throw new Problem('malformed_request', detail)
  }
  const [, quoted, plain] = KEY.exec(String(given)) ?? []
  const key = quoted ?? plain
  if (key !== undefined) return key
  throw new Problem(
    'malformed_request',
    'Idempotency-Key must be one key of 1 to 255 visible ASCII characters other than `"`, `,` and `\\`, optionally in double quotes',
  )
}

/** Implements `Transaction.once`. `asking` describes the request, with the present rights of its caller. */
export async function once(
  answers: StoredResponses,
  asking: () => Promise<KeyedRequest>,
  work: () => Promise<Reply>,
): Promise<Reply> {
  const found = await answers.claim(await asking())
  if ('claim' in found) {
    const reply = await work()
    if (reply.status >= 400) await answers.release(found.claim)
    // The request may have changed the memberships of its caller.
    else await answers.keep(found.claim, toKept(reply), await asking())
    return reply
  }
  const { status, headers, body } = found
  return {
    status,
    headers: { ...headers, [REPLAYED]: 'true' },
    ...(body !== undefined && { text: body }),
  }
}

function toKept(reply: Reply) {
  if (reply.stream !== undefined)
    throw new TypeError('a handler returned a stream, which cannot be stored for its idempotency key')
  const text = textOf(reply)
  const body = text === undefined || typeof text === 'string' ? text : Buffer.from(text).toString()
  return { status: reply.status, headers: reply.headers ?? {}, body }
}
