import {
  type AccessRequest,
  decide,
  cannotRetrieve,
  explainGrants,
  findRecord,
  type EvaluatedCondition,
  type EvaluatedGrant,
  type EvaluatedRule,
  knownBy,
  Problem,
  readForDecision,
  type Resource,
  type Situation,
  formatCondition,
  formatName,
} from '../../../src/internal.js'
import type { Application, CliContext } from '../../context.js'
import { onExistingDatabase } from '../../database/database.js'
import { type ExitCode, Failure } from '../../failure.js'
import type { LineOf } from './access-text.js'
import { parseCaller, readBody } from './request-options.js'

interface Request {
  /** The caller as JSON. */
  readonly as: string
  readonly method: string
  readonly path: string
  readonly data?: string
  readonly database?: true
  readonly json?: true
  readonly lineOf: LineOf
}

/** The explanation of a request. */
interface Explained {
  readonly operation: string
  readonly status: number | undefined
  /** Whether a grant is known to cover the record of an action. */
  readonly isCovered?: boolean
  /** Whether the request changes a record that the caller cannot retrieve. */
  readonly isUnseen?: boolean
  readonly grants: readonly EvaluatedGrant[]
  /** Why the query is rejected. */
  readonly rejection?: string | undefined
}

/** Explains why a request is allowed or denied: each grant of its operation, and each condition. Returns 1 for a denied one. */
export async function explainRequest(context: CliContext, loaded: Application, request: Request): Promise<ExitCode> {
  const { app, spec } = loaded
  const caller = parseCaller(spec.auth?.claims ?? [], request.as)
  const [path = '', ...more] = request.path.split('?')
  const search = more.join('?')
  const method = request.method.toUpperCase()
  const found = app.routes.match(method, path)
  if (found === undefined || !('route' in found)) {
    const help = found === undefined ? 'snippetctl routes: all paths' : `its methods are ${found.allow.join(', ')}`
    throw new Failure(2, `there is no route for ${method} ${path}`, [help])
  }
  const { route, params } = found
  const { generated, action, name } = route
  const target = generated ?? action
  if (target === undefined) {
    const to = spec.auth?.routes[name] ?? []
    const isAllowed = to.some(
      (each) => each === 'anyone' || (caller && (each === 'signed_in' || caller.roles.includes(each))),
    )
    const status = isAllowed ? undefined : caller ? 403 : 401
    if (request.json)
      context.out.data(JSON.stringify({ schemaVersion: 1, route: name, allowed: isAllowed, status, to }))
    else
      context.out.line(
        `${isAllowed ? 'allowed' : `denied: ${status}`}: the route ${name} is for ${to.join(', ') || 'nobody'}`,
      )
    return isAllowed ? 0 : 1
  }
  const { spec: resource, key } = target.resource
  const operation = generated ? generated.operation : (action?.name ?? '')
  const id =
    key.fields.length > 0 && key.fields.every((field) => field.name in params) ? key.parseParams(params) : undefined
  const body = request.data === undefined ? undefined : readBody(resource.model, request.data)
  const accessRequest: AccessRequest = {
    operation: operation as AccessRequest['operation'],
    ...(id !== undefined && { id: key.write(id).map(String) }),
    // The input of an action is not a set of fields.
    ...(generated && body && { body }),
  }
  const explain = (known: ReturnType<typeof knownBy>, isKnown: boolean): Explained => {
    const situation: Situation = { spec, resource, caller, known }
    const stored = accessRequest.id && findRecord(situation, accessRequest.id)
    const grants = explainGrants(situation, accessRequest, stored)
    const fitting = grants.filter(({ isToCaller }) => isToCaller)
    if (fitting.length === 0) return { operation, status: caller ? 403 : 401, grants }
    const ofStored = accessRequest.id !== undefined && operation !== 'retrieve' && (!isKnown || stored !== undefined)
    if (ofStored && cannotRetrieve(situation, accessRequest, stored))
      return { operation, status: 404, isUnseen: true, grants }
    // The table of the record is left out if a set of it has too many records.
    const isRead = isKnown && (accessRequest.id === undefined || known.records(resource.model.table) !== undefined)
    if (isRead && generated) return { operation, status: decide(situation, accessRequest).status, grants }
    if (isRead && accessRequest.id && stored === undefined) return { operation, status: 404, grants }
    // An action does not tell that there is a record which the caller cannot retrieve.
    const ofRecord = isRead && action && accessRequest.id !== undefined
    const retrieved = ofRecord ? decide(situation, { ...accessRequest, operation: 'retrieve' }).status : undefined
    if (retrieved !== undefined && retrieved >= 400) return { operation, status: 404, grants }
    const isCovered = isRead && fitting.some(({ rows }) => rows.holds === true)
    if (isCovered) return { operation, status: undefined, isCovered, grants }
    const isPossible = fitting.some(
      (each) => each.unset.length === 0 && each.rows.holds !== false && each.becomes?.holds !== false,
    )
    return {
      operation,
      status: isPossible || operation === 'list' ? undefined : operation === 'retrieve' ? 404 : 403,
      grants,
    }
  }
  const evaluated = request.database
    ? await onExistingDatabase(context, spec, async (database) => {
        const records = await readForDecision({ spec, resource, caller }, accessRequest, database)
        return explain(
          knownBy(spec, caller, (table) => records.get(table)),
          true,
        )
      })
    : explain(
        knownBy(spec, caller, () => undefined),
        false,
      )
  const identity = caller && { ...caller, method: 'development' }
  const own = app.access?.profiles(identity).resource(target.resource) ?? target.resource
  const rejection =
    evaluated.status === 401 || evaluated.status === 403 ? undefined : rejectionOf(own, operation, search)
  const explained = rejection === undefined ? evaluated : { ...evaluated, status: 400, rejection }
  const isDenied = explained.status !== undefined && explained.status >= 400
  const place = (grant: EvaluatedGrant) =>
    request.lineOf(['resources', resource.mounted ?? resource.name, 'access', grant.index])
  if (request.json) context.out.data(JSON.stringify(jsonOf(explained, isDenied, place)))
  else print(context, { explained, isDenied, place, resource: resource.name, head: `${method} ${path}` }, request)
  return isDenied ? 1 : 0
}

/** Why the resource, as the caller sees it, rejects the query of a read; undefined if it does not. */
function rejectionOf(resource: Resource, operation: string, search: string): string | undefined {
  try {
    if (operation === 'list') resource.parseList(search)
    if (operation === 'retrieve') resource.parseSelection(search)
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error.message
    throw error
  }
}

function jsonOf(
  { operation, status, grants, rejection }: Explained,
  isDenied: boolean,
  lineOf: (grant: EvaluatedGrant) => number,
) {
  const rule = ({ holds, alternatives }: EvaluatedRule) => ({
    holds: holds ?? null,
    alternatives: alternatives.map((all) =>
      all.map((each) => ({
        condition: formatCondition(each.condition),
        holds: each.holds ?? null,
        stored: each.stored,
        wanted: each.wanted,
      })),
    ),
  })
  return {
    schemaVersion: 1,
    operation,
    allowed: !isDenied,
    ...(status !== undefined && { status }),
    ...(rejection !== undefined && { rejection }),
    grants: grants.map((each) => ({
      line: lineOf(each),
      to: each.grant.to,
      isToCaller: each.isToCaller,
      rows: rule(each.rows),
      ...(each.becomes && { becomes: rule(each.becomes) }),
      outside: each.outside,
      unset: each.unset,
    })),
  }
}

interface Printed {
  readonly explained: Explained
  readonly isDenied: boolean
  readonly place: (grant: EvaluatedGrant) => number
  readonly resource: string
  readonly head: string
}

function print(
  { out }: CliContext,
  { explained, isDenied, place, resource, head }: Printed,
  { lineOf }: Request,
): void {
  const { operation, grants, rejection, isUnseen } = explained
  const line = (text: string, indent: number) => out.line(`${' '.repeat(indent)}${text}`)
  line(`${head}  ${operation} of ${resource}`, 0)
  line(`${verdictOf(explained, isDenied)}${rejection === undefined ? '' : `: ${rejection}`}`, 0)
  if (isUnseen) line('no grant to `retrieve` shows the caller the record', 2)
  if (grants.length === 0) line(`no grant allows ${operation}`, 2)
  for (const grant of grants) {
    const { to } = grant.grant
    line(`line ${place(grant)}  to ${to}${grant.isToCaller ? '' : ', which the caller is not'}`, 2)
    if (!grant.isToCaller) continue
    const path = ['resources', resource, 'access', grant.index]
    for (const each of conditionsOf(grant)) line(`line ${lineOf([...path, ...each.path])}  ${each.text}`, 4)
    if (grant.outside.length > 0) line(`fields: does not name ${grant.outside.join(', ')}`, 4)
    if (grant.unset.length > 0) line(`set: the caller has no value for ${grant.unset.join(', ')}`, 4)
  }
}

function verdictOf({ status, isCovered }: Explained, isDenied: boolean): string {
  if (isDenied) return `denied: ${status}`
  if (isCovered) return 'allowed'
  return status === undefined ? 'allowed for records that a grant covers' : `allowed: ${status}`
}

interface ConditionLine {
  /** Below the grant. */
  readonly path: readonly (string | number)[]
  readonly text: string
}

/** Each condition of a grant, and whether it holds. */
function conditionsOf({ rows, becomes }: EvaluatedGrant): readonly ConditionLine[] {
  const rules = [['rows', rows] as const, ...(becomes ? [['becomes', becomes] as const] : [])]
  return rules.flatMap(([key, { alternatives }]) =>
    alternatives.flatMap((all, index) =>
      all.map((each): ConditionLine => {
        const isOne = alternatives.length === 1
        return {
          path: [key, ...(isOne ? [] : [index]), formatName(each.condition)],
          text: `${key}${isOne ? '' : ` ${index + 1}`}  ${formatCondition(each.condition)}  ${wordsOf(each)}`,
        }
      }),
    ),
  )
}

/** Why a condition holds, or does not. */
function wordsOf({ condition: { value }, holds, stored, wanted }: EvaluatedCondition): string {
  if (holds === true) return 'holds'
  if (wanted === undefined && holds === false && 'user' in value)
    return `fails: no ${value.user.model.name} has the caller's subject as \`${value.user.match.name}\``
  if (wanted === undefined && holds === false) return 'fails: the caller has no such value'
  if (holds === undefined) return 'depends on the record'
  if (stored === undefined) return 'fails: the relation leads to no record'
  return `fails: the value is ${stored ?? 'null'}`
}
