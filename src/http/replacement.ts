import type { Operation } from '../config/spec.js'
import type { ListInput } from './operations/list.js'
import type { RetrieveInput } from './operations/retrieve.js'
import type { UpdateInput } from './operations/update.js'
import type { BodiesOf, IdOf } from '../resource/typed.js'
import type { Context, Reply } from './route.js'

interface Checked<Input = object> {
  readonly context: Context
  /**
   * Runs the operation that is replaced, hooks included. Its input can be changed: a list gets another plan, a record other values. Values
   * are merged and validated.
   * @throws Problem `validation` for an invalid value
   */
  readonly generated: (changes?: Partial<Input>) => Promise<Reply>
}

interface Addressed<Name = string> {
  readonly id: IdOf<Name>
}

interface Given<Values> {
  /** The values of the body, which have passed its checks. */
  readonly values: Values
}

type Conditional = Pick<UpdateInput, 'only'>

/** What each operation has read of a request by the time that a replacement gets it. */
interface Parsed<Name = string> {
  readonly list: ListInput
  readonly create: Given<BodiesOf<Name>['create']>
  readonly retrieve: Addressed<Name> & Pick<RetrieveInput, 'selection'>
  readonly update: Addressed<Name> & Given<BodiesOf<Name>['replace']> & Conditional
  readonly partial_update: Addressed<Name> & Given<BodiesOf<Name>['update']> & Conditional
  readonly destroy: Addressed<Name> & Conditional
}

/** Answers an operation in place of the generated handler, for requests that have passed the checks of that one. */
export type Replacement<Replaced extends Operation = Operation, Name = string> = (
  call: Checked<Parsed<Name>[Replaced]> & Parsed<Name>[Replaced],
) => Reply | Promise<Reply>

/** A replacement, whatever operation it replaces: it is given what that operation reads. */
export type AnyReplacement = (call: Checked) => Reply | Promise<Reply>
