import { fail } from '../fail.js'
import { type FieldDeclarations, readFields } from '../config/parse/lone-fields.js'
import type { FieldSpec } from '../config/spec.js'
import { Problem } from '../problem.js'
import { bodyLimit } from '../resource/body-limit.js'
import type { Id, Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import type { CompileSchema } from '../resource/validator.js'
import { compileInput } from '../resource/input.js'
import { compileValues } from '../resource/values.js'
import type { ActionDescription } from './action-description.js'
import type { Endpoint } from './middleware/endpoint.js'
import { compileEndpoint } from './middleware/index.js'
import type { Operation } from './operations/operation.js'
import { notFound, readId } from './operations/request.js'
import type { BodyPolicy, Context, Method, Reply, Route, Transaction } from './route.js'

interface Call<Given extends Context, Input> {
  readonly context: Given
  /** By field name; what was left out has its default, or is null. */
  readonly input: Readonly<Input>
}

interface RecordCall<Given extends Context, Input, Stored, Key = Id> extends Call<Given, Input> {
  readonly id: Key
  /** As it is stored. In a transaction nobody else changes it meanwhile. */
  readonly record: Readonly<Stored>
}

type Answer<Output> = Output | Promise<Output>
type Writing = Exclude<Method, 'GET'>

interface Declared {
  /** A few words, with no full stop. */
  readonly summary: string
  /** The fields of the body, or, of GET, of the query; none when left out. */
  readonly input?: FieldDeclarations
  /** The fields of the answer, or the record as it is afterwards; nothing (204) when left out. */
  readonly output?: FieldDeclarations | 'record'
  /** How its transaction sees others; read committed when left out. What it reads decides safely only in `serializable`. */
  readonly isolation?: 'serializable'
}

/** Something to do with a resource that is none of its operations. All but GET is done in one transaction. */
export type Action<Input = Row, Output = unknown, Stored = Row, Key = Id> = Declared &
  (
    | {
        readonly method: 'GET'
        readonly on?: 'record'
        readonly handle: (call: RecordCall<Context, Input, Stored, Key>) => Answer<Output>
      }
    | {
        readonly method?: Writing
        readonly on?: 'record'
        readonly handle: (call: RecordCall<Transaction, Input, Stored, Key>) => Answer<Output>
      }
    | {
        readonly method: 'GET'
        readonly on: 'collection'
        readonly handle: (call: Call<Context, Input>) => Answer<Output>
      }
    | {
        readonly method?: Writing
        readonly on: 'collection'
        readonly handle: (call: Call<Transaction, Input>) => Answer<Output>
      }
  )

type AnyCall = RecordCall<Transaction, Row, Row>

/**
 * The route of an action: `<resource>-<name>` on the path of a record, or of the resource, and below it `<name>/`.
 * @throws Error with what is wrong with its declaration
 */
export function actionRoute(
  resource: Resource,
  name: string,
  action: Action<never, unknown, never, never>,
  compile: CompileSchema,
): Omit<Route, 'source'> {
  const { spec } = resource
  const what = `the action \`${spec.name}-${name}\``
  const { method = 'POST', on = 'record', summary, output: shown, isolation } = action
  const input = action.input && readFields(action.input, `the input of ${what}`)
  const output = typeof shown === 'object' ? readFields(shown, `the output of ${what}`) : shown
  if (output === 'record' && on === 'collection') throw new Error(`${what} is done with no record that it could answer`)
  const at = on === 'record' ? `${spec.path}{${spec.model.primaryKey.name}}/` : spec.path
  const path = `${at}${name}/`
  const policy = method === 'GET' ? undefined : policyFor(input ?? [], spec.maxBody)
  const read = inputReader(input, { policy }, compile)
  const { run, reply } = responder(resource, what, output, compile)
  // The kinds of actions differ in the types of their calls; this call has every member that any of them declares.
  const handle = action.handle as (call: AnyCall) => unknown

  const operation: Operation<ActionInput, ActionResult> = {
    name,
    method,
    on: on === 'record' ? 'item' : 'collection',
    body: input && policy,
    async read(context) {
      const given = await read(context)
      return { given, id: on === 'record' ? readId(resource, context) : undefined }
    },
    async run({ given, id }, context) {
      const store = context.store(resource)
      const find = method === 'GET' ? store.retrieve : store.lock
      const record = id === undefined ? undefined : ((await find(id)) ?? notFound())
      return run(await handle({ context, id, record, input: given } as AnyCall), context, id)
    },
    reply,
  }
  const endpoint: Endpoint = {
    resource,
    operation,
    path,
    respondsJson: false,
    checkQuery: undefined,
    idempotency: method === 'POST' ? spec.idempotency : undefined,
    replacement: undefined,
    transaction: method === 'GET' ? undefined : { isolation },
    hooks: [],
  }
  return {
    name: `${spec.name}-${name}`,
    method,
    path,
    action: { resource, on, summary, input, output },
    ...compileEndpoint(endpoint),
  }
}

interface ActionInput {
  readonly given: Row
  readonly id: Id | undefined
}

const NOTHING: Row = Object.freeze({})

/** No body is as one without members; where nothing is declared, no other is taken. */
function policyFor(fields: readonly FieldSpec[], most: number): BodyPolicy {
  return {
    mediaTypes: ['application/json'],
    optional: fields.length === 0,
    blank: true,
    limit: bodyLimit(fields, most),
  }
}

function inputReader(
  fields: readonly FieldSpec[] | undefined,
  { policy }: { readonly policy: BodyPolicy | undefined },
  compile: CompileSchema,
): (context: Context) => Promise<Row> {
  const input = compileInput(fields ?? [], compile)
  if (policy === undefined) return async ({ search }) => input.query(search)
  return async (context) => input.body(await context.body(policy))
}

/** What an action returned, and the record afterwards, where that is its output. */
interface ActionResult {
  readonly returned: unknown
  readonly text: string | undefined
}

/** Validates what an action returns against its declared output, so that clients can rely on documents and types. */
function responder(resource: Resource, what: string, output: ActionDescription['output'], compile: CompileSchema) {
  const judge = typeof output === 'object' ? compileValues(output, what, compile) : undefined

  const run = async (returned: unknown, context: Context, id: Id | undefined): Promise<ActionResult> => {
    if (output !== 'record' || id === undefined) return { returned, text: undefined }
    const text = await context.documents(resource).retrieve(id)
    return { returned, text: text ?? fail(`${what} destroyed the record that it answers`) }
  }
  const reply = ({ returned, text }: ActionResult): Reply => {
    if (text !== undefined) return { status: 200, text }
    if (judge === undefined) {
      return returned === undefined ? { status: 204 } : fail(`${what} answered something, and declares no output`)
    }
    if (typeof returned !== 'object' || returned === null) fail(`${what} answered no object`)
    try {
      return { status: 200, body: { ...emptied(output), ...judge(returned) } }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const faults = error.faults.map(({ message }) => message).join('; ')
      throw new Error(`${what} answered what its output does not declare: ${faults || error.message}`, { cause: error })
    }
  }
  return { run, reply }
}

/** Every member in its place: what may be null is, until it is given. */
function emptied(output: ActionDescription['output']): Row {
  return typeof output === 'object' ? Object.fromEntries(output.map(({ name }) => [name, null])) : NOTHING
}
