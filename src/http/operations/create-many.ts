import type { Stored } from '../../db/records/store.js'
import { parseCreations } from '../../resource/bodies/items.js'
import type { Row } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Reply } from '../route.js'
import { create, type CreateInput } from './create.js'
import type { Operation } from './operation.js'
import { isHidden } from './request.js'
import { arrayOf, itemsOf, bulkBodyPolicy } from './bulk-request.js'

interface CreateManyInput {
  readonly rows: readonly Row[]
}

/** Creates the records of an array, on a path of their own. */
export function createMany(resource: Resource, within: string | undefined): Operation<CreateManyInput> {
  const body = bulkBodyPolicy(resource, within)
  return {
    name: 'create',
    method: 'POST',
    on: 'collection',
    body,
    transaction: {},
    read: async (context) => ({ rows: parseCreations(resource, itemsOf(await context.body(body))) }),
    run: ({ rows }, context) => context.documents(resource).createMany(rows),
    reply: (made) => replyToMany(resource, made),
  } satisfies Operation<CreateManyInput, readonly Stored<string>[]>
}

/** Creates one record or several, depending on whether the body is an object or an array. */
export function createOneOrMany(resource: Resource): Operation {
  const one = create(resource)
  const body = bulkBodyPolicy(resource)
  return {
    name: 'create',
    method: 'POST',
    on: 'collection',
    body,
    async read(context) {
      const given = await context.body(body)
      return given.items
        ? { rows: parseCreations(resource, given.items) }
        : { values: resource.parseBody(given, 'create') }
    },
    run: (input, context) =>
      'rows' in input
        ? context.transaction((inside) => inside.documents(resource).createMany(input.rows))
        : one.run(input, context),
    reply: (result, context, input) =>
      result instanceof Array ? replyToMany(resource, result) : one.reply(result, context, input as CreateInput),
  } satisfies Operation<CreateInput | CreateManyInput, Stored<string> | readonly Stored<string>[]>
}

function replyToMany(resource: Resource, made: readonly Stored<string>[]): Reply {
  if (made.some(({ item }) => isHidden(resource, item))) return { status: 201 }
  return { status: 201, text: arrayOf(made.map(({ item }) => item)) }
}
