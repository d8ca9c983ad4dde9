import { type Command, Option } from 'commander'
import { type AppSpec, type Caller, isRounded, isSubject, type Json, typedClaims } from '../../../src/internal.js'
import { Failure } from '../../failure.js'
import { similarHelp } from '../../similar.js'

/** Flags that say who a caller is. */
export interface CallerOptions {
  readonly subject: string
  readonly role?: readonly string[]
  readonly claim?: readonly string[]
}

/** Adds `--subject`, `--role` and `--claim`. */
export function withCallerOptions(command: Command): Command {
  return command
    .addOption(new Option('--subject <text>', 'who the caller is: `$sub` in rules').makeOptionMandatory())
    .option('--role <name...>', 'the roles of the caller')
    .option('--claim <name=value...>', 'a claim of the caller; a list is written as JSON')
}

/** @throws Failure 2 for an invalid subject, an unknown role or claim, or a claim of the wrong type */
export function readCaller(auth: NonNullable<AppSpec['auth']>, options: CallerOptions): Caller {
  const { subject, role: roles = [], claim: given = [] } = options
  if (!isSubject(subject)) throw new Failure(2, '--subject must have 1 to 255 characters that PostgreSQL can store')
  for (const role of roles) if (!auth.roles.includes(role)) throw unknown('role', role, auth.roles)
  const known = new Map(auth.claims.map((claim) => [claim.name, claim]))
  const values = new Map<string, Json>()
  for (const text of given) {
    const at = text.indexOf('=')
    if (at < 0) throw new Failure(2, `--claim must be name=value; got \`${text}\``)
    const [name, value] = [text.slice(0, at), text.slice(at + 1)]
    const claim = known.get(name)
    if (!claim) throw unknown('claim', name, [...known.keys()])
    if (values.has(name)) throw new Failure(2, `--claim ${name} is given twice; write several values as a JSON list`)
    values.set(name, claim.type === 'string' && !value.startsWith('[') ? value : readJson(text, value))
  }
  const typed = typedClaims(auth, ({ name }) => values.get(name))
  for (const name of values.keys())
    if (!Object.hasOwn(typed, name))
      throw new Failure(
        2,
        `the value of --claim ${name} must be a JSON ${known.get(name)?.type.replace('number', 'integer')}, or a list of them; got ${JSON.stringify(values.get(name))}`,
      )
  return { subject, roles: [...new Set(roles)], claims: typed }
}

function unknown(kind: 'role' | 'claim', name: string, all: readonly string[]): Failure {
  const help =
    all.length === 0 ? [`\`auth.${kind}s\` has none`] : similarHelp(name, all, { singular: kind, plural: `${kind}s` })
  return new Failure(2, `no ${kind} is named \`${name}\``, help)
}

function readJson(text: string, value: string): Json {
  const json = parse(text, value)
  rejectInexact(`--claim ${text}`, value, [json])
  return json
}

/**
 * Rejects values of claims that rules cannot compare.
 * @param text the JSON of all values
 * @throws Failure 2 for a number that JavaScript rounds, or may have rounded
 */
export function rejectInexact(flag: string, text: string, values: readonly Json[]): void {
  const isUnsafe = (item: Json) => Number.isInteger(item) && !Number.isSafeInteger(item)
  if (isRounded(text) || values.flat().some(isUnsafe))
    throw new Failure(2, `${flag} has a number that cannot be compared exactly`, [
      'give an integer within ±9007199254740991, or a number of at most 15 digits',
    ])
}

function parse(text: string, value: string): Json {
  try {
    return JSON.parse(value) as Json
  } catch (cause) {
    throw new Failure(2, `the value after \`=\` in --claim ${text} is not valid JSON`, [], cause)
  }
}
