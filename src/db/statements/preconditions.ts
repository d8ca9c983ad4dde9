import { arrayLiteral, type Cell } from '../../fields/cell.js'
import type { Precondition } from '../../resource/plan.js'
import type { Parameters } from './parameters.js'

/**
 * Renders preconditions as more conditions of a `where`. PostgreSQL evaluates them on the row that it changes, after waiting for concurrent changes,
 * so nothing can come between. `tagOf` makes the SQL of the record's entity tag.
 */
export function meets(only: readonly Precondition[], tagOf: () => string | undefined, params: Parameters): string {
  const all = only.map((condition) => {
    const { tags, wanted } = condition
    if (tags === 'any') return wanted ? '' : ' and false'
    const tag = tagOf()
    if (tag === undefined) throw new Error('records in this form have no entity tags')
    const listed = `${tag} = any(${params.add(tagArray(tags))}::bytea[])`
    return wanted ? ` and ${listed}` : ` and not ${listed}`
  })
  return all.join('')
}

function tagArray(tags: readonly string[]): Cell {
  return arrayLiteral(tags.map((digits) => `\\x${digits}`))
}
