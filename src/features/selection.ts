import type { CoreSpec, ExpansionSpec } from '../config/core-spec.js'
import type { ComputedFields } from './computed.js'

export interface SelectionPlan {
  /** Left out where records are shown whole. Rows always are. */
  selection?: Selection | undefined
}

/** What a client asks to see of records, where that is not just what answers show. */
export interface Selection {
  /** The same for the same selection, and for no other. */
  readonly key: string
  /** The names of the members; undefined for all. */
  readonly members: ReadonlySet<string> | undefined
  /** The related records to show beside them. */
  readonly expand: readonly ExpansionSpec[]
}

/** Adds to what a client asks to see. */
export function select(plan: SelectionPlan, asked: Partial<Omit<Selection, 'key'>>): void {
  const { members, expand = [] } = { ...plan.selection, ...asked }
  const key = `${members === undefined ? '*' : [...members].join()} ${pathsOf(expand).join()}`
  plan.selection = Object.freeze({ key, members, expand })
}

/** The paths of all related records, each before those that it leads to. */
export function pathsOf(expansions: readonly ExpansionSpec[]): readonly string[] {
  return expansions.flatMap(({ path, expand }) => [path, ...pathsOf(expand)])
}

/** The names of all that answers show of a record, in order; related records are beside them. */
export function membersOf({
  url,
  shown,
  computed,
}: Pick<CoreSpec, 'url' | 'shown'> & ComputedFields): readonly string[] {
  const fields = [...shown, ...computed.map(({ field }) => field)]
  return [...(url ? ['url'] : []), ...fields.map(({ name }) => name)]
}
