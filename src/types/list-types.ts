import type { FieldSpec } from '../config/spec.js'
import { featureParameters } from '../features/index.js'
import type { Lookup } from '../lookups/lookup.js'
import { compileFilters } from '../resource/filter.js'
import type { Resource } from '../resource/resource.js'
import { type Member, spellNames, spellValue } from './spelling.js'

/** The parameters of a list; undefined for a resource in a dialect, whose clients have words of their own. */
export function listParameters({ spec }: Resource): readonly Member[] | undefined {
  if (spec.dialect) return undefined
  const filters = [...compileFilters(spec).values()]
  const orders = spec.orderable.flatMap(({ name }) => [name, `-${name}`])
  const paging = spec.pagination.style.describe(spec.pagination)
  return [
    ...filters.map(({ parameter, field, lookup }) => ({
      name: parameter,
      type: compared(field, lookup, field.name in spec.links),
    })),
    ...featureParameters(spec, 'list').map(({ name, typescript }) => ({ name, type: typescript })),
    ...(orders.length > 0 ? [someOf('ordering', orders)] : []),
    ...paging.map(({ name, schema }) => ({ name, type: schema['type'] === 'integer' ? 'number' : 'string' })),
  ].map((parameter) => ({ ...parameter, type: `${parameter.type} | undefined`, optional: true }))
}

/** A parameter that takes one or several of some names. */
function someOf(name: string, names: readonly string[]): Member {
  const one = spellNames(names)
  return { name, type: `${one} | readonly (${one})[]` }
}

function compared(field: FieldSpec, lookup: Lookup, link: boolean): string {
  const value = spellValue({ ...field, nullable: false })
  return lookup.operand.typescript(link ? `${value} | string` : value)
}
