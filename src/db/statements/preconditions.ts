import { arrayLiteral, type Cell } from '../../fields/cell.js'
import type { Precondition } from '../../resource/plan.js'
import type { Parameters } from './where.js'

/**
 * The SQL of preconditions, as more of a `where`: PostgreSQL judges them of the row that it changes, after it has waited for whoever else
 * changes it, so that nothing can come between. `tag` is the SQL of the record's entity tag.
 */
export function meets(only: readonly Precondition[], tag: string | undefined, params: Parameters): string {
  const all = only.map((condition) => {
    const { tags, wanted } = condition
    if (tags === 'any') return wanted ? '' : ' and false'
    if (tag === undefined) throw new Error('records in this form have no entity tags')
    const listed = `${tag} = any(${params.add(tagArray(tags))}::bytea[])`
    return wanted ? ` and ${listed}` : ` and not ${listed}`
  })
  return all.join('')
}

function tagArray(tags: readonly string[]): Cell {
  return arrayLiteral(tags.map((digits) => `\\x${digits}`))
}
