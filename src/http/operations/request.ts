import { isOwnTable, type ModelSpec, type Operation as OperationName } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'
import { fail } from '../../foundation/fail.js'
import { Problem } from '../../foundation/problem.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Id } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { readPreconditions } from '../headers/entity-tags.js'
import type { BodyPolicy, Context } from '../route.js'

/** Reads the preconditions of a write. */
export function preconditions({ spec }: Resource, { headers }: Context) {
  return readPreconditions(headers, spec.concurrency === 'required')
}

/** How the body of an operation is parsed. */
export function policyOf(resource: Resource, operation: OperationName): BodyPolicy {
  const more = operation === 'partial_update' ? ['application/merge-patch+json'] : []
  const mediaTypes = ['application/json', ...more]
  return { mediaTypes, optional: false, limit: resource.bodyLimit }
}

/**
 * Reads the id from the path. An id that is not canonical matches no record.
 * @throws Problem `not_found`
 */
export function readId(resource: Resource, context: Context): Id {
  return resource.key.parseParams(context.params) ?? notFound()
}

/** @throws Problem `not_found` */
export function notFound(): never {
  throw new Problem('not_found')
}

/** The document of a record that the request has written and does not see: it has left the view or the scope, or no grant shows it. */
export const HIDDEN = 'null'

/** Whether the request does not see a record that it has written. */
export function isHidden(resource: Resource, document: string): boolean {
  return document === HIDDEN || showsNone(resource)
}

/** Whether the caller may retrieve no record of a resource, also none that it has written. */
export function showsNone({ access }: Resource): boolean {
  return access?.retrieve.parts.length === 0
}

/**
 * Checks records that the request does not see after the code of a plugin has run.
 * @throws Error with the message if the code has destroyed one of them
 */
export async function requireStored(
  resource: Resource,
  ids: readonly Id[],
  context: Context,
  message: string,
): Promise<void> {
  if (ids.length === 0 || mayBeView(resource)) return
  if ((await countStored(resource.spec.model, ids, context)) < ids.length) fail(message)
}

/** How many records a table has of these, also outside of the scope of a request and of the grants to its caller. */
async function countStored(model: ModelSpec, ids: readonly Id[], { service }: Context): Promise<number> {
  const key = recordKey(model)
  const names = [tableSql(model.table), ...key.fields.map(({ column }) => identifier(column))]
  const [table, ...columns] = names.map((name) => name.replaceAll('?', '\\?'))
  const one = `(${columns.map((column) => `${column} = ?`).join(' and ')})`
  const text = `select 1 from ${table} where ${ids.map(() => one).join(' or ')}`
  const { rows } = await service.unscopedKnex.raw<{ rows: readonly unknown[] }>(text, ids.flatMap(key.write))
  return rows.length
}

/** Whether stored records can leave the resource because its table is, or may be, a view with a condition. */
export function mayBeView({ spec: { model } }: Resource): boolean {
  return !isOwnTable(model)
}
