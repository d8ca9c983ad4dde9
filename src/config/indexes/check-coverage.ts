import { indexesOf, serves, type TableIndex } from './coverage.js'
import type { ConfigDocument } from '../yaml/document.js'
import { fittingMax, outgrowing } from './index-size.js'
import { findValue, type Path } from '../yaml/located.js'
import { columnsInUse, type Need, needsByModel } from './needs.js'
import type { Rejection } from '../parse/rejection.js'
import { isPlain } from '../model-spec.js'
import { type AppSpec, columnsOf, type FieldSpec, type IndexSpec, type ModelSpec } from '../spec.js'
import { itemsOf } from '../schema/yaml-shape.js'
import { formatValue } from '../edit/format-value.js'
import { show } from '../words.js'

interface Missing {
  readonly need: Need
  /** The names of the fields of the index to add. */
  readonly fields: readonly string[]
}

/** The indexes that the lists of a configuration need and its models do not declare, and the declared indexes that no list needs. */
export function checkCoverage(document: ConfigDocument, spec: AppSpec): readonly Rejection[] {
  const needs = needsByModel(spec.resources)
  const columns = columnsInUse(spec.resources)
  return spec.models.flatMap((model) => {
    if (spec.internal.includes(model)) return []
    const missing = missingIndexes(model, needs.get(model) ?? [])
    const used = columns.get(model) ?? new Set<string>()
    return [
      // A view has no indexes.
      ...(model.view === undefined ? missing.map((each) => missingRejection(document, each, missing)) : []),
      // This project does not change unmanaged tables.
      ...(model.managed
        ? [
            ...model.indexes.flatMap((index, place) => unusedRejection(model, index, { place, used }) ?? []),
            ...sizeRejections(model),
          ]
        : []),
    ]
  })
}

/** Orders by one field, then longer ones, then filters. */
function rankOf({ place, wanted }: Need): number {
  return wanted.order.length === 0 ? 2 : place === undefined ? 1 : 0
}

/** Chooses as few indexes as serve all needs. Needs of orders come first, because their indexes often serve a filter on the same field too. */
function missingIndexes(model: ModelSpec, needs: readonly Need[]): readonly Missing[] {
  const known: TableIndex[] = [...indexesOf(model)]
  const missing: Missing[] = []
  for (const need of needs.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    if (known.some((index) => serves(index, need.wanted))) continue
    known.push({ columns: need.best.map((field) => field.column), unique: false })
    missing.push({ need, fields: need.best.map((field) => field.name) })
  }
  return missing
}

function missingRejection(document: ConfigDocument, { need, fields }: Missing, all: readonly Missing[]): Rejection {
  return {
    code: 'SC401',
    ...placeOf(document, need),
    message: need.cost,
    help: [additionHelp(document, need.model, { fields, all }), ...sizeHelp(need.best)],
  }
}

function placeOf(
  document: ConfigDocument,
  { resource, key, place, entry, field }: Need,
): Pick<Rejection, 'path' | 'part'> {
  const path: Path = ['resources', resource.name, key]
  if (place === undefined) return { path, part: 'value' }
  if (Array.isArray(findValue(document.value, path))) return { path: [...path, place], part: 'value' }
  return { path: [...path, entry ?? field.name], part: 'key' }
}

function flow(fields: readonly string[]): string {
  return `[${fields.join(', ')}]`
}

/** The line to add, in the style in which the model writes its indexes: block or flow. */
function additionHelp(
  document: ConfigDocument,
  model: ModelSpec,
  { fields, all }: { readonly fields: readonly string[]; readonly all: readonly Missing[] },
): string {
  const path = ['models', model.name, 'indexes']
  const key = path.join('.')
  const added = all.map((each) => flow(each.fields))
  if (findValue(document.value, path) === undefined) {
    return `add under \`models.${model.name}\`: \`indexes: [${added.join(', ')}]\``
  }
  const { line, column } = document.locate(path, 'value').start
  const inOneLine = [...(document.lines[line - 1] ?? '')][column - 1] === '['
  if (!inOneLine) return `add under \`${key}\`: \`- ${flow(fields)}\``
  const declared = itemsOf(findValue(document.value, path)).map(formatValue)
  return `write under \`models.${model.name}\`: \`indexes: [${[...declared, ...added].join(', ')}]\``
}

function namesOf({ fields }: ModelSpec, { columns }: TableIndex): readonly string[] {
  return columns.map((column) => fields.find((field) => field.column === column)?.name ?? column)
}

function sizeHelp(fields: readonly FieldSpec[]): readonly string[] {
  return outgrowing(fields).map(
    ({ name }) => `give ${show(name)} a \`max\` of at most 600 first: an index entry cannot have more than 2.7 kB`,
  )
}

/** The indexes and unique fields with rows that are too large for PostgreSQL. */
function sizeRejections(model: ModelSpec): readonly Rejection[] {
  const path: Path = ['models', model.name]
  const unique = model.fields.filter((field) => field.unique)
  return [
    ...unique.flatMap((field) => sizeRejection([field], [...path, 'fields', field.name, 'unique'], 'key')),
    ...model.indexes.flatMap(({ columns, method }, place) => {
      // Entries of the other kinds are bounded, or hold only parts of a value.
      if (method !== 'btree') return []
      const fields = columns.flatMap((column) => model.fields.filter((field) => field.column === column))
      return sizeRejection(fields, [...path, 'indexes', place], 'value')
    }),
  ]
}

function sizeRejection(fields: readonly FieldSpec[], path: Path, part: Rejection['part']): readonly Rejection[] {
  const large = outgrowing(fields)
  if (large.length === 0) return []
  const max = fittingMax(fields, large)
  // The `max` of a `json` field does not bound what an index stores.
  const bounded = large.every(
    ({ type, options }) => 'max' in type.options && type.longest({ ...options, max: 1 }) !== undefined,
  )
  const names = large.map(({ name }) => show(name)).join(' and ')
  const each = large.length > 1 ? ' each' : ''
  return [
    {
      code: 'SC407',
      path,
      part,
      message: `values of ${names} can be too long for this index: PostgreSQL rejects entries of more than 2.7 kB`,
      help: [
        bounded && max > 0
          ? `give ${names} a \`max\` of at most ${max}${each}, or take ${large.length > 1 ? 'them' : 'it'} out of the index`
          : `take ${names} out of the index`,
      ],
    },
  ]
}

function unusedRejection(
  model: ModelSpec,
  index: IndexSpec,
  { place, used }: { readonly place: number; readonly used: ReadonlySet<string> },
): Rejection | undefined {
  // Only the program that declares another kind of index knows which queries use it.
  if (index.unique || !isPlain(index)) return undefined
  const names = namesOf(model, index)
  const shown = show(flow(names))
  const at = { code: 'SC402', path: ['models', model.name, 'indexes', place], part: 'value' } as const
  const longer = indexesOf(model).find((other) => other !== index && isStartOf(index, other))
  if (longer) {
    const message = `the index ${shown} is not needed: ${show(flow(namesOf(model, longer)))} starts with the same fields`
    return { ...at, message, help: ['remove it: every write has to update it'] }
  }
  const [first = ''] = index.columns
  if (used.has(first) || model.relations.some((relation) => columnsOf(relation)[0] === first)) return undefined
  return {
    ...at,
    message: `nothing uses the index ${shown}: no list filters or orders by ${show(names[0] ?? '')}`,
    help: ['remove it, unless a plugin or another program uses it: every write has to update it'],
  }
}

function isStartOf(index: TableIndex, other: TableIndex): boolean {
  return (
    index.columns.length <= other.columns.length && index.columns.every((column, at) => column === other.columns[at])
  )
}
