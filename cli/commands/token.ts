import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join, parse } from 'node:path'
import { type Command, Option } from 'commander'
import {
  createWhole,
  isSigningKey,
  keysOf,
  MAX_TOKEN_LENGTH,
  makeIssuerKey,
  readKeyFile,
  type SigningKey,
  signToken,
  type TokenCaller,
  type TokenTerms,
  verifyToken,
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
  const pair = await findPair(context, jwt.keys, jwt.algorithms)
  const token = await sign(pair, caller, { auth, jwt, seconds })
  await writeMissing(context, pair)
  context.out.data(token)
  return 0
}

interface Pair {
  /** The file of the public keys, which may be missing. */
  readonly file: string
  /** The file of the private key next to it, which may be missing, too. */
  readonly secret: string
  /** Both files as messages name them. */
  readonly shown: { readonly file: string; readonly secret: string }
  readonly isNew: boolean
  readonly lacksPublic: boolean
  readonly key: SigningKey
}

const NEW_PAIR = 'delete both files to make a new pair'

/**
 * Reads the private key next to the file of public keys, or makes a new one if neither file exists.
 * @throws Failure 2 if the private key is missing, invalid, or has an algorithm that the service does not accept
 */
async function findPair(context: CliContext, file: string, algorithms: readonly string[]): Promise<Pair> {
  const { dir, name } = parse(file)
  const secret = join(dir, `${name}.private.json`)
  const isNew = !existsSync(secret)
  const lacksPublic = !existsSync(file)
  const shown = { file: shownPath(context, file), secret: shownPath(context, secret) }
  if (isNew && !lacksPublic)
    throw new Failure(2, `the private key of ${shown.file} is missing`, [
      `it would be ${shown.secret}; without the public file, this command makes a new pair`,
    ])
  const key = isNew
    ? await makeIssuerKey(algorithms[0] ?? 'ES256')
    : readKey(await readFile(secret, 'utf8'), shown.secret)
  if (!algorithms.includes(key.alg))
    throw new Failure(
      2,
      `the key in ${shown.secret} signs with ${key.alg}, and \`auth.jwt.algorithms\` only has ${algorithms.join(', ')}`,
      [`add ${key.alg} to \`algorithms\`, or ${NEW_PAIR}`],
    )
  return { file, secret, shown, isNew, lacksPublic, key }
}

/**
 * Signs a token that the service accepts.
 * @throws Failure 2 if the private key cannot sign, or the service would reject the token
 */
async function sign({ file, shown, lacksPublic, key }: Pair, caller: TokenCaller, terms: TokenTerms): Promise<string> {
  const keys = lacksPublic ? keysOf(key) : publicKeys(file, shown.file)
  const token = await signToken(caller, key, terms).catch((cause: Error) => {
    throw unusableKey(`the key in ${shown.secret} cannot sign: ${cause.message}`, cause)
  })
  if (token.length > MAX_TOKEN_LENGTH)
    throw new Failure(
      2,
      `the token has ${token.length} characters, and the service rejects tokens of more than ${MAX_TOKEN_LENGTH}`,
      ['give fewer or shorter values to --claim and --role'],
    )
  await verifyToken(token, { ...terms, keys: { keys: [...keys.keys] } }).catch((cause: unknown) => {
    if (lacksPublic)
      throw unusableKey(`the public and the private half of the key in ${shown.secret} do not match`, cause)
    throw new Failure(
      2,
      `the keys in ${shown.file} do not verify tokens that the key in ${shown.secret} has signed`,
      [`restore the file that belongs to the other, or ${NEW_PAIR}`],
      cause,
    )
  })
  return token
}

async function writeMissing(
  context: CliContext,
  { file, secret, shown, isNew, lacksPublic, key }: Pair,
): Promise<void> {
  const write = (path: string, value: unknown, mode: number) =>
    createWhole(path, `${JSON.stringify(value, undefined, 2)}\n`, { mode })
  if (isNew) {
    await mkdir(dirname(secret), { recursive: true })
    await write(secret, key, 0o600)
  }
  if (lacksPublic) await write(file, keysOf(key), 0o644)
  if (isNew) context.err.line(`made ${shown.file} and ${shown.secret}; keep the second out of version control`)
  else if (lacksPublic) context.err.line(`made ${shown.file} from ${shown.secret}`)
}

function publicKeys(file: string, shown: string) {
  try {
    return readKeyFile(file)
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
  let key: unknown
  try {
    key = JSON.parse(text)
  } catch (cause) {
    throw unusableKey(`${shown} is not a private key in JSON: ${(cause as Error).message}`, cause)
  }
  if (isSigningKey(key)) return key
  throw unusableKey(`${shown} is not a private key: it must be a JSON object with \`kty\`, \`d\`, \`alg\` and \`kid\``)
}

function unusableKey(message: string, cause?: unknown): Failure {
  return new Failure(2, message, ['restore it, or delete it and the file of the public keys to make a new pair'], cause)
}
