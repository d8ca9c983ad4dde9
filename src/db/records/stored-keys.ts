import type { ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Json } from '../../foundation/json.js'
import type { Connection } from '../database.js'

/** An API key as stored in the database, which is not enough to sign in. */
export interface StoredKey {
  /** The public part of the key: 16 hexadecimal digits. */
  readonly id: string
  /** The SHA-256 of the whole key, in base64url. */
  readonly digest: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, Json>>
  readonly createdAt: Date
  /** Undefined for a key that never expires. */
  readonly expiresAt: Date | undefined
  /** Undefined for a key that was not revoked. */
  readonly revokedAt: Date | undefined
}

/** API keys on one connection. */
export interface StoredKeys {
  find(id: string): Promise<StoredKey | undefined>
  /** All keys, in the order of their creation. */
  list(): Promise<readonly StoredKey[]>
  /** @param seconds how long the key is valid; undefined if it never expires */
  add(key: Pick<StoredKey, 'id' | 'digest' | 'subject' | 'roles' | 'claims'>, seconds?: number): Promise<StoredKey>
  /** Revokes a key for good; returns undefined if there is none with this id. */
  revoke(id: string): Promise<StoredKey | undefined>
}

/** Compiles the statements over the table of API keys; each call of the result binds them to a connection. */
export function compileStoredKeys({ table: name }: ModelSpec): (connection: Connection) => StoredKeys {
  const table = identifier(name)
  const milliseconds = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint::text`
  const columns = [
    'key',
    'digest',
    'subject',
    'roles::text',
    'claims::text',
    ...['created_at', 'expires_at', 'revoked_at'].map(milliseconds),
  ].join(', ')
  const texts = {
    find: `select ${columns} from ${table} where key = $1`,
    list: `select ${columns} from ${table} order by id`,
    add: `
      insert into ${table} (key, digest, subject, roles, claims, created_at, expires_at)
      values ($1, $2, $3, $4::jsonb, $5::jsonb, now(), now() + $6::float8 * interval '1 second')
      returning ${columns}`,
    revoke: `update ${table} set revoked_at = coalesce(revoked_at, now()) where key = $1 returning ${columns}`,
  }
  return (connection) => {
    const send = async (what: keyof typeof texts, ...values: readonly (string | null)[]) => {
      const retry = what === 'find' || what === 'list'
      const { rows } = await connection.query({ text: texts[what], values, name: `${name}_${what}`, retry })
      return rows.map(toKey)
    }
    return {
      find: async (id) => (await send('find', id))[0],
      list: () => send('list'),
      async add({ id, digest, subject, roles, claims }, seconds) {
        const expiry = seconds === undefined ? null : String(seconds)
        const [added] = await send('add', id, digest, subject, JSON.stringify(roles), JSON.stringify(claims), expiry)
        if (added === undefined) throw new Error('the database has stored no key')
        return added
      },
      revoke: async (id) => (await send('revoke', id))[0],
    }
  }
}

function toKey(row: readonly (string | null)[]): StoredKey {
  const [id = '', digest = '', subject = '', roles = '[]', claims = '{}'] = row.map((text) => text ?? undefined)
  const [createdAt = new Date(0), expiresAt, revokedAt] = row
    .slice(5)
    .map((text) => (text === null ? undefined : new Date(Number(text))))
  return {
    id,
    digest,
    subject,
    roles: JSON.parse(roles) as string[],
    claims: JSON.parse(claims) as Record<string, Json>,
    createdAt,
    expiresAt,
    revokedAt,
  }
}
