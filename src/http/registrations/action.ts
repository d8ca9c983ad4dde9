import { fail } from '../../foundation/fail.js'
import { type FieldDeclarations, readFields } from '../../config/parse/lone-fields.js'
import type { FieldSpec } from '../../config/spec.js'
import { Problem } from '../../foundation/problem.js'
import { bodyLimit } from '../../resource/bodies/body-limit.js'
import { recordPath } from '../../resource/bodies/links.js'
import type { Id, Row } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { CompileSchema } from '../../resource/validator.js'
import { compileInput } from '../../resource/bodies/input.js'
import { compileValues } from '../../resource/bodies/values.js'
import type { ActionDescription } from './action-description.js'
import type { Endpoint } from '../middleware/endpoint.js'
import { compileEndpoint } from '../middleware/index.js'
import { isStrict, rejectAny } from '../middleware/parameters.js'
import type { Operation } from '../operations/operation.js'
import { notFound, readId, requireStored } from '../operations/request.js'
import type { BodyPolicy, Context, Method, Reply, Route, Transaction } from '../route.js'

interface Call<Given extends Context, Input> {
  readonly context: Given
  /** By field name. An omitted field has its default, or is null. */
  readonly input: Readonly<Input>
}

interface RecordCall<Given extends Context, Input, Stored, Key = Id> extends Call<Given, Input> {
  readonly id: Key
  /** The record as stored. In a transaction it is locked. */
  readonly record: Readonly<Stored>
}

type MaybePromise<Output> = Output | Promise<Output>
type Writing = Exclude<Method, 'GET'>

interface Declared {
  /** A few words, with no full stop. */
  readonly summary: string
  /** The fields of the body, or of the query for GET. The default is none. */
  readonly input?: FieldDeclarations
  /** The fields of the response body, or the record after the action. The default is no body (204). */
  readonly output?: FieldDeclarations | 'record'
  /** The isolation of the transaction; the default is read committed. Decisions based on reads are safe only in `serializable`. */
  readonly isolation?: 'serializable'
}

/** An operation of a resource besides the generated ones. Except for GET, it runs in one transaction. */
export type Action<Input = Row, Output = unknown, Stored = Row, Key = Id> = Declared &
  (
    | {
        readonly method: 'GET'
        readonly on?: 'record'
        readonly handle: (call: RecordCall<Context, Input, Stored, Key>) => MaybePromise<Output>
      }
    | {
        readonly method?: Writing
        readonly on?: 'record'
        readonly handle: (call: RecordCall<Transaction, Input, Stored, Key>) => MaybePromise<Output>
      }
    | {
        readonly method: 'GET'
        readonly on: 'collection'
        readonly handle: (call: Call<Context, Input>) => MaybePromise<Output>
      }
    | {
        readonly method?: Writing
        readonly on: 'collection'
        readonly handle: (call: Call<Transaction, Input>) => MaybePromise<Output>
      }
  )

type AnyCall = RecordCall<Transaction, Row, Row>

/**
 * Compiles the route of an action: `<resource>-<name>`, at `<name>/` below the path of a record or the resource.
 * @throws Error for an invalid declaration
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
  if (output === 'record' && on === 'collection')
    throw new Error(`${what} runs on the collection, so its output cannot be \`record\``)
  const at = on === 'record' ? spec.path + recordPath(spec) : spec.path
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
      if (id !== undefined && !(await store.mayRun(name, id)))
        throw new Problem('forbidden', 'no grant allows this caller to run the action on this record')
      return run(await handle({ context, id, record, input: given } as AnyCall), context, id)
    },
    reply,
  }
  const endpoint: Endpoint = {
    resource,
    operation,
    path,
    respondsJson: false,
    showsRecords: output === 'record',
    checkQuery: method !== 'GET' && isStrict(spec) ? rejectAny : undefined,
    idempotency: method === 'POST' ? spec.idempotency : undefined,
    replacement: undefined,
    transaction: method === 'GET' ? undefined : { isolation },
    hooks: [],
  }
  return {
    name: `${spec.name}-${name}`,
    method,
    path,
    action: { resource, name, on, summary, input, output },
    ...compileEndpoint(endpoint),
  }
}

interface ActionInput {
  readonly given: Row
  readonly id: Id | undefined
}

const NOTHING: Row = Object.freeze({})

/** An empty body counts as `{}`. If no fields are declared, any other body is rejected. */
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

/** The return value of an action, and the record afterwards if that is its output. */
interface ActionResult {
  readonly returned: unknown
  readonly text: string | undefined
}

/** Validates the return value of an action against its declared output, so that clients can rely on documents and types. */
function responder(resource: Resource, what: string, output: ActionDescription['output'], compile: CompileSchema) {
  const validate = typeof output === 'object' ? compileValues(output, what, compile) : undefined

  const run = async (returned: unknown, context: Context, id: Id | undefined): Promise<ActionResult> => {
    if (output !== 'record' || id === undefined) return { returned, text: undefined }
    const text = await context.documents(resource).retrieve(id)
    if (text === undefined)
      await requireStored(resource, [id], context, `${what} destroyed the record that it must return`)
    return { returned, text }
  }
  const reply = ({ returned, text }: ActionResult): Reply => {
    if (text !== undefined) return { status: 200, text }
    if (output === 'record') return { status: 204 }
    if (validate === undefined) {
      return returned === undefined ? { status: 204 } : fail(`${what} returned a value, but declares no output`)
    }
    if (typeof returned !== 'object' || returned === null) fail(`${what} must return an object`)
    try {
      return { status: 200, body: { ...emptied(output), ...validate(returned) } }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const errors = error.errors.map(({ message }) => message).join('; ')
      throw new Error(`${what} returned a value that does not match its output: ${errors || error.message}`, {
        cause: error,
      })
    }
  }
  return { run, reply }
}

/** Nullable members are null unless given, so that every member is present. */
function emptied(output: ActionDescription['output']): Row {
  return typeof output === 'object' ? Object.fromEntries(output.map(({ name }) => [name, null])) : NOTHING
}
