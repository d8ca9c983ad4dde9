import { tableSql } from '../../../fields/table-name.js'
import { identifier, literal } from '../../../fields/sql-literal.js'
import { collationSql } from '../../introspect/catalog/collation.js'

/** The type of a column as spelled in the catalogue. */
export interface ColumnType {
  readonly type: string
  readonly collation: string | null
}

/** How to convert a column to another type without changing a value: it succeeds exactly, or fails. */
export interface Conversion {
  /** Statements before the change, which fail if a value would change. */
  readonly guards: readonly string[]
  /** The action after `alter column "name"`. */
  readonly action: string
  /** The converted value, as SQL on the former columns. */
  readonly value: string
  /** Whether every row is rewritten while nobody can read the table. */
  readonly rewrites: boolean
  /** Values that would change: a condition for them, and what a message says about their rows, such as `are longer than 10`; undefined if no value can. */
  readonly misfit: Misfit | undefined
}

interface Misfit {
  readonly where: string
  readonly says: string
}

/** The details of a conversion between two types; anything left out has the usual value. */
interface Rule {
  readonly using?: string
  readonly rewrites?: boolean
  readonly misfit?: Misfit
}

interface Parts {
  readonly name: string
  readonly sizes: readonly number[]
}

type Find = (column: string, from: Parts, to: Parts) => Rule | undefined

const EXACT: Rule = {}
/** From the narrowest to the widest. */
const INTEGERS: Readonly<Record<string, readonly [minimum: string, maximum: string]>> = {
  smallint: ['-32768', '32767'],
  integer: ['-2147483648', '2147483647'],
  bigint: ['-9223372036854775808', '9223372036854775807'],
}
const TEXTS = ['text', 'character varying']
const FLOATS = /^(?:real|double precision)\b/

/** The rules for pairs of types, in the order in which they are tried. Other pairs are converted by way of their text. */
const RULES: readonly Find[] = [
  (_column, from, to) => (spelled(from) === spelled(to) ? { rewrites: false } : undefined),
  (column, from, to) => {
    if (!TEXTS.includes(from.name) || !TEXTS.includes(to.name)) return undefined
    const [most] = to.sizes
    if (most === undefined || (from.sizes[0] ?? Number.POSITIVE_INFINITY) <= most) return { rewrites: false }
    return { misfit: longerThan(column, most) }
  },
  (column, from, to) => {
    if (TEXTS.includes(from.name) || !TEXTS.includes(to.name)) return undefined
    const [most] = to.sizes
    const using = `${column}::text`
    return most === undefined ? { using } : { using, misfit: longerThan(using, most) }
  },
  (column, from, to) => {
    const limits = INTEGERS[to.name]
    if (!limits || !(from.name in INTEGERS || from.name === 'numeric')) return undefined
    const ranks = Object.keys(INTEGERS)
    if (from.name in INTEGERS && ranks.indexOf(from.name) < ranks.indexOf(to.name)) return EXACT
    const whole = from.name === 'numeric' ? `${column} <> trunc(${column}) or ` : ''
    const where = `${whole}${column} not between ${limits.join(' and ')}`
    return { misfit: { where, says: `are not of the type ${to.name}` } }
  },
  (column, from, to) => {
    if (to.name !== 'numeric' || !(from.name in INTEGERS || from.name === 'numeric')) return undefined
    const isNumber = from.name === 'numeric'
    const [precision, scale = 0] = to.sizes
    if (precision === undefined) return { rewrites: !isNumber }
    const [had = INTEGERS[from.name]?.[1].length ?? Number.POSITIVE_INFINITY, after = 0] = from.sizes
    if (scale >= after && precision - scale >= had - after) return { rewrites: !(isNumber && after === scale) }
    const where = `${column} <> round(${column}::numeric, ${scale}) or abs(${column}) >= 1e${precision - scale}::numeric`
    return { rewrites: true, misfit: { where, says: `do not fit ${spelled(to)}` } }
  },
  (column, from, to) =>
    from.name === 'date' && to.name === 'timestamp with time zone'
      ? { using: `${column}::timestamp at time zone 'UTC'` }
      : undefined,
  (column, from, to) => {
    const names = [from.name, to.name].toSorted().join()
    const isExact = to.sizes.length === 0 || to.sizes.join() === from.sizes.join()
    if (names !== 'timestamp with time zone,timestamp without time zone' || !isExact) return undefined
    return { using: `${column} at time zone 'UTC'` }
  },
  (column, from, to) => {
    if (from.name !== 'timestamp with time zone' || to.name !== 'date') return undefined
    const local = `${column} at time zone 'UTC'`
    return { using: `(${local})::date`, misfit: { where: `${local} <> (${local})::date`, says: 'have a time of day' } }
  },
  (column, from, to) => (from.name === 'boolean' && to.name in INTEGERS ? { using: `${column}::integer` } : undefined),
  (column, from, to) =>
    from.name in INTEGERS && to.name === 'boolean'
      ? { using: `${column} <> 0`, misfit: { where: `${column} not in (0, 1)`, says: 'are neither 0 nor 1' } }
      : undefined,
]

function longerThan(text: string, most: number) {
  return {
    where: `char_length(${text}) > ${most}`,
    says: `are longer than ${most}`,
  }
}

/** Finds out how to convert a column of a table to another type. */
export function convert(table: string, name: string, from: ColumnType, to: ColumnType): Conversion {
  const column = identifier(name)
  const [old, now] = [partsOf(from.type), partsOf(to.type)]
  const rule = RULES.map((find) => find(column, old, now)).find((found) => found !== undefined)
  const { using = undefined, rewrites = true, misfit = undefined } = rule ?? byText(column, from.type, to.type)
  const collate = to.collation === null ? '' : ` collate ${collationSql(to.collation)}`
  return {
    guards: misfit ? [guard(table, name, misfit)] : [],
    action: `type ${to.type}${collate}${using === undefined ? '' : ` using ${using}`}`,
    value: using ?? `${column}::${to.type}`,
    rewrites,
    misfit,
  }
}

function byText(column: string, from: string, to: string): Rule {
  const using = `${column}::text::${to}`
  const back = `(${using})::text::${from}`
  const isOther = `${back} is distinct from ${column}`
  // -0 equals 0, but has another text.
  const where = FLOATS.test(from) ? `${isOther} or ${back}::text is distinct from ${column}::text` : isOther
  return { using, misfit: { where, says: `have no exact form as ${to}` } }
}

/** PostgreSQL itself would silently round a number, and cut blanks off a text that is too long. */
function guard(table: string, name: string, { where, says }: Misfit): string {
  const message = `rows of ${table} have values in ${name} that ${says}, so they would change`
  const lines = [
    'begin',
    `  if exists (select from ${tableSql(table)} where ${where}) then`,
    `    raise exception using errcode = 'check_violation', message = ${literal(message)}, hint = ${literal(HINT)};`,
    '  end if;',
    'end',
  ]
  return block(lines)
}

/** Whether a statement of a migration is the check that a plan writes before a conversion, which changes nothing. */
export function isGuard(text: string): boolean {
  const [start = '', begin, condition = '', failure = '', ...end] = text.split('\n')
  return (
    /^do \$(?:snippetctl)?\$$/.test(start) &&
    begin === 'begin' &&
    /^ {2}if exists \(select from [^;]*\) then$/.test(condition) &&
    failure.startsWith("    raise exception using errcode = 'check_violation', ") &&
    end.join('\n') === `  end if;\nend\n${start.slice(3)}`
  )
}

const HINT = 'correct these rows, or plan the migration again with --using, which says how to convert them'

/** A `do` block of these lines. */
export function block(lines: readonly string[]): string {
  const body = lines.join('\n')
  const tag = body.includes('$$') ? '$snippetctl$' : '$$'
  return `do ${tag}\n${body}\n${tag}`
}

function partsOf(type: string): Parts {
  const [, start = type, sizes, rest = ''] = /^(.*?)\(([\d,]+)\)(.*)$/.exec(type) ?? []
  return { name: `${start}${rest}`, sizes: sizes?.split(',').map(Number) ?? [] }
}

function spelled({ name, sizes }: Parts): string {
  return sizes.length === 0 ? name : `${name}(${sizes.join(',')})`
}
