import { Problem } from '../../foundation/problem.js'
import type { Id } from '../../resource/plan.js'
import { parseQuery, quote } from '../../resource/query.js'
import type { Resource } from '../../resource/resource.js'
import type { Operation } from './operation.js'
import { arrayOf, lockAll, notFoundAt, rejectConditions } from './bulk-request.js'

interface DestroyManyInput {
  readonly ids: readonly Id[]
}

/** Deletes the records in `?ids=`. Some dialects return the deleted records. */
export function destroyMany(resource: Resource): Operation<DestroyManyInput, readonly string[] | undefined> {
  const returnsRecords = resource.spec.dialect?.destroyed === 'record'
  return {
    name: 'destroy',
    method: 'DELETE',
    on: 'collection',
    transaction: {},
    read(context) {
      const ids = readIds(resource, context.search)
      rejectConditions(context)
      return { ids }
    },
    async run({ ids }, context) {
      await lockAll(resource, context, ids, namedTwice)
      const store = context.documents(resource)
      if (!returnsRecords) {
        await store.destroyMany(ids)
        return undefined
      }
      const found = new Map((await store.retrieveMany(ids)).map((each) => [resource.key.text(each.id), each.item]))
      const items: string[] = []
      for (const [place, id] of ids.entries()) {
        const text = resource.key.text(id)
        // A key that ignores case can be stored in another spelling.
        items.push(found.get(text) ?? (await store.retrieve(id)) ?? notFoundAt(resource, [[place, text]]))
      }
      await store.destroyMany(ids)
      return items
    },
    reply: (items) => (items ? { status: 200, text: arrayOf(items) } : { status: 204 }),
  }
}

function namedTwice(id: string): Problem {
  return new Problem('invalid_query', `the parameter ids names ${quote(id)} twice`)
}

/** An id that is not canonical matches no record. */
function readIds(resource: Resource, search: string): readonly Id[] {
  const { max } = resource.spec.bulk
  const reject = (detail: string): never => {
    throw new Problem('invalid_query', detail)
  }
  const query = parseQuery(search, () => false)
  const unknown = [...query.keys()].find((name) => name !== 'ids')
  if (unknown !== undefined) reject(`${quote(unknown)} is not a parameter here; the only one is ids`)
  const text = query.get('ids') ?? ''
  if (text === '') reject('the parameter ids is missing: it lists the keys of the records to delete, such as ids=1,2')
  const texts = text.split(',')
  if (texts.length > max) reject(`the parameter ids lists ${texts.length} records; at most ${max} are allowed`)
  const ids = texts.map((each) => [each, resource.parseId(each)] as const)
  const canonical = ids.map(([each, id]) => (id === undefined ? each : resource.key.text(id)))
  const twice = texts.find((_, place) => canonical.indexOf(canonical[place] ?? '') !== place)
  if (twice !== undefined) throw namedTwice(twice)
  const missing = [...ids.entries()].flatMap(([place, [each, id]]) =>
    id === undefined ? [[place, each] as const] : [],
  )
  return missing.length > 0
    ? notFoundAt(resource, missing)
    : ids.flatMap(([, id]): readonly Id[] => (id === undefined ? [] : [id]))
}
