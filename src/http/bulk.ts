import type { JsonBody } from '../json-body.js'
import { Problem } from '../problem.js'
import { doAt, parseChanges, parseCreations } from '../resource/items.js'
import type { Id, Row } from '../resource/plan.js'
import { parseQuery, quote } from '../resource/query.js'
import type { Resource } from '../resource/resource.js'
import { policyOf } from './actions.js'
import type { BodyPolicy, Context, Handler, Reply, Transaction } from './route.js'

/** How the items of a body are told from one object, and judged before the database is asked. */
export async function checkCreations(resource: Resource, context: Context): Promise<void> {
  const body = await context.body(policyOf(resource, 'create'))
  if (body.items) parseCreations(resource, body.items)
  else resource.parseBody(body, 'create')
}

/** Makes a record of each item of a body; one that is an object is left to `single`. */
export function createMany(resource: Resource, single: Handler): Handler {
  return async (context) => {
    const { items } = await context.body(policyOf(resource, 'create'))
    if (!items) return single(context)
    return createAll(resource, context, parseCreations(resource, items))
  }
}

/** How a body of several records is judged: an array, or in some dialects an object with one member that holds it. */
export function severalPolicy({ spec, bulkLimit }: Resource, within?: string): BodyPolicy {
  const policy = { mediaTypes: ['application/json'], optional: false, limit: bulkLimit, items: spec.bulk.max }
  return within === undefined ? policy : { ...policy, within }
}

/** The records of such a body, each judged. */
export async function readSeveral(resource: Resource, context: Context, policy: BodyPolicy): Promise<readonly Row[]> {
  return parseCreations(resource, itemsOf(await context.body(policy)))
}

/** Makes a record of each item of such a body. */
export function createSeveral(resource: Resource, policy: BodyPolicy): Handler {
  return async (context) => createAll(resource, context, await readSeveral(resource, context, policy))
}

async function createAll(resource: Resource, context: Context, rows: readonly Row[]): Promise<Reply> {
  const made = await context.transaction((inside) => inside.documents(resource).createMany(rows))
  return { status: 201, text: arrayOf(made.map(({ item }) => item)) }
}

/** Changes the records that the items of a body name, in the order of the items. */
export function updateMany(resource: Resource): Handler {
  const policy = severalPolicy(resource)
  return async (context) => {
    const changes = parseChanges(resource, itemsOf(await context.body(policy)))
    refuseConditions(context)
    return context.transaction(async (inside): Promise<Reply> => {
      await hold(
        resource,
        inside,
        changes.map(({ id }) => id),
      )
      const store = inside.documents(resource)
      const items: string[] = []
      for (const [place, { id, row }] of changes.entries())
        items.push((await doAt(place, () => store.update(id, row))) ?? gone(resource, [[place, id]]))
      return { status: 200, text: arrayOf(items) }
    })
  }
}

/** Destroys the records that `?ids=` names. */
export function destroyMany(resource: Resource): Handler {
  const answers = resource.spec.dialect?.destroyed === 'record'
  return async (context) => {
    const ids = readIds(resource, context.search)
    refuseConditions(context)
    return context.transaction(async (inside): Promise<Reply> => {
      await hold(resource, inside, ids)
      const store = inside.documents(resource)
      if (!answers) {
        await store.destroyMany(ids)
        return { status: 204 }
      }
      const items: string[] = []
      for (const id of ids) items.push((await store.take(id)) ?? gone(resource, [[items.length, id]]))
      return { status: 200, text: arrayOf(items) }
    })
  }
}

function arrayOf(items: readonly string[]): string {
  return `[${items.join(',')}]`
}

function itemsOf({ items }: JsonBody): readonly JsonBody[] {
  if (items) return items
  throw new Problem('malformed_body', 'the body must be an array of JSON objects')
}

/** Of several records there is no one version. */
function refuseConditions({ headers }: Context): void {
  const name = ['If-Match', 'If-None-Match'].find((each) => headers[each.toLowerCase()] !== undefined)
  if (name === undefined) return
  throw new Problem('malformed_request', `${name} is about one record, and this request is about several`)
}

/** Locks the records, always in the order of their ids, so that of two requests for the same ones one waits for the other. */
async function hold(resource: Resource, inside: Transaction, ids: readonly Id[]): Promise<void> {
  const there = new Set((await inside.documents(resource).lockMany(ids)).map(String))
  const missing = [...ids.entries()].filter(([, id]) => !there.has(String(id)))
  if (missing.length > 0) gone(resource, missing)
}

const MOST_NAMED = 20

function gone({ spec }: Resource, missing: readonly (readonly [place: number, id: Id | string])[]): never {
  const { name, label } = spec.model.primaryKey
  const named = missing.slice(0, MOST_NAMED).map(([place, id]) => [place, quote(String(id))] as const)
  const more = missing.length > named.length ? `, and ${missing.length - named.length} more` : ''
  const detail = `no record has the ${name} ${named.map(([, shown]) => shown).join(', ')}${more}; nothing was done`
  const faults = named.map(([place]) => ({ field: `${place}.${name}`, message: `${label} is that of no record` }))
  throw new Problem('not_found', detail, { faults })
}

/** An id that is not canonical is the id of no record. */
function readIds(resource: Resource, search: string): readonly Id[] {
  const { max } = resource.spec.bulk
  const refuse = (detail: string): never => {
    throw new Problem('invalid_query', detail)
  }
  const query = parseQuery(search, () => false)
  const unknown = [...query.keys()].find((name) => name !== 'ids')
  if (unknown !== undefined) refuse(`${quote(unknown)} is not a parameter here; the parameters are ids`)
  const text = query.get('ids') ?? ''
  if (text === '') refuse('the parameter ids is missing: it names the records to delete, such as ids=1,2')
  const texts = text.split(',')
  if (texts.length > max) refuse(`the parameter ids names ${texts.length} records; it may name ${max}`)
  const twice = texts.find((each, place) => texts.indexOf(each) !== place)
  if (twice !== undefined) refuse(`the parameter ids names ${quote(twice)} twice`)
  const ids = texts.map((each) => [each, resource.parseId(each)] as const)
  const none = [...ids.entries()].flatMap(([place, [each, id]]) => (id === undefined ? [[place, each] as const] : []))
  return none.length > 0 ? gone(resource, none) : ids.flatMap(([, id]) => id ?? [])
}
