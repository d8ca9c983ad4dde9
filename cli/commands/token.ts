import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { type Command, Option } from 'commander'
import {
  type AppSpec,
  createWhole,
  isSigningKey,
  keysOf,
  makeIssuerKey,
  readKeyFile,
  type SigningKey,
  signToken,
  verifiesFor,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec, shownPath } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'
import { type CallerOptions, readCaller, withCallerOptions } from '../project/access/caller.js'
import { readDuration } from '../project/duration.js'

interface TokenOptions extends CommonOptions, CallerOptions {
  readonly for: string
}

const EXAMPLES = `
Examples:
  $ snippetctl token --subject ann --role admin --for 1h
  $ curl -H "Authorization: Bearer $(snippetctl token --subject ann)" http://127.0.0.1:8000/api/tasks/

The first call makes a key pair: its public half is the file of \`auth.jwt.keys\`, and its private half is next to it. Whoever
reads the private key can sign tokens; keep it out of version control and container images.`

/** `token`: signs a token as the issuer of `auth.jwt`, for tests and for work without a network. */
export function addToken(program: Command, context: CliContext): void {
  withCallerOptions(program.command('token'))
    .description('sign a token for a caller, where `auth.jwt.keys` is a file of this project')
    .addOption(new Option('--for <duration>', 'how long it is valid: 30m, 1h, 7d').default('1h'))
    .addHelpText('after', EXAMPLES)
    .action(async (options: TokenOptions) => context.finish(await printToken(context, options)))
}

/** @throws Failure 2 if the project cannot sign tokens, or a flag is invalid or names an unknown role or claim */
async function printToken(context: CliContext, options: TokenOptions): Promise<ExitCode> {
  const { auth } = await requireSpec(context, options)
  const jwt = auth?.jwt
  if (!auth || !jwt?.keys)
    throw new Failure(
      2,
      jwt
        ? 'tokens of this project come from another issuer, whose private key this project does not have'
        : 'this project accepts no tokens: it has no `auth.jwt`',
      [
        'give `auth.jwt` a file of its own, such as `keys: ./keys.json`; this command creates it',
        'in development, `auth.development` lists callers who need no token',
      ],
    )
  const seconds = readDuration(options.for, '--for')
  const caller = readCaller(auth, options)
  if (caller.roles.length > 0 && !auth.rolesFrom)
    throw new Failure(2, 'tokens of this project have no roles: `auth.roles` has no `from`', [
      'add where tokens have them, such as `from: [roles]`',
    ])
  const key = await signingKey(context, jwt.keys, jwt)
  context.out.data(await signToken(caller, { auth, jwt, key, seconds }))
  return 0
}

/** The private key next to the file of public keys; makes the files that are missing, but no private key for an existing public one. */
async function signingKey(
  context: CliContext,
  file: string,
  { algorithms }: NonNullable<NonNullable<AppSpec['auth']>['jwt']>,
): Promise<SigningKey> {
  const { dir, name } = parse(file)
  const secret = join(dir, `${name}.private.json`)
  const isNew = !existsSync(secret)
  const lacksPublic = !existsSync(file)
  if (isNew && !lacksPublic)
    throw new Failure(2, `there is no private key for ${shownPath(context, file)}`, [
      `it would be ${shownPath(context, secret)}; without the public file, this command makes a new pair`,
    ])
  const key = isNew
    ? await makeIssuerKey(algorithms[0] ?? 'ES256')
    : readKey(await readFile(secret, 'utf8'), shownPath(context, secret))
  const write = (path: string, value: unknown, mode: number) =>
    createWhole(path, `${JSON.stringify(value, undefined, 2)}\n`, { mode })
  if (isNew) {
    await mkdir(dir, { recursive: true })
    await write(secret, key, 0o600)
  } else requireUsable(context, { file, secret, key, algorithms })
  if (lacksPublic) await write(file, keysOf(key), 0o644)
  if (isNew)
    context.err.line(
      `made ${shownPath(context, file)} and ${shownPath(context, secret)}; keep the second out of version control`,
    )
  else if (lacksPublic) context.err.line(`made ${shownPath(context, file)} from ${shownPath(context, secret)}`)
  return key
}

const NEW_PAIR = 'delete both files to make a new pair'

interface Pair {
  /** The file of the public keys, which may be missing. */
  readonly file: string
  /** The file of the private key. */
  readonly secret: string
  readonly key: SigningKey
  readonly algorithms: readonly string[]
}

/** @throws Failure 2 if the service would reject every token of an existing private key */
function requireUsable(context: CliContext, { file, secret, key, algorithms }: Pair): void {
  const [pub, priv] = [shownPath(context, file), shownPath(context, secret)]
  if (!algorithms.includes(key.alg))
    throw new Failure(
      2,
      `the key in ${priv} signs with ${key.alg}, and \`auth.jwt.algorithms\` only has ${algorithms.join(', ')}`,
      [`add ${key.alg} to \`algorithms\`, or ${NEW_PAIR}`],
    )
  if (existsSync(file) && !publicKeys(file, pub).some((known) => verifiesFor(known, key)))
    throw new Failure(2, `${pub} does not have the public half of the key in ${priv}`, [
      `restore the file that belongs to the other, or ${NEW_PAIR}`,
    ])
}

function publicKeys(file: string, shown: string) {
  try {
    return readKeyFile(file).keys
  } catch (cause) {
    throw new Failure(
      2,
      `the keys in ${shown} cannot be read: ${(cause as Error).message}`,
      [`restore the file, or ${NEW_PAIR}`],
      cause,
    )
  }
}

function readKey(text: string, shown: string): SigningKey {
  const reject = (message: string, cause?: unknown) =>
    new Failure(2, message, ['restore it, or delete it and the file of the public keys to make a new pair'], cause)
  let key: unknown
  try {
    key = JSON.parse(text)
  } catch (cause) {
    throw reject(`${shown} is not a private key in JSON: ${(cause as Error).message}`, cause)
  }
  if (isSigningKey(key)) return key
  throw reject(`${shown} is not a private key: it must be a JSON object with \`kty\`, \`d\`, \`alg\` and \`kid\``)
}
