import { arrayLiteral, type Cell } from '../../fields/cell.js'
import type { Precondition } from '../../resource/plan.js'

/**
 * The SQL of preconditions, as more of a `where`: PostgreSQL judges them of the row that it changes, after it has waited for whoever else
 * changes it, so that nothing can come between. `tag` is the SQL of the record's entity tag.
 */
export function meets(
  only: readonly Precondition[],
  tag: string | undefined,
  add: (read: (only: readonly Precondition[]) => Cell) => string,
): string {
  const all = only.map(({ tags, wanted }, index) => {
    if (tags === 'any') return wanted ? '' : ' and false'
    if (tag === undefined) throw new Error('records in this form have no entity tags')
    const listed = `${tag} = any(${add((given) => tagArray(given[index]))}::bytea[])`
    return wanted ? ` and ${listed}` : ` and not ${listed}`
  })
  return all.join('')
}

/** All that the SQL depends on. */
export function shapeOfPreconditions(only: readonly Precondition[]): string {
  return only.map(({ tags, wanted }) => ` ${wanted ? 'if' : 'unless'} ${tags === 'any' ? '*' : ''}`).join('')
}

function tagArray(given: Precondition | undefined): Cell {
  return arrayLiteral(typeof given?.tags === 'object' ? given.tags.map((digits) => `\\x${digits}`) : [])
}
