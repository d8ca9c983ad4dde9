import type { ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { Problem } from '../../foundation/problem.js'
import type { Connection } from '../database.js'
import { isLocked } from '../driver/meanings.js'

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly key: string
  /** A fingerprint of the request, 43 characters long. */
  readonly request: string
  /** A fingerprint of the rights of its caller, 43 characters long; undefined without `auth`. */
  readonly rights?: string
  /** How many hours the response is kept. */
  readonly hours: number
  /** The fields that records show now, by name. A stored response that may show another field is rejected. */
  readonly shown?: readonly string[]
  /** Whether the response may show a record. */
  readonly showsRecords?: boolean
}

/** A stored response. */
export interface StoredResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Stored responses to requests that may be repeated, on the connection of a transaction. */
export interface StoredResponses {
  /**
   * Returns the stored response. Without one, reserves the key until the transaction ends and returns the value to pass to `keep` or `release`. If
   * another transaction has reserved the key, waits for its end.
   * @throws Problem `request_in_progress` if that takes too long, `idempotency_key_reused` if the key belongs to another request, `conflict` if
   *   the caller had other rights, or if responses showed a field that is hidden or removed now
   */
  claim(asked: KeyedRequest): Promise<StoredResponse | { readonly claim: string }>
  /** Stores a response with the rights that its caller has now, and deletes a few that have expired. */
  keep(claim: string, answer: StoredResponse, asked: KeyedRequest): Promise<void>
  /** Stores nothing, so that the key can be used again. */
  release(claim: string): Promise<void>
}

/** The fields that a response may show are kept beside its headers, under a name that no header can have. */
const SHOWN = ':shown'

/** Storing a response deletes up to this many expired ones, so that they never accumulate and no request pays for many. */
const MAX_REMOVED = 10

/** Compiles the statements over the table of stored responses; each call of the result binds them to a connection. */
export function compileStoredResponses({ table: name }: ModelSpec): (connection: Connection) => StoredResponses {
  const table = identifier(name)
  // Skips rows that others delete or reserve, so that nobody waits here.
  const keeping = (more: string) => `
      with expired as (
        select id from ${table} where expires_at <= now() order by expires_at limit ${MAX_REMOVED} for update skip locked
      ), removed as (delete from ${table} where id in (select id from expired))
      update ${table} set status = $2::int, headers = $3::jsonb, body = $4${more} where id = $1::bigint`
  const texts = {
    claim: `
      insert into ${table} (key, request, expires_at) values ($1, $2, now() + $3::int * interval '1 hour')
      on conflict (key) do update set request = excluded.request, expires_at = excluded.expires_at
      where ${table}.expires_at <= now()
      returning id::text`,
    find: `select request, status::text, headers::text, body from ${table} where key = $1`,
    release: `delete from ${table} where id = $1::bigint`,
    keep: keeping(''),
    keep_rights: keeping(', request = $5'),
  }
  return (connection) => {
    const send = (what: keyof typeof texts, ...values: readonly (string | null)[]) =>
      connection.query({ text: texts[what], values, name: `${name}_${what}` })

    return {
      async claim({ key, request: whole, rights, hours, shown }) {
        const request = fingerprint(whole, rights)
        const claimed = await send('claim', key, request, String(hours)).catch((error: unknown) => {
          throw isLocked(error) ? inProgress(error) : error
        })
        const claim = claimed.rows[0]?.[0]
        if (claim != null) return { claim }
        const [[first, status, headers, body] = []] = (await send('find', key)).rows
        if (status == null) throw inProgress()
        if (rights !== undefined && first?.slice(0, HALF) === request.slice(0, HALF) && first !== request) {
          const detail =
            'the rights of the caller have changed since this Idempotency-Key was sent first; use a new key'
          throw new Problem('conflict', detail)
        }
        if (first !== request) {
          const detail = 'this Idempotency-Key was sent before with another request; a new request needs a new key'
          throw new Problem('idempotency_key_reused', detail)
        }
        const { [SHOWN]: fields, ...sent } = JSON.parse(headers ?? '{}') as Record<string, string>
        if (shown && fields && fields.split(',').some((field) => !shown.includes(field))) {
          const detail =
            'the request with this Idempotency-Key has been executed, and its response may have a field that is hidden or removed now'
          throw new Problem('conflict', detail)
        }
        return { status: Number(status), headers: sent, body: body ?? undefined }
      },

      async keep(claim, { status, headers, body }, { request, rights, shown, showsRecords }) {
        const stored = { ...headers, ...(showsRecords && shown && { [SHOWN]: shown.join(',') }) }
        const values = [claim, String(status), JSON.stringify(stored), body ?? null] as const
        if (rights === undefined) await send('keep', ...values)
        else await send('keep_rights', ...values, fingerprint(request, rights))
      },

      async release(claim) {
        await send('release', claim)
      },
    }
  }
}

/** The column has room for 43 characters: half of them, 126 bits of each fingerprint, are enough. */
const HALF = 21

function fingerprint(request: string, rights: string | undefined): string {
  return rights === undefined ? request : `${request.slice(0, HALF)}.${rights.slice(0, HALF)}`
}

function inProgress(cause?: unknown): Problem {
  const detail = 'a request with this Idempotency-Key is still in progress'
  return new Problem('request_in_progress', detail, { headers: { 'Retry-After': '1' }, cause })
}
