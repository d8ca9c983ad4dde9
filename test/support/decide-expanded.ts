import { evaluateRule, some, type StoredRecord } from '../../src/access/decide/evaluate.js'
import { grantsOf, type Situation } from '../../src/access/decide/situation.js'

/**
 * The related record of an expansion, as the caller sees it: null if the caller may not retrieve it, or it does not exist.
 * @returns undefined if the caller may not expand the relation
 */
export function compileExpanded(
  { spec, resource, caller, known }: Situation,
  path: string,
): ((record: StoredRecord) => StoredRecord | null) | undefined {
  const expansion = resource.expand.find((each) => each.path === path)
  const readings = [...grantsOf(resource, 'list', caller), ...grantsOf(resource, 'retrieve', caller)]
  const target = spec.resources.find(({ name }) => name === expansion?.resource)
  const grants = target ? grantsOf(target, 'retrieve', caller) : []
  if (expansion === undefined || !readings.every(({ fields }) => fields.includes(path)) || grants.length === 0)
    return undefined
  const shown = expansion.fields.filter(({ name }) => grants.every(({ fields }) => fields.includes(name)))
  return (record) => {
    const related = known
      .records(expansion.model.table)
      ?.find((each) => expansion.relation.parts.every(({ to, field }) => each[to.name] === record[field.name]))
    const isCovered = related && some(grants.map(({ rows }) => evaluateRule(rows, related, known).holds)) === true
    return isCovered ? Object.fromEntries(shown.map(({ name }) => [name, related[name] ?? null])) : null
  }
}
