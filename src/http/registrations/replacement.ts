import type { Operation } from '../../config/spec.js'
import type { ListInput } from '../operations/list.js'
import type { RetrieveInput } from '../operations/retrieve.js'
import type { UpdateInput } from '../operations/update.js'
import type { BodiesOf, IdOf } from '../../resource/typed.js'
import type { Context, Reply } from '../route.js'

interface Checked<Input = object> {
  readonly context: Context
  /**
   * Runs the replaced operation, including hooks. Its input can be changed: the plan of a list, the values of a record. Values are merged and
   * validated.
   * @throws Problem `validation` for an invalid value
   */
  readonly generated: (changes?: Partial<Input>) => Promise<Reply>
}

interface Addressed<Name = string> {
  readonly id: IdOf<Name>
}

interface WithValues<Values> {
  /** The validated values of the body. */
  readonly values: Values
}

type Conditional = Pick<UpdateInput, 'only'>

/** The parsed request that the replacement of each operation receives. */
interface Parsed<Name = string> {
  readonly list: ListInput
  readonly create: WithValues<BodiesOf<Name>['create']>
  readonly retrieve: Addressed<Name> & Pick<RetrieveInput, 'selection'>
  readonly update: Addressed<Name> & WithValues<BodiesOf<Name>['replace']> & Conditional
  readonly partial_update: Addressed<Name> & WithValues<BodiesOf<Name>['update']> & Conditional
  readonly destroy: Addressed<Name> & Conditional
}

/** Replaces the handler of a generated operation. Requests are validated first. */
export type Replacement<Replaced extends Operation = Operation, Name = string> = (
  call: Checked<Parsed<Name>[Replaced]> & Parsed<Name>[Replaced],
) => Reply | Promise<Reply>

/** A replacement of any operation. */
export type AnyReplacement = (call: Checked) => Reply | Promise<Reply>
