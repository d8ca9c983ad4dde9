import {
  type AccessRequest,
  type AppSpec,
  type Caller,
  isRounded,
  type Json,
  type ModelSpec,
  textOfSent,
} from '../../../src/internal.js'
import { Failure } from '../../failure.js'
import { similarHelp } from '../../similar.js'
import { rejectInexact } from './caller.js'

/** The caller of `--as`; undefined for nobody. */
export function parseCaller(known: NonNullable<AppSpec['auth']>['claims'], text: string): Caller | undefined {
  const given = readObject(text, '--as')
  rejectInexact('--as', text, Object.values(given))
  const { sub, roles = [], ...claims } = given
  const names = known.map(({ name }) => name)
  const unknown = Object.keys(claims).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new Failure(
      2,
      `--as has \`${unknown}\`, which is neither \`sub\` nor \`roles\` nor a claim of the configuration`,
      [
        ...(names.length > 0 ? similarHelp(unknown, names, { singular: 'claim', plural: 'claims' }) : []),
        'claims are beside `sub`: {"sub":"ann","roles":["member"],"tenant":1}',
      ],
    )
  if (sub === undefined) return undefined
  if (typeof sub !== 'string' || !Array.isArray(roles))
    throw new Failure(2, '--as needs `sub`, a text, and `roles`, a list', ['--as \'{"sub":"ann","roles":["member"]}\''])
  return { subject: sub, roles: (roles as readonly Json[]).map(String), claims }
}

/** The body of `--data`, with the values of fields as PostgreSQL prints them. */
export function readBody({ fields }: ModelSpec, text: string): NonNullable<AccessRequest['body']> {
  const given = readObject(text, '--data')
  if (isRounded(text))
    throw new Failure(2, '--data has a number that cannot be represented exactly', [
      'write the number as text, in quotes',
    ])
  const entries = Object.entries(given).map(([name, value]) => {
    const field = fields.find((each) => each.name === name)
    return [name, field ? textOfSent(field, value) : JSON.stringify(value)]
  })
  return Object.fromEntries(entries)
}

function readObject(text: string, option: '--as' | '--data'): Readonly<Record<string, Json>> {
  const value = parseObject(text)
  if (value === undefined) throw new Failure(2, `${option} needs a JSON object, and got \`${text}\``)
  return value
}

function parseObject(text: string): Readonly<Record<string, Json>> | undefined {
  try {
    const value = JSON.parse(text) as Json
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, Json>>)
      : undefined
  } catch {
    return undefined
  }
}
