import {
  type AppSpec,
  type Database,
  DatabaseInUse,
  DatabaseRejected,
  describeNewer,
  findSchemaDifferences,
  isReading,
  MigrationError,
  migrationStatus,
  missingRights,
  newerIn,
  Problem,
} from '../../src/internal.js'
import { type CliContext, projectFolders } from '../context.js'
import { hasDatabase, openReachable } from '../database/database.js'
import { encodingWarning } from '../database/encoding.js'
import { uncheckedWarning } from '../database/unchecked.js'
import { describeProblem, Failure } from '../failure.js'
import type { Finding } from './finding.js'
import { count } from '../output.js'
import { differenceHelp } from '../serve/schema.js'

type Known = Omit<Finding, 'check'>

/** Checks that the database is reachable, has the schema of the configuration, and that its clock agrees with this machine. Creates no database. */
export async function checkUpDatabase(context: CliContext, spec: AppSpec): Promise<readonly Finding[]> {
  const check = 'database'
  if (!hasDatabase(context, spec.file)) {
    return [{ check, state: 'ok', message: 'embedded, not created yet: snippetctl serve creates it', help: [] }]
  }
  const opened = await openReachable(context, spec.file).catch(toFinding)
  if ('state' in opened) return [{ check, ...opened }]
  try {
    return [
      { check, ...(await findVersion(opened)) },
      ...(await findEncoding(opened)),
      { check: 'schema', ...(await findSchema(spec, opened).catch(toFinding)) },
      ...(await findRights(spec, opened)),
      { check: 'clock', ...(await findClock(opened)) },
    ]
  } finally {
    await opened.close()
  }
}

/** Describes a database that cannot be opened, without its password. */
function toFinding(error: unknown): Known {
  if (error instanceof DatabaseInUse)
    return { state: 'ok', message: `${error.message}; its schema and clock were not checked`, help: [] }
  if (error instanceof Failure || error instanceof DatabaseRejected)
    return { state: 'fail', message: error.message, help: error.help }
  if (error instanceof MigrationError) return { state: 'fail', message: error.errors.join('; '), help: error.help }
  if (error instanceof Problem)
    return { state: 'fail', message: describeProblem(error), help: ['snippetctl migrate status'] }
  return {
    state: 'fail',
    message: error instanceof Error ? error.message : String(error),
    help: ['snippetctl migrate status'],
  }
}

async function read(database: Database, expression: string): Promise<string> {
  return (await database.query({ text: `select (${expression})::text`, values: [] })).rows[0]?.[0] ?? ''
}

const MIN_VERSION = 14

async function findVersion(database: Database): Promise<Known> {
  const version = await read(database, `current_setting('server_version')`)
  const superuser = await read(database, 'select rolname from pg_roles where rolname = current_user and rolsuper')
  // An embedded database has no other role.
  const role = superuser === '' || database.pack ? '' : `, as the superuser ${superuser}`
  const message = `${database.description}: PostgreSQL ${version}${role}`
  if (Number.parseInt(version, 10) >= MIN_VERSION) return { state: 'ok', message, help: [] }
  return { state: 'fail', message, help: [`use PostgreSQL ${MIN_VERSION} or newer`] }
}

async function findEncoding(database: Database): Promise<readonly Finding[]> {
  const unknown = await encodingWarning(database)
  return unknown ? [{ check: 'encoding', state: 'warn', message: unknown.message, help: [unknown.help] }] : []
}

async function findSchema(spec: AppSpec, database: Database): Promise<Known> {
  const states = await migrationStatus(database, projectFolders(spec.file).migrations)
  const unsettled = states.filter(({ state }) => state !== 'applied' && state !== 'newer')
  if (unsettled.length > 0) {
    const named = unsettled.map(({ name, state }) => `${name} (${state})`)
    const message = `${count(unsettled.length, 'migration')} not up to date: ${named.join(', ')}`
    const isPending = unsettled.every(({ state }) => state === 'pending')
    const help = isPending
      ? ['snippetctl migrate up', 'or see why: snippetctl migrate status']
      : [
          ...(unsettled.some(({ state }) => state === 'missing')
            ? ['check that DATABASE_URL names the database of this project']
            : []),
          'see how they differ: snippetctl migrate status',
        ]
    return { state: 'fail', message, help }
  }
  const newer = newerIn(states)
  const differences = await findSchemaDifferences(spec, database, { isOlder: newer.length > 0 })
  if (differences.length === 0)
    return { state: 'ok', message: `${count(states.length, 'migration')} applied`, help: [] }
  const { applied, version } = describeNewer(newer)
  const texts = differences.map(({ text }) => text).join('; ')
  return newer.length === 0
    ? { state: 'fail', message: texts, help: differenceHelp(differences) }
    : { state: 'fail', message: `${applied}: ${texts}`, help: [`run ${version}`] }
}

/** SQL: why changes fail; null if the database accepts them. */
const READ_ONLY = `case when pg_is_in_recovery() then 'a standby'
  when current_setting('transaction_read_only')::boolean then 'read-only (default_transaction_read_only is on)' end`

/** Warns of requests that would be 503, because the database is read-only or a right is missing. */
async function findRights(spec: AppSpec, database: Database): Promise<readonly Finding[]> {
  const writes = spec.resources.some(({ operations }) => operations.some((operation) => !isReading(operation)))
  const readOnly = writes ? await read(database, READ_ONLY) : ''
  const unchecked = writes ? await uncheckedWarning(database) : undefined
  const missing = await missingRights(spec, database)
  return [
    ...(readOnly === ''
      ? []
      : [
          warn(`the database is ${readOnly}: changes are 503`, [
            'let DATABASE_URL name a server and a role that can change it',
          ]),
        ]),
    ...(unchecked ? [warn(unchecked.message, [unchecked.help])] : []),
    ...missing.map(({ message, help }) => warn(message, [help])),
  ]
}

function warn(message: string, help: readonly string[]): Finding {
  return { check: 'rights', state: 'warn', message, help }
}

/** With a larger difference, logs of the two machines cannot be compared. */
const MAX_SKEW_SECONDS = 5

async function findClock(database: Database): Promise<Known> {
  const seconds = Number(await read(database, 'extract(epoch from clock_timestamp())'))
  const skew = Math.round(seconds - Date.now() / 1000)
  if (Math.abs(skew) <= MAX_SKEW_SECONDS) return { state: 'ok', message: 'the clocks agree', help: [] }
  const message = `the database is ${Math.abs(skew)} s ${skew > 0 ? 'ahead' : 'behind'}`
  return { state: 'warn', message, help: ['timedatectl set-ntp true, on both machines'] }
}
