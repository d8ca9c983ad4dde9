import { formatValue } from '../../config/edit/format-value.js'
import { identifier, literal } from '../../fields/sql-literal.js'
import { alter } from '../files/steps.js'
import type {
  Catalog,
  CatalogColumn,
  CatalogConstraint,
  CatalogIndex,
  CatalogTable,
} from '../introspect/catalog/catalog.js'
import { collationSql } from '../introspect/catalog/collation.js'
import { both, extra, has, isOfOneKind, isOurConstraint, isOurIndex, type Pair, usesOf } from './compare/pair.js'
import { narrowerChecks, otherActions } from './parts-of-others.js'
import { enumOrderRejections } from './steps/retyped-parts.js'
import type { WantedColumn, WantedTable } from './sql.js'
import { choicesOf } from './steps/enum-steps.js'
import { enumOf } from './steps/replace-enum.js'

/** The changes of one table that are not made until a setting clarifies them. */
export function rejectionsOf(pair: Pair): readonly string[] {
  return [
    ...unclearDrops(pair),
    ...otherKinds(pair),
    ...primaryKeyRejections(pair),
    ...takenNames(pair),
    ...enumOrderRejections(pair),
    ...narrowerChecks(pair),
    ...otherActions(pair),
  ]
}

/** A different object that somebody else created under a name that resources.yaml needs. */
function takenNames(pair: Pair): readonly string[] {
  const { wanted, from, to } = pair
  const reject = (kind: string, name: string, definition: string) =>
    `${kind} ${name} of ${wanted.name} was created by hand, as ${definition}, and the configuration needs the name for a different one: ` +
    'write a migration by hand that renames or drops it'
  const constraints = both(from.constraints, to.constraints).filter(
    ([old, now]) =>
      old.kind !== 'primary_key' &&
      (old.definition !== now.definition || old.validated !== now.validated) &&
      !usesOf(old).some((column) => pair.retyped.has(column)) &&
      has(wanted.constraints, now.name) &&
      !isOurConstraint(pair, old),
  )
  const indexes = both(from.indexes, to.indexes).filter(
    ([old, now]) => old.definition !== now.definition && has(wanted.indexes, now.name) && !isOurIndex(pair, old),
  )
  return [
    ...constraints.map(([{ name, definition }]) => reject('constraint', name, definition)),
    ...indexes.map(([{ name, definition }]) => reject('index', name, definition)),
  ]
}

function unclearDrops(pair: Pair): readonly string[] {
  const { wanted, from, to } = pair
  return from.columns
    .filter(({ name }) => isUnclear(pair, name))
    .flatMap((column) => {
      const heir = likeliest(column, addedTo(pair), to)
      return heir ? [unclear(wanted, column.name, heir)] : []
    })
}

/** Whether a column is dropped while another is added: that may be a rename, and a wrong guess either way loses values. */
export function isUnclear(pair: Pair, column: string): boolean {
  return pair.dropped.has(column) && !pair.wanted.dropped.includes(column) && addedTo(pair).length > 0
}

function addedTo({ wanted, from }: Pair): readonly WantedColumn[] {
  return wanted.columns.filter(({ name }) => !has(from.columns, name))
}

function likeliest(
  old: CatalogColumn,
  added: readonly WantedColumn[],
  { columns }: CatalogTable,
): WantedColumn | undefined {
  return added.find(({ name }) => columns.find((now) => now.name === name)?.type === old.type) ?? added[0]
}

function unclear({ name, model }: WantedTable, old: string, heir: WantedColumn): string {
  const repairs: readonly (readonly [string, string])[] = [
    [
      `renamed_from: ${formatValue(old)}`,
      `in the field \`${heir.field}\` of the model \`${model}\`: the values stay, under the new name`,
    ],
    [`dropped: [${formatValue(old)}]`, `in the model \`${model}\`: the values are lost`],
  ]
  return lines(
    `column ${name}.${old} is not in the configuration and ${name}.${heir.name} is new: a rename is never guessed, so one of these lines settles it`,
    repairs,
  )
}

function lines(first: string, repairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...repairs.map(([line]) => line.length))
  return [first, ...repairs.map(([line, means]) => `    ${line.padEnd(width)}   ${means}`)].join('\n')
}

/** A new table that resembles one without a model: its rows may belong to the new one. */
export function strandedTables(
  { from, to, dropped }: { readonly from: Catalog; readonly to: Catalog; readonly dropped: readonly string[] },
  created: readonly WantedTable[],
): readonly string[] {
  return extra(from, to)
    .filter(({ name }) => !dropped.includes(name))
    .flatMap((old) => {
      const heir = created.find((table) => isAlike(old, table))
      if (!heir) return []
      const first = `table ${old.name} is not in the configuration and ${heir.name} is new, with columns of the same names: one of these lines settles it`
      return [
        lines(first, [
          [`renamed_from: ${old.name}`, `in the model \`${heir.model}\`: the rows stay, under the new name`],
          [`dropped: [${old.name}]`, 'at the top of the configuration: the rows are lost'],
        ]),
      ]
    })
}

/** Half of the new columns, without the primary key. */
function isAlike({ columns }: CatalogTable, table: WantedTable): boolean {
  const key = table.constraints.find(({ kind }) => kind === 'primary_key')?.columns ?? []
  const others = table.columns.filter(({ name }) => !key.includes(name))
  const shared = others.filter(({ name }) => has(columns, name))
  return shared.length > 0 && shared.length * 2 >= others.length
}

function otherKinds({ wanted, from, to }: Pair): readonly string[] {
  return both(from.columns, to.columns)
    .filter(([old, now]) => !isOfOneKind(old, now))
    .map(
      ([old, now]) =>
        `column ${wanted.name}.${now.name} changes from ${describe(old)} to ${describe(now)}, which could fail or change values: ` +
        'write the migration by hand',
    )
}

function describe({ type, collation, identity, generated }: CatalogColumn): string {
  const parts = [
    type,
    collation && `collate ${collationSql(collation)}`,
    identity && `generated ${identity} as identity`,
    generated && 'computed',
  ]
  return parts.filter(Boolean).join(' ')
}

/**
 * A different name alone is not a difference: the constraint is renamed with the table, or somebody chose the name. A key of the table that the model
 * does not have is left alone: records can be listed without it.
 */
function primaryKeyRejections({ wanted, from, to }: Pair): readonly string[] {
  const [old, now] = [from, to].map(({ constraints }) => constraints.find(({ kind }) => kind === 'primary_key'))
  if (!now) return nullableKeys(wanted, old, to)
  if (old?.definition === now.definition) return []
  const shown = [old, now].map((key) => (key ? `${key.name} ${key.definition}` : 'none'))
  return [`the primary key of ${wanted.name} changes from ${shown.join(' to ')}: write the migration by hand`]
}

/** A model without a key leaves the primary key of its table, whose columns are never null. */
function nullableKeys(
  { name: table }: WantedTable,
  key: CatalogConstraint | undefined,
  to: CatalogTable,
): readonly string[] {
  return to.columns
    .filter(({ name, nullable }) => nullable && key?.columns.includes(name))
    .map(
      ({ name }) =>
        `column ${table}.${name} cannot become nullable, because it is part of the primary key ${key?.name} of the table: remove \`nullable: true\` from its field`,
    )
}

/** An enum cannot lose a choice, so a column with other choices becomes a text. A renamed choice would keep the enum, and rewrite no row. */
function renamedChoices({ wanted, from, to }: Pair): readonly string[] {
  return both(from.columns, to.columns).flatMap(([old, now]) => {
    const choices = old.type === now.type ? undefined : choicesOf(to, now.name)
    const [gone = [], added = []] = choices
      ? [without(old.labels ?? [], choices), without(choices, old.labels ?? [])]
      : []
    if (gone.length === 0 || added.length === 0) return []
    const [before, after] = [gone, added].map(([choice = '', ...more]) => (more.length > 0 ? '…' : literal(choice)))
    return [
      `column ${wanted.name}.${now.name} becomes a text, because the enum ${enumOf(old)} cannot lose a choice: if a choice only has another name now, ` +
        `rename it by a migration of your own, which rewrites no row, and affects every column of the enum: alter type ${enumOf(old)} rename value ${before} to ${after}`,
    ]
  })
}

function without(choices: readonly string[], others: readonly string[]): readonly string[] {
  return choices.filter((choice) => !others.includes(choice))
}

/** The objects of one table that only the files have, and that are left alone; and what a plan may do in another way. */
export function notesOf(pair: Pair): readonly string[] {
  const { wanted, from, to, dropped } = pair
  const stays = (part: CatalogConstraint | CatalogIndex) => !usesOf(part).some((column) => dropped.has(column))
  const constraints = extra(from.constraints, to.constraints).filter(
    (each) => each.kind !== 'primary_key' && stays(each) && !isOurConstraint(pair, each),
  )
  const indexes = extra(from.indexes, to.indexes).filter((each) => stays(each) && !isOurIndex(pair, each))
  const columns = extra(from.columns, to.columns).filter((column) => column.generated)
  return [
    ...renamedChoices(pair),
    ...columns.map(({ name }) => `column ${wanted.name}.${name} is computed and is left alone`),
    ...constraints.map(
      ({ name }) =>
        `constraint ${name} of ${wanted.name} is not in the configuration and is left alone; a migration of your own can drop it: ` +
        alter(wanted.name, `drop constraint ${identifier(name)}`),
    ),
    ...indexes.map(
      ({ name }) =>
        `index ${name} of ${wanted.name} is not in the configuration and is left alone; a migration of your own can drop it: drop index ${identifier(name)}`,
    ),
  ]
}
