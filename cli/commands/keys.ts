import { type Command, Option } from 'commander'
import {
  type AppSpec,
  compileStoredKeys,
  isMismatch,
  keyId,
  lacksPrivilege,
  makeKey,
  type StoredKey,
  type StoredKeys,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec } from '../context.js'
import { onDatabase } from '../database/database.js'
import { type ExitCode, Failure } from '../failure.js'
import { alignColumns } from '../output.js'
import { type CallerOptions, readCaller, withCallerOptions } from '../project/access/caller.js'
import { readDuration } from '../project/duration.js'
import { toVisible } from '../serve/log/request-entry.js'
import { readsOnly, withLostConnectionHelp } from '../lost-connection.js'
import { requireSchema } from '../serve/schema.js'

interface KeysOptions extends CommonOptions {
  readonly json?: true
}

interface CreateOptions extends KeysOptions, CallerOptions {
  readonly expires: string
}

const EXAMPLES = `
Examples:
  $ snippetctl keys create --subject meter-7 --role meter
  $ snippetctl keys list
  $ snippetctl keys revoke 5f0c2a8e91b7d364`

/** `keys`: the API keys of callers. */
export function addKeys(program: Command, context: CliContext): void {
  const keys = program
    .command('keys')
    .description('the API keys by which callers sign in, where `auth.keys` is true')
    .helpCommand(false)
  const make = withLostConnectionHelp(keys.command('create'), [
    'if the key was stored, nobody can read it: revoke it, and create another',
    'see the keys: snippetctl keys list',
  ])
  withCallerOptions(make)
    .description('create a key, and print it: it is not stored, so it cannot be shown again')
    .addOption(new Option('--expires <duration>', 'how long it is valid: 12h, 90d, 1y or never').default('90d'))
    .option('--json', 'print one JSON document')
    .action(async (options: CreateOptions) => context.finish(await create(context, options)))
  readsOnly(keys.command('list'))
    .description('list the keys, without their secrets')
    .option('--json', 'print one JSON document')
    .action(async (options: KeysOptions) => context.finish(await list(context, options)))
  withLostConnectionHelp(keys.command('revoke'), [
    'run it again, or see whether the key is revoked: snippetctl keys list',
  ])
    .description('revoke a key; each process of the service rejects it after ten seconds at most')
    .argument('<id>', 'the identifier of the key, as `list` shows it')
    .option('--json', 'print one JSON document')
    .action(async (id: string, options: KeysOptions) => context.finish(await revoke(context, id, options)))
  keys.addHelpText('after', EXAMPLES)
}

async function create(context: CliContext, options: CreateOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const seconds = options.expires === 'never' ? undefined : readDuration(options.expires, '--expires')
  const { key, ...made } = makeKey()
  const stored = await onKeys(context, spec, (keys, auth) =>
    keys.add({ ...made, ...readCaller(auth, options) }, seconds),
  )
  if (options.json) context.out.data(JSON.stringify({ schemaVersion: 1, key, ...shown(stored) }))
  else {
    context.err.line(
      `key ${stored.id} for \`${toVisible(stored.subject)}\`, ${whenOver(stored)}; it is shown only now:`,
    )
    context.out.data(key)
  }
  return 0
}

async function list(context: CliContext, options: KeysOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const all = await onKeys(context, spec, (keys) => keys.list())
  if (options.json) context.out.data(JSON.stringify({ schemaVersion: 1, keys: all.map(shown) }))
  else if (all.length === 0) context.err.line('there are no keys')
  else {
    const rows = all.map((key) => [
      key.id,
      toVisible(key.subject),
      toVisible(key.roles.join(', ')) || '-',
      day(key.createdAt),
      whenOver(key),
    ])
    for (const line of alignColumns([['KEY', 'SUBJECT', 'ROLES', 'CREATED', 'STATE'], ...rows])) context.out.line(line)
  }
  return 0
}

async function revoke(context: CliContext, given: string, options: KeysOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const revoked = await onKeys(context, spec, (keys) => keys.revoke(keyId(given)))
  if (!revoked)
    throw new Failure(1, `there is no key \`${keyId(given)}\``, [
      'snippetctl keys list: the keys and their identifiers',
    ])
  if (options.json) context.out.data(JSON.stringify({ schemaVersion: 1, ...shown(revoked) }))
  else context.out.line(`key ${revoked.id} for \`${toVisible(revoked.subject)}\` is revoked`)
  return 0
}

/**
 * Runs work that needs the table of the keys, whatever the state of other tables: a leaked key must be revocable at any time.
 * @throws Failure 2 without `auth.keys`, or if the work fails because the database does not have the schema of the configuration
 */
function onKeys<T>(
  context: CliContext,
  spec: AppSpec,
  work: (keys: StoredKeys, auth: NonNullable<AppSpec['auth']>) => Promise<T>,
): Promise<T> {
  const { keys: model, auth } = spec
  if (!model || !auth)
    throw new Failure(2, 'the configuration has no API keys', ['add `keys: true` to `auth`, and make a migration'])
  return onDatabase(context, spec, async (database, migrations) => {
    try {
      return await work(compileStoredKeys(model)(database), auth)
    } catch (error) {
      if (isMismatch(error) && !lacksPrivilege(error)) await requireSchema(spec, database, migrations)
      throw error
    }
  })
}

/** A key in JSON, without its digest. */
function shown({ id, subject, roles, claims, createdAt, expiresAt, revokedAt }: StoredKey) {
  return { id, subject, roles, claims, createdAt, expiresAt: expiresAt ?? null, revokedAt: revokedAt ?? null }
}

function whenOver({ expiresAt, revokedAt }: StoredKey): string {
  if (revokedAt) return `revoked ${day(revokedAt)}`
  if (!expiresAt) return 'never expires'
  return `${expiresAt.getTime() > Date.now() ? 'expires' : 'expired'} ${day(expiresAt)}`
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10)
}
