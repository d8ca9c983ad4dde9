import { tableAlias } from '../../../fields/table-name.js'
import { identifier } from '../../../fields/sql-literal.js'
import type { CatalogColumn } from '../../introspect/catalog/catalog.js'
import { collationSql } from '../../introspect/catalog/collation.js'
import { risky } from '../../files/steps.js'
import { type Conversion, convert } from './conversions.js'
import { type Decision, type RowQuery, rowsOf } from '../prove/row-query.js'
import { examplesOf, trialOf } from '../prove/trial.js'

/** How a person converts a column whose type changes: SQL expressions on the columns of its table. */
export interface GivenConversion {
  readonly table: string
  readonly column: string
  /** The new value. */
  readonly using: string
  /** The former value, for `down`. */
  readonly reverse: string | undefined
}

/** A column whose type changes. */
export interface Retyped {
  readonly table: string
  readonly from: CatalogColumn
  readonly to: CatalogColumn
  /** The former rows, for counting, and their columns. */
  readonly relation: string
  readonly columns: readonly string[]
  readonly given: GivenConversion | undefined
}

/** The conversions of a change in both directions. */
export function conversionsOf({ table, from, to, given }: Retyped): readonly [there: Conversion, back: Conversion] {
  const back = given?.reverse === undefined ? convert(table, to.name, to, from) : byExpression(given.reverse, from)
  return [given ? byExpression(given.using, to) : convert(table, to.name, from, to), back]
}

/** The new value of a column, as SQL on the former columns. */
export function newValue(change: Retyped): string {
  return conversionsOf(change)[0].value
}

function byExpression(expression: string, to: CatalogColumn): Conversion {
  const collate = to.collation === null ? '' : ` collate ${collationSql(to.collation)}`
  return {
    guards: [],
    action: `type ${to.type}${collate} using (${expression})`,
    value: `(${expression})::${to.type}`,
    rewrites: true,
    misfit: undefined,
  }
}

/** The risk of a conversion that a person gives. Without a reverse, the former values are lost. */
export function riskOfGiven(change: Retyped, { using, reverse }: GivenConversion) {
  const { table, to } = change
  return {
    ...risky(`sets each value to ${using}`),
    ...(reverse === undefined && { loss: `the former values of ${table}.${to.name}` }),
    rows: givenRows(change, { using, reverse }),
  }
}

const FORMER = identifier('former value')

function givenRows(change: Retyped, { using, reverse }: Pick<GivenConversion, 'using' | 'reverse'>): RowQuery {
  const { table, from, to, relation, columns } = change
  const name = identifier(to.name)
  const others = columns.filter((column) => column !== to.name).map((column) => `, ${identifier(column)}`)
  const converted = `(select (${using}\n)::${to.type} as ${name}, ${name} as ${FORMER}${others.join('')} from ${relation}) ${tableAlias(table)}`
  const changed = `${name}::text is distinct from ${FORMER}::text`
  const lost = reverse === undefined ? 'false' : `((${reverse}\n)::${from.type})::text is distinct from ${FORMER}::text`
  return {
    sql: `select count(*) filter (where ${changed}), count(*), count(*) filter (where ${lost}) from ${converted}`,
    says: (count, total, unrestored = '0') =>
      `${count} of ${total} rows change${unrestored === '0' ? '' : `, and \`down\` gives ${unrestored} of them another value than before`}`,
    trial: {
      sql: trialOf({
        ...change,
        alias: tableAlias(table),
        column: to.name,
        expression: using,
        type: to.type,
        isMisfit: false,
      }),
      says: 'cannot be converted',
      decides: { cannot: 'change its type', help: 'correct these rows, or the expression after --using' },
    },
  }
}

/** The rows whose values an automatic conversion would change. */
export function misfitRows(change: Retyped, { misfit }: Conversion): RowQuery | undefined {
  if (!misfit) return undefined
  const { table, to, relation } = change
  const { where: expression, says } = misfit
  const decides = decisionFor(change)
  const tried = { ...change, alias: tableAlias(table), column: to.name, expression, type: 'boolean', isMisfit: true }
  return {
    ...rowsOf(relation, expression),
    says: (count, total) => `${count} of ${total} rows ${says}`,
    decides,
    examples: examplesOf(relation, to.name, expression),
    trial: { sql: trialOf(tried), says, decides },
  }
}

function decisionFor(change: Retyped): Decision {
  return {
    cannot: 'change its type',
    help: `correct these rows, or say how to convert them, for example ${usingOption(change, suggestion(change))}`,
  }
}

/** The ways out if converted values violate a constraint. */
export function conversionDecision(table: string, to: CatalogColumn): Decision {
  return {
    cannot: 'be added',
    help: `correct these rows, or convert them to values that it accepts: ${usingOption({ table, to }, '…')}`,
  }
}

/** The option of `migrate plan` that gives a conversion, for a shell. */
export function usingOption({ table, to }: Pick<Retyped, 'table' | 'to'>, expression: string): string {
  const value = `${table}.${to.name}=${expression}`
  return `--using '${value.replaceAll("'", String.raw`'\''`)}'`
}

/** An expression that accepts more values than the automatic conversion, because it changes some. */
function suggestion(change: Retyped): string {
  const { from, to } = change
  const column = identifier(to.name)
  const length = /^character varying\((\d+)\)/.exec(to.type)?.[1]
  if (length !== undefined) return `left(${column}::text, ${length})`
  if (/^jsonb?$/.test(to.type)) return `to_${to.type}(${column})`
  if (/^(?:integer|bigint|numeric)/.test(to.type) && /^(?:double precision|real|numeric)/.test(from.type))
    return `round(${column}::numeric)`
  return newValue(change)
}
