import type { Operation } from '../config/spec.js'
import type { ListRequest } from '../resource/list.js'
import type { Precondition, Selection } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import type { BodiesOf, IdOf } from '../resource/typed.js'
import { policyOf, preconditions, readCreation, readId } from './actions.js'
import type { Context, Handler, Reply } from './route.js'

interface Checked {
  readonly context: Context
  /** Does what the operation does without the replacement, hooks included. */
  readonly generated: () => Promise<Reply>
}

interface Addressed<Name = string> {
  readonly id: IdOf<Name>
}

interface Asked {
  /** What of the record is asked for; undefined is all. */
  readonly selection: Selection | undefined
}

/** A change that the client makes conditional on the version of the record; `undefined` is on nothing. */
interface Conditional {
  readonly only: readonly Precondition[] | undefined
}

interface Given<Values> {
  /** The values of the body, which have passed its checks. */
  readonly values: Values
}

/** What each operation has made of a request by the time that a replacement gets it. */
interface Parsed<Name = string> {
  readonly list: { readonly request: ListRequest }
  readonly create: Given<BodiesOf<Name>['create']>
  readonly retrieve: Addressed<Name> & Asked
  readonly update: Addressed<Name> & Given<BodiesOf<Name>['replace']> & Conditional
  readonly partial_update: Addressed<Name> & Given<BodiesOf<Name>['update']> & Conditional
  readonly destroy: Addressed<Name> & Conditional
}

/** Answers an operation in place of the generated handler, for requests that have passed the checks of that one. */
export type Replacement<Replaced extends Operation = Operation, Name = string> = (
  call: Checked & Parsed<Name>[Replaced],
) => Reply | Promise<Reply>

type Check<Name extends Operation> = (resource: Resource, context: Context) => Promise<Parsed[Name]>

const changed =
  (operation: 'update' | 'partial_update') =>
  async (resource: Resource, context: Context): Promise<Parsed['update']> => {
    const put = resource.spec.dialect?.put === 'merge' ? 'assign' : 'replace'
    const mode = operation === 'update' ? put : 'update'
    // The body is judged before the id, as by the generated operation.
    const values = resource.parseBody(await context.body(policyOf(resource, operation)), mode)
    const only = preconditions(resource, context)
    return { id: readId(resource, context), values, only }
  }

const CHECKS: { readonly [Name in Operation]: Check<Name> } = {
  list: async (resource, { search }) => ({ request: resource.parseList(search) }),
  create: async (resource, context) => ({ values: await readCreation(resource, context) }),
  retrieve: async (resource, context) => ({
    selection: resource.parseSelection(context.search),
    id: readId(resource, context),
  }),
  update: changed('update'),
  partial_update: changed('partial_update'),
  destroy: async (resource, context) => ({
    only: preconditions(resource, context),
    id: readId(resource, context),
  }),
}

/** Makes of the generated handler one that checks requests as the operation does, and has them answered by `replacement`. */
export function replaced<Name extends Operation>(
  resource: Resource,
  operation: Name,
  replacement: Replacement<Name>,
): (generated: Handler) => Handler {
  const check: Check<Name> = CHECKS[operation]
  return (generated) => async (context) => {
    const parsed = await check(resource, context)
    return replacement({ context, generated: async () => generated(context), ...parsed })
  }
}
