import { identifier } from '../../../fields/sql-literal.js'
import { blocking, type Step } from '../../files/steps.js'
import { NAME } from '../../files/statements.js'
import type { CatalogColumn, CatalogConstraint, CatalogIndex } from '../../introspect/catalog/catalog.js'
import { both, find, isOurs, isTakenOver, type Pair, usesOf } from '../compare/pair.js'
import { dropConstraint, dropIndex } from './part-steps.js'
import { enumOf } from './replace-enum.js'

type Part = CatalogConstraint | CatalogIndex

/**
 * The checks and indexes with an expression over a column whose type changes. PostgreSQL would keep them with casts of the former type, which would stay after
 * `down`, and it cannot compare an enum with a text. So they are dropped before and added afterwards.
 * @param isStaying whether no other step drops or adds a part
 */
export function partsOnRetyped(
  pair: Pair,
  isStaying: (part: Part) => boolean,
): { readonly drops: readonly Step[]; readonly adds: readonly Step[] } {
  const table = pair.wanted.name
  const drop = (part: Part) =>
    'kind' in part ? dropConstraint(table, part, false) : dropIndex(table, part, { isWeaker: false, served: undefined })
  const freed = onFreedEnums(pair)
  const found = [...partsOnOtherTypes(pair, freed), ...freed].filter(({ part }) => isStaying(part))
  return {
    drops: found.map(({ part }) => drop(part)),
    adds: found.map(({ part, types }) => {
      const { up, down, ...step } = drop({ ...part, definition: asTexts(part.definition, types) })
      const isListed = isOurs(pair, part) && !('kind' in part && isTakenOver(pair, part))
      const owns = isListed ? [part.name] : []
      return { ...step, ...blocking, change: 'add', owns, up: down, down: up }
    }),
  }
}

function partsOnOtherTypes(pair: Pair, freed: readonly OnFreedEnum[]): readonly { part: Part; types: Set<string> }[] {
  const others = both(pair.from.columns, pair.to.columns).filter(([old, now]) => kindOf(old) !== kindOf(now))
  return expressionsOf(pair)
    .filter((part) => !freed.some((each) => each.part === part))
    .filter((part) => usesOf(part).some((name) => others.some(([old]) => old.name === name)))
    .map((part) => ({ part, types: new Set() }))
}

/** The types for which PostgreSQL prints an expression in the same way. Length and precision make no difference. */
const KINDS: Readonly<Record<string, string>> = {
  'character varying': 'text',
  smallint: 'integer',
  bigint: 'integer',
}

function kindOf({ type }: CatalogColumn): string {
  const name = type.replace(/\([\d,]+\)/, '')
  return KINDS[name] ?? name
}

function expressionsOf({ from }: Pair): readonly Part[] {
  const checks = from.constraints.filter(({ kind }) => kind === 'check')
  const indexes = from.indexes.filter(({ columns, definition }) => columns.includes(null) || / WHERE /.test(definition))
  return [...checks, ...indexes]
}

/** Comparisons by the order of an enum, which is another than that of texts. */
export function enumOrderRejections(pair: Pair): readonly string[] {
  return onFreedEnums(pair)
    .filter(({ part, types, columns }) => isOrdering(part.definition, types, columns))
    .map(
      ({ part: { name, definition, ...more }, columns }) =>
        `${pair.wanted.name}.${columns.join(', ')} cannot become a text, because the ${'kind' in more ? 'check' : 'index'} ${name} compares values in the order of the enum, ` +
        `${definition}: drop it in a migration by hand, and create it again without \`<\` and \`>\``,
    )
}

/** A check or index over columns whose enums become texts. */
interface OnFreedEnum {
  readonly part: Part
  /** The enums of these columns. */
  readonly types: ReadonlySet<string>
  readonly columns: readonly string[]
}

function onFreedEnums(pair: Pair): readonly OnFreedEnum[] {
  const { from, to } = pair
  const freed = both(from.columns, to.columns).flatMap(([old, now]) =>
    old.labels !== null && now.labels === null && /^(?:text|character)\b/.test(now.type) ? [old] : [],
  )
  return expressionsOf(pair).flatMap((part): readonly OnFreedEnum[] => {
    const used = usesOf(part).flatMap((name) => find(freed, name) ?? [])
    const types = new Set(used.map(enumOf))
    const columns = used.map(({ name }) => name)
    return used.length === 0 ? [] : [{ part, types, columns }]
  })
}

const LITERAL = String.raw`E?'(?:[^']|'')*'`
const CAST = new RegExp(String.raw`${LITERAL}|::((?:${NAME}\.)?${NAME})`, 'gu')

/** A definition with texts in place of the values of enums. */
export function asTexts(definition: string, types: ReadonlySet<string>): string {
  return definition.replaceAll(CAST, (all: string, type?: string) =>
    type !== undefined && types.has(type) ? '::text' : all,
  )
}

const OPERAND = new RegExp(String.raw`${LITERAL}(?:::((?:${NAME}\.)?${NAME}))?|${NAME}`, 'gu')

function isOrdering(definition: string, types: ReadonlySet<string>, columns: readonly string[]): boolean {
  const names = new Set(columns.flatMap((name) => [name, identifier(name)]))
  // A value of one of the enums becomes `@`.
  const marked = definition.replaceAll(OPERAND, (all: string, type?: string) =>
    (type !== undefined && types.has(type)) || names.has(all) ? '@' : 'x',
  )
  return /@\)? [<>]=? | [<>]=? \(?@/.test(marked)
}
