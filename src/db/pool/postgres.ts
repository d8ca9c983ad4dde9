import { types } from 'node:util'
import pg from 'pg'
import { suggest } from '../../config/words.js'
import { type Database, DatabaseRejected } from '../database.js'
import { poolDatabase } from './pooled-database.js'
import { makeSocket } from '../driver/row-messages.js'
import { TEMPORARY_LAST } from './search-path.js'

const OLDEST = 14
const CONNECT_TIMEOUT_MS = 2_000
/** A few suffice, because pipelined reads do not wait for each other's responses. */
const MAX_PIPELINED = 3

/**
 * Set by a statement on each new connection rather than by startup options, because poolers reject unknown ones. It also fixes the text forms, so
 * that cells look the same on every server. If the service vanishes in the middle of a statement, only TCP keepalives end its session, and not every
 * product lets us set them.
 */
const SESSION = `
  set statement_timeout = '5s';
  set lock_timeout = '2s';
  set idle_in_transaction_session_timeout = '10s';
  set client_encoding = 'UTF8';
  set timezone = 'UTC';
  set datestyle = 'ISO, MDY';
  set intervalstyle = 'postgres';
  set bytea_output = 'hex';
  set extra_float_digits = 1;
  set standard_conforming_strings = on;
  set array_nulls = on;
  set quote_all_identifiers = off;
  set transform_null_equals = off;
  set client_min_messages = warning;
  set jit = off;
  set default_transaction_deferrable = off;
  select set_config('session_replication_role', 'origin', false)
    where current_setting('is_superuser')::boolean and current_setting('session_replication_role') = 'replica';
  select set_config(name, wanted, false) from pg_settings join (values
    ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3')) as keepalives (name, wanted) using (name);
  ${TEMPORARY_LAST};
  select version()`
/** Longer than the server's own limit: it applies only if the server is frozen or the network drops packets. */
const RESPONSE_TIMEOUT_MS = 6_000

interface PostgresOptions {
  /** The environment variable of the URL. */
  readonly variable: string
  readonly connections: number
  /** Whether named statements are prepared. */
  readonly prepare: boolean
}

/**
 * Opens a pool for a PostgreSQL server. It connects with the first statement or `probe`.
 * @throws DatabaseRejected if the URL is malformed
 */
export function openPostgres(url: string, { variable, connections, prepare }: PostgresOptions): Database {
  const client = {
    connectionString: withStrictTls(url),
    enableChannelBinding: /[?&]channel_binding=(?:prefer|require)(?:&|$)/.test(url),
    fallback_application_name: 'snippetctl',
    // Limits opening a connection, and waiting for one in the pool.
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    stream: makeSocket,
    keepAliveInitialDelayMillis: 10_000,
  }
  const sending = { patience: RESPONSE_TIMEOUT_MS, prepare }
  const pipelined = Math.min(MAX_PIPELINED, Math.floor(connections / 3))
  return poolDatabase({
    description: describe(url, variable),
    whenPending: 'reject',
    concurrent: true,
    sending,
    ...(pipelined > 0 && { quick: { client, maxConnections: pipelined, prepare: prepareSession, sending } }),
    pool: {
      ...client,
      max: connections - pipelined,
      idleTimeoutMillis: 60_000,
      maxLifetimeSeconds: 30 * 60,
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- the pool waits for it; only its types do not say so
      onConnect: prepareSession,
    },
  })
}

async function prepareSession(client: pg.ClientBase): Promise<void> {
  const config = { text: SESSION, query_timeout: CONNECT_TIMEOUT_MS }
  // The driver returns one result for each statement, but its types do not say so.
  const results = [await client.query<{ version: string }>(config)].flat()
  const version = results.at(-1)?.rows[0]?.version ?? ''
  // Other products that speak the protocol have version numbers of their own.
  const major = /^PostgreSQL (\d+)/.exec(version)?.[1]
  if (major === undefined || Number(major) >= OLDEST) return
  throw new DatabaseRejected(`the server is PostgreSQL ${major}, which is too old`, [
    `Use PostgreSQL ${OLDEST} or newer`,
  ])
}

/** Where the server is, without the password. */
function describe(url: string, variable: string): string {
  const { host, port, database } = readUrl(url, variable)
  return `PostgreSQL at ${host.startsWith('/') ? host : `${host}:${port}`}, database ${database ?? '(default)'}`
}

/** The parts of a URL. A password with a special character may end up in any of them. */
const PARTS = /^postgres(?:ql)?:\/\/[^/?#]*(?<path>[^?#]*)(?<query>[^#]*)(?<fragment>.*)$/s

/** Parameters whose unknown values the driver misinterprets, with the values that it knows. */
const KNOWN_VALUES: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['sslmode', ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']],
  ['ssl', ['true', '1', '0', 'no-verify']],
  ['channel_binding', ['disable', 'prefer', 'require']],
]

/**
 * The parameters that the driver reads, and `channel_binding`, which hosted databases put in their URLs. The driver ignores all others: with a
 * misspelt `sslmode` it would connect without TLS.
 */
const PARAMETERS: readonly string[] = [
  'sslmode',
  'ssl',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'sslnegotiation',
  'channel_binding',
  'host',
  'port',
  'user',
  'password',
  'application_name',
  'fallback_application_name',
  'options',
  'client_encoding',
  'replication',
  'binary',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'query_timeout',
]

/** The driver treats these modes as `verify-full`, with a warning that later versions will not. */
function withStrictTls(url: string): string {
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}

function readUrl(url: string, variable: string): pg.Client {
  const parts = PARTS.exec(url)?.groups
  if (!parts) throw malformed(variable, url === '' ? 'it is empty' : 'it does not start with postgres://')
  const { path = '', query = '', fragment } = parts
  // The driver would encode it as part of a name.
  if (/\s/.test(url)) throw malformed(variable, 'it contains a space')
  // The driver would take the rest of the URL literally.
  if (/%(?![0-9a-f]{2})/i.test(url))
    throw malformed(variable, 'it contains a % that is not followed by two hexadecimal digits')
  if (fragment) throw malformed(variable, 'it contains a #')
  // After the host, an @ is valid only in parameter values. Otherwise the text before it is part of a password.
  if (path.includes('@') || query.split('&').some((each) => /^[^=]*@/.test(each)))
    throw malformed(variable, 'it contains an @ after the host')
  const parameters = new URLSearchParams(query)
  for (const [name, values] of KNOWN_VALUES) {
    if (parameters.getAll(name).every((value) => values.includes(value))) continue
    throw malformed(variable, `${name} must be one of ${values.join(', ')}`)
  }
  const unread = [...parameters.keys()].find((name) => !PARAMETERS.includes(name))
  if (unread !== undefined)
    throw malformed(variable, 'it has an unknown parameter', suggest(unread, PARAMETERS, 'parameter'))
  try {
    return new pg.Client({ connectionString: withStrictTls(url) })
  } catch (error) {
    const code =
      types.isNativeError(error) && 'syscall' in error ? String((error as { code?: unknown }).code) : undefined
    throw malformed(variable, code ? `a file that it names cannot be read (${code})` : 'it cannot be parsed as a URL')
  }
}

/** Never shows the URL: if it is malformed, any part of it may be the password. The driver's error contains it too. */
function malformed(variable: string, reason: string, help: readonly string[] = []): DatabaseRejected {
  return new DatabaseRejected(
    `${variable} is malformed: ${reason}; its value is not shown, because it may contain a password`,
    [
      ...help,
      'Use a URL of the form postgres://user:password@host:5432/database',
      'Percent-encode special characters in the user and the password: @ is %40, / is %2F, : is %3A, # is %23, ? is %3F, % is %25',
    ],
  )
}
