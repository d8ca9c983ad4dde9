import { addressMembers, type CoreSpec, type ExpansionSpec } from '../config/core-spec.js'
import type { ComputedFields } from './computed.js'

export interface SelectionPlan {
  /** Left out if records are shown completely. Rows are always complete. */
  selection?: Selection | undefined
}

/** The part of records that a client requests, if it is not the default. */
export interface Selection {
  /** Identifies the selection. */
  readonly key: string
  /** The names of the members; undefined for all. */
  readonly members: ReadonlySet<string> | undefined
  /** The related records to include. */
  readonly expand: readonly ExpansionSpec[]
}

/** Adds to the selection of a plan. */
export function select(plan: SelectionPlan, asked: Partial<Omit<Selection, 'key'>>): void {
  const { members, expand = [] } = { ...plan.selection, ...asked }
  const key = `${members === undefined ? '*' : [...members].join()} ${pathsOf(expand).join()}`
  plan.selection = Object.freeze({ key, members, expand })
}

/** The paths of all related records, each before the paths that continue it. */
export function pathsOf(expansions: readonly ExpansionSpec[]): readonly string[] {
  return expansions.flatMap(({ path, expand }) => [path, ...pathsOf(expand)])
}

/** The names of all members of a record in responses, in order, without related records. */
export function membersOf({
  url,
  addedId,
  shown,
  computed,
}: Pick<CoreSpec, 'url' | 'addedId' | 'shown'> & ComputedFields): readonly string[] {
  const fields = [...shown, ...computed.map(({ field }) => field)]
  const address = addressMembers({ url, addedId: addedId?.shown ? addedId : undefined })
  return [...address, ...fields.map(({ name }) => name)]
}
